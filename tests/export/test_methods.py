"""Several entry points of a model: each equals eager, they share tensors, and one file holds them."""

from __future__ import annotations

import io
import runpy
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim, ExportedProgram

import dynamo_lite
from dynamo_lite import Method, Methods

ROOT = Path(__file__).parents[2]
X = torch.randn(3, 4)


class Model(nn.Module):
    """Two methods, a buffer that one writes and the other reads, a constant that both have."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.tied = nn.Linear(4, 4), nn.Linear(4, 4)
        self.tied.weight = self.layer.weight
        self.dropout = nn.Dropout(0.5)
        self.register_buffer("seen", torch.zeros(4))
        self.register_buffer("scratch", torch.ones(4), persistent=False)
        self.plain = torch.randn(4)

    def write(self, x: torch.Tensor) -> torch.Tensor:
        self.seen.add_(x.sum(0))
        self.scratch.mul_(2)
        return self.layer(x) + self.plain

    def read(self, x: torch.Tensor, *, scale: float = 1.0) -> torch.Tensor:
        return self.tied(x) * scale + self.seen + self.scratch + self.plain

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.dropout(self.layer(x))


def exported(model: Model) -> Methods:
    return dynamo_lite.export_methods(
        model,
        {
            "write": (X,),
            "read": Method((X,), {"scale": 2.0}, dynamic_shapes={"x": {0: Dim("rows", min=2)}, "scale": None}),
        },
    )


def loaded(methods: Methods) -> tuple[Methods, bytes]:
    file = io.BytesIO()
    methods.save(file)
    file.seek(0)
    return dynamo_lite.load_methods(file), file.getvalue()


def check(methods: Methods, model: Model) -> None:
    """Calls of both entry points, in turn, against the model's."""
    write, read = methods.module("write"), methods.module("read")
    for rows in (3, 7):
        assert torch.allclose(write(X), model.write(X))
        x = torch.randn(rows, 4)
        assert torch.allclose(read(x, scale=2.0), model.read(x, scale=2.0))


def test_each_entry_point_is_the_method() -> None:
    torch.manual_seed(0)
    model = Model()
    before = model.seen.clone()
    methods = exported(model)
    assert torch.equal(model.seen, before) and [*methods] == ["write", "read"] and len(methods) == 2
    copied, _ = loaded(methods)  # the modules of `methods` share the model's own buffers
    check(copied, model)


def test_modules_share_the_tensors_of_the_model() -> None:
    model = Model()
    methods = exported(model)
    write, read = methods.module("write"), methods.module("read")
    assert write.layer.weight is read.tied.weight is model.layer.weight
    write(X)
    want = model.read(X, scale=2.0)
    assert torch.allclose(read(X, scale=2.0), want)


def test_loaded_programs_share_tensors_and_the_file_has_each_once() -> None:
    model = Model()
    methods = exported(model)
    copied, data = loaded(methods)
    assert copied["write"].state_dict["layer.weight"] is copied["read"].state_dict["layer.weight"]
    assert copied["write"].state_dict["seen"] is copied["read"].state_dict["seen"]
    assert copied["write"].constants["scratch"] is copied["read"].constants["scratch"]
    weights = [name for name in zipfile.ZipFile(io.BytesIO(data)).namelist() if "/weights/weight_" in name]
    assert len(weights) == 4  # a weight, two biases, a buffer
    assert copied["read"].questions == methods["read"].questions is not None
    with pytest.raises(dynamo_lite.InputMismatch):
        copied.module("read")(torch.randn(3, 5), scale=2.0)


def test_torch_reads_the_file() -> None:
    from torch.export.pt2_archive._package import load_pt2

    model = Model()
    methods = exported(model)
    _, data = loaded(methods)
    programs = load_pt2(io.BytesIO(data)).exported_programs
    assert {*programs} == {"write", "read"}
    assert torch.allclose(programs["read"].module()(X, scale=2.0), model.read(X, scale=2.0))


def test_a_file_by_its_path(tmp_path: Path) -> None:
    methods = exported(Model())
    methods.save(tmp_path / "model.pt2")
    assert [*dynamo_lite.load_methods(tmp_path / "model.pt2")] == ["write", "read"]


def test_forward_in_both_modes_and_with_other_arguments() -> None:
    model = Model()
    model.dropout.eval()
    methods = dynamo_lite.export_methods(
        model,
        {"train": Method((X,), fn="forward", training=True), "eval": Method((X,), training=False, fn="forward")},
    )
    assert model.training and not model.dropout.training
    assert torch.equal(methods.module("eval")(X), model.layer(X))
    assert (methods.module("train")(torch.ones(3, 4)) == 0).any()
    by_name = dynamo_lite.export_methods(model, {"small": (X,), "large": (torch.cat([X, X]),)})
    assert torch.equal(by_name.module("large")(torch.cat([X, X])), model(torch.cat([X, X])))


def test_programs_are_a_dict_of_exported_programs() -> None:
    programs = exported(Model()).programs
    assert type(programs) is dict and all(isinstance(program, ExportedProgram) for program in programs.values())


def test_what_is_refused_says_where() -> None:
    model = Model()
    for methods in ({"a": Method((X,), fn="absent")}, {"a": Method((X,), fn=Model().read)}):
        with pytest.raises(dynamo_lite.InvalidArguments, match="'a'"):
            dynamo_lite.export_methods(model, methods)
    with pytest.raises(RuntimeError) as raised:
        dynamo_lite.export_methods(model, {"write": (X,), "read": (torch.randn(3, 5),)})
    assert raised.value.__notes__ == ["This was the export of the entry point 'read'."]


def test_the_example_generates_as_eager_does(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("transformers")
    names: dict[str, Any] = runpy.run_path(str(ROOT / "examples/prefill_decode.py"), run_name="example")
    torch.manual_seed(0)
    decoder = names["Decoder"](names["CONFIG"]).eval()
    methods, data = loaded(names["exported"](decoder))
    prompt = torch.randint(0, 64, (1, 9))
    with torch.no_grad():
        got = names["generate"](methods.module("prefill"), methods.module("decode"), prompt, 12)
        assert got == names["generate"](decoder.prefill, decoder.decode, prompt, 12)
    size = sum(p.numel() * p.element_size() for p in {id(p): p for p in decoder.parameters()}.values())
    weights = [row for row in zipfile.ZipFile(io.BytesIO(data)).infolist() if "/weights/weight_" in row.filename]
    assert sum(row.file_size for row in weights) == size
    with pytest.raises(dynamo_lite.InputMismatch):
        methods.module("prefill")(torch.zeros(1, 101, dtype=torch.long))
