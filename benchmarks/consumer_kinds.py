"""What takes an ExportedProgram, for benchmarks/consumers.py: each consumer gives back what runs its result.

A consumer is given the module, a function that exports a module, the example call and an empty folder. Its libraries
are imported where they are used.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from unittest import mock

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from tests.models.registry import Inputs

Run = Callable[..., Any]
"""From arguments as the module takes them to results, in any container."""


@dataclass(frozen=True)
class Job:
    module: nn.Module
    export: Callable[[nn.Module], ExportedProgram]
    example: Callable[[], Inputs]
    folder: Path


@dataclass(frozen=True)
class Made:
    """What a consumer has made: `run` is None where it cannot be run here; `reference` is what it has to equal."""

    run: Run | None
    reference: nn.Module


@dataclass(frozen=True)
class Consumer:
    make: Callable[[Job], Made]
    packages: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    """What is imported once, before its cells fork: it takes longer than most of them."""
    tolerance: float = 1e-3
    """The largest error in proportion to the largest value of the tensor."""


def _flat(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Tensor]:
    return [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]


def module_itself(job: Job) -> Made:
    return Made(job.export(job.module).module(), job.module)


def decomposed(job: Job) -> Made:
    return Made(job.export(job.module).run_decompositions().module(), job.module)


def saved_and_loaded(job: Job) -> Made:
    path = job.folder / "model.pt2"
    torch.export.save(job.export(job.module), path)
    return Made(torch.export.load(path).module(), job.module)


def compiled(job: Job) -> Made:
    run = torch.compile(job.export(job.module).module(), backend="aot_eager", fullgraph=True)
    return Made(run, job.module)


def aot_inductor(job: Job) -> Made:
    from torch._inductor import aoti_compile_and_package, aoti_load_package

    package = aoti_compile_and_package(job.export(job.module), package_path=str(job.folder / "model.pt2"))
    return Made(aoti_load_package(package), job.module)


def onnx(job: Job) -> Made:
    import onnxruntime

    path = str(job.folder / "model.onnx")
    made = torch.onnx.export(job.export(job.module), dynamo=True, verbose=False)
    assert made is not None
    made.save(path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [row.name for row in session.get_inputs()]

    def run(*args: Any, **kwargs: Any) -> Any:
        feed = {name: leaf.numpy() for name, leaf in zip(names, _flat(args, kwargs), strict=True)}
        return [torch.from_numpy(value) for value in session.run(None, feed)]

    return Made(run, job.module)


def openvino(job: Job) -> Made:
    import openvino as ov

    model = ov.convert_model(job.export(job.module))
    made = ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})

    def run(*args: Any, **kwargs: Any) -> Any:
        given = made([leaf.numpy() for leaf in _flat(args, kwargs)])
        return [torch.from_numpy(given[i]) for i in range(len(made.outputs))]

    return Made(run, job.module)


def _executed(job: Job, buffer: bytes) -> Made:
    from executorch.runtime import Runtime

    path = job.folder / "model.pte"
    path.write_bytes(buffer)
    loaded = Runtime.get().load_program(str(path))
    method = loaded.load_method("forward")

    def run(*args: Any, **kwargs: Any) -> Any:
        assert loaded is not None and method is not None
        return [leaf.clone() for leaf in method.execute(_flat(args, kwargs))]

    return Made(run, job.module)


def executorch_portable(job: Job) -> Made:
    from executorch.exir import to_edge

    return _executed(job, to_edge(job.export(job.module)).to_executorch().buffer)


def executorch_xnnpack(job: Job) -> Made:
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    edge = to_edge_transform_and_lower(job.export(job.module), partitioner=[XnnpackPartitioner()])
    return _executed(job, edge.to_executorch().buffer)


def torchao_weights(job: Job) -> Made:
    """Weights in 8 bits before the export; equal to the quantised model."""
    from torchao.quantization import Int8WeightOnlyConfig, quantize_

    quantised = copy.deepcopy(job.module)
    quantize_(quantised, Int8WeightOnlyConfig())
    return Made(job.export(quantised).module(), quantised)


def torchao_pt2e(job: Job) -> Made:
    """Prepared, calibrated on the example, converted, and exported again; near the float model."""
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86

    quantizer = x86.X86InductorQuantizer().set_global(x86.get_default_x86_inductor_quantization_config())
    prepared = prepare_pt2e(job.export(job.module).module(), quantizer)
    args, kwargs = job.example()
    prepared(*args, **kwargs)
    return Made(job.export(convert_pt2e(prepared)).module(), job.module)


def coremltools(job: Job) -> Made:
    import coremltools as ct

    program = job.export(job.module).run_decompositions({})
    ct.convert(program, convert_to="mlprogram", skip_model_load=True)
    return Made(None, job.module)


def litert(job: Job) -> Made:
    """It calls torch.export.export itself."""
    import litert_torch

    args, kwargs = job.example()
    with mock.patch.object(torch.export, "export", lambda module, *args, **kwargs: job.export(module)):
        made = litert_torch.convert(job.module, args, sample_kwargs=kwargs or None)

    def run(*args: Any, **kwargs: Any) -> Any:
        return [torch.as_tensor(value) for value in pytree.tree_leaves(made(*args, **kwargs))]

    return Made(run, job.module)


CONSUMERS: Final[dict[str, Consumer]] = {
    "module()": Consumer(module_itself),
    "run_decompositions()": Consumer(decomposed),
    "saved, loaded": Consumer(saved_and_loaded),
    "torch.compile (aot_eager)": Consumer(compiled),
    "ONNX, onnxruntime": Consumer(onnx, ("onnx", "onnxscript", "onnxruntime"), ("onnxscript", "onnxruntime")),
    "OpenVINO": Consumer(openvino, ("openvino",), ("openvino",)),
    "torchao, int8 weights": Consumer(torchao_weights, ("torchao",), ("torchao.quantization",)),
    "torchao, PT2E": Consumer(torchao_pt2e, ("torchao",), ("torchao.quantization.pt2e.quantize_pt2e",), tolerance=0.25),
    "coremltools": Consumer(coremltools, ("coremltools",), ("coremltools",)),
    "ExecuTorch portable": Consumer(executorch_portable, ("executorch",), ("executorch.exir",)),
    "ExecuTorch XNNPACK": Consumer(
        executorch_xnnpack,
        ("executorch",),
        ("executorch.exir", "executorch.backends.xnnpack.partition.xnnpack_partitioner"),
    ),
    "AOTInductor": Consumer(aot_inductor),
    "LiteRT": Consumer(litert, ("litert_torch",), ("litert_torch",)),
}
