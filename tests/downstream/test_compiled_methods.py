"""Several entry points compiled by AOTInductor into one archive: as eager, one state, each tensor once."""

from __future__ import annotations

import copy
import io
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import dynamo_lite
from dynamo_lite import Method

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("g++") is None, reason="Inductor needs a C++ compiler"),
]

X = torch.randn(3, 64)
SCALE = {"by": torch.full((64,), 2.0)}


class Model(nn.Module):
    """A tied parameter, both kinds of buffers, one of which is written by one entry point and read by the other."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(64, 64), nn.Linear(64, 64)
        self.second.weight = self.first.weight
        self.register_buffer("calls", torch.zeros(3))
        self.register_buffer("shift", torch.randn(64), persistent=False)
        self.plain = torch.randn(64)

    def write(self, x: Tensor) -> Tensor:
        self.calls.add_(1)
        return self.second(self.first(x)).relu() + self.shift

    def read(self, x: Tensor, *, scale: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"y": self.first(x) * scale["by"] + self.calls.sum() + self.plain}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> tuple[Model, Path]:
    torch.manual_seed(0)
    model = Model().eval()
    rows = ({0: Dim("rows", min=2, max=9)},)
    entries: dict[str, Any] = {"write": Method((X,), dynamic_shapes=rows), "read": Method((X,), {"scale": SCALE})}
    path = tmp_path_factory.mktemp("compiled") / "model.pt2"
    dynamo_lite.export_methods(model, entries).compile(path, options={"epilogue_fusion": True})
    assert not model.calls.any()
    return model, path


def check(methods: Any, model: Model) -> None:
    eager = copy.deepcopy(model)
    with torch.no_grad():
        for rows in (5, 3, 9):
            x = torch.randn(rows, 64)
            assert torch.allclose(methods["write"](x), eager.write(x), atol=1e-4)
            got, want = methods["read"](X, scale=SCALE), eager.read(X, scale=SCALE)
            assert torch.allclose(got["y"], want["y"], atol=1e-4)


def test_as_eager_with_one_state(archive: tuple[Model, Path]) -> None:
    model, path = archive
    methods = dynamo_lite.load_compiled_methods(path)
    assert {*methods} == {"write", "read"} and len(methods) == 2 and "write" in repr(methods)
    check(methods, model)
    check(dynamo_lite.load_compiled_methods(io.BytesIO(path.read_bytes())), model)


def test_each_tensor_is_there_once(archive: tuple[Model, Path]) -> None:
    _, path = archive
    with zipfile.ZipFile(path) as file:
        weights = [row for row in file.infolist() if "/weights/weight_" in row.filename]
    assert len(weights) == 6  # a weight, two biases, two buffers, a constant
    assert sum(row.file_size for row in weights) < 2 * (64 * 64 + 4 * 64 + 3) * 4


def test_in_another_process_without_dynamo_lite(archive: tuple[Model, Path]) -> None:
    model, path = archive
    x = torch.randn(4, 64)
    torch.save((x, model.first(x).detach()), path.with_name("call.pt"))
    code = f"""
import torch
from torch.export.pt2_archive._package import load_pt2
runners = load_pt2({str(path)!r}, load_weights_from_disk=True).aoti_runners
x, _ = torch.load({str(path.with_name("call.pt"))!r})
print(tuple(runners["write"](x).shape))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert "(4, 64)" in done.stdout, done.stderr


def test_what_is_refused(archive: tuple[Model, Path], tmp_path: Path) -> None:
    methods = dynamo_lite.export_methods(Model(), {"write": (X,)})
    with pytest.raises(dynamo_lite.InvalidArguments, match="package_constants_in_so"):
        methods.compile(tmp_path / "m.pt2", options={"aot_inductor.package_constants_in_so": True})
    methods.save(tmp_path / "m.pt2")
    with pytest.raises(dynamo_lite.InvalidArguments, match="no compiled methods"):
        dynamo_lite.load_compiled_methods(tmp_path / "m.pt2")
