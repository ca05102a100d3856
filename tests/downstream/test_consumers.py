"""Consumers of an ExportedProgram, each where it is installed (`pip install dynamo-lite[consumers]`), and run."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim

import dynamo_lite


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x).relu()

    def twice(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(self.layer(x))


X = torch.randn(3, 4)


@pytest.fixture
def model() -> Model:
    torch.manual_seed(0)
    return Model().eval()


def test_openvino(model: Model) -> None:
    openvino: Any = pytest.importorskip("openvino")
    program = dynamo_lite.export(model, (X,), dynamic_shapes=({0: Dim("rows", min=2, max=9)},))
    options = {"INFERENCE_PRECISION_HINT": "f32"}  # some processors would compute in bfloat16
    compiled = openvino.Core().compile_model(openvino.convert_model(program), "CPU", options)
    x = torch.randn(6, 4)
    (got,) = compiled(x.numpy()).values()
    assert torch.allclose(torch.from_numpy(got), model(x), atol=1e-5)


def test_executorch_with_several_methods(model: Model, tmp_path: Path) -> None:
    exir: Any = pytest.importorskip("executorch.exir")
    runtime: Any = pytest.importorskip("executorch.runtime")
    methods = dynamo_lite.export_methods(model, {"forward": (X,), "twice": (X,)})
    path = tmp_path / "model.pte"
    path.write_bytes(exir.to_edge(methods.programs).to_executorch().buffer)
    loaded = runtime.Runtime.get().load_program(str(path))
    for name in methods:
        (got,) = loaded.load_method(name).execute([X])
        assert torch.allclose(got, getattr(model, name)(X), atol=1e-5)


def test_torchao_weights(model: Model) -> None:
    quantization: Any = pytest.importorskip("torchao.quantization")
    quantized = copy.deepcopy(model)
    quantization.quantize_(quantized, quantization.Int8WeightOnlyConfig())
    program = dynamo_lite.export(quantized, (X,))
    assert torch.allclose(program.module()(X), quantized(X), atol=1e-5)


def test_torchao_after_export_and_exported_again(model: Model) -> None:
    pt2e: Any = pytest.importorskip("torchao.quantization.pt2e.quantize_pt2e")
    x86: Any = pytest.importorskip("torchao.quantization.pt2e.quantizer.x86_inductor_quantizer")
    quantizer = x86.X86InductorQuantizer().set_global(x86.get_default_x86_inductor_quantization_config())
    prepared = pt2e.prepare_pt2e(dynamo_lite.export(model, (X,)).module(), quantizer)
    prepared(X)
    converted = pt2e.convert_pt2e(prepared)
    again = dynamo_lite.export(converted, (X,))
    assert torch.equal(again.module()(X), converted(X))
    assert torch.allclose(again.module()(X), model(X), atol=0.2)


class Trained(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.drop = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Dropout(0.5)
        self.layer = nn.Linear(144, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(self.drop(self.norm(self.conv(x)).relu().flatten(1)))


def test_torchao_quantisation_aware_training() -> None:
    """torch's program and ours, trained and switched by torchao: the same losses and the same converted model."""
    pt2e: Any = pytest.importorskip("torchao.quantization.pt2e")
    quantize: Any = pytest.importorskip("torchao.quantization.pt2e.quantize_pt2e")
    x86: Any = pytest.importorskip("torchao.quantization.pt2e.quantizer.x86_inductor_quantizer")
    x, results = torch.randn(2, 3, 8, 8), []
    for exporter in (torch.export.export, dynamo_lite.export):
        torch.manual_seed(0)
        quantizer = x86.X86InductorQuantizer()
        quantizer.set_global(x86.get_default_x86_inductor_quantization_config(is_qat=True))
        prepared = quantize.prepare_qat_pt2e(exporter(Trained().train(), (x,)).module(), quantizer)
        optimizer = torch.optim.SGD(prepared.parameters(), 0.01)
        pt2e.move_exported_model_to_train(prepared)
        for _ in range(2):
            loss = prepared(x).square().sum()
            loss.backward()
            optimizer.step()
        pt2e.move_exported_model_to_eval(prepared)
        prepared(x)
        results.append((loss.detach(), quantize.convert_pt2e(prepared)(x)))
    assert torch.equal(results[0][0], results[1][0]) and torch.equal(results[0][1], results[1][1])


def test_coremltools(model: Model) -> None:
    coremltools: Any = pytest.importorskip("coremltools")
    program = dynamo_lite.export(model, (X,)).run_decompositions({})
    made = coremltools.convert(program, convert_to="mlprogram", skip_model_load=True)
    assert {row.name for row in made.get_spec().description.input} == {"x"}
