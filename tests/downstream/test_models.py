"""What comes after export, on three models of tests/models (one with a dynamic batch), against eager.

`make downstream` runs the long ones too: compilers.
"""

from __future__ import annotations

import copy
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import fx, nn
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

import dynamo_lite
from tests.downstream import quantise
from tests.models import dynamic, registry

ROOT = Path(__file__).resolve().parents[2]
aten = torch.ops.aten


class Leaves(nn.Module):
    """The tensors among a model's results: what loads them needs no class of the model's library."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return [leaf for leaf in pytree.tree_leaves(self.model(*args, **kwargs)) if isinstance(leaf, torch.Tensor)]


@dataclass
class Exported:
    """A model, its program, and calls: the example first."""

    module: nn.Module
    program: ExportedProgram
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]]
    tolerance: float

    def agrees(self, run: Callable[..., Any], tolerance: float = 1e-4) -> None:
        for args, kwargs in self.calls:
            self.same(run(*args, **kwargs), self.eager(args, kwargs), tolerance)

    def eager(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with torch.no_grad():
            return copy.deepcopy(self.module)(*args, **kwargs)

    @staticmethod
    def same(given: Any, wanted: Any, tolerance: float = 1e-4) -> None:
        given, wanted = pytree.tree_leaves(given), pytree.tree_leaves(wanted)
        assert len(given) == len(wanted) > 0
        for got, want in zip(given, wanted):
            torch.testing.assert_close(torch.as_tensor(got), want, rtol=tolerance, atol=tolerance)


NAMES = ["convnet_eval", "vit", "bert"]
DYNAMIC = {"bert"}


@pytest.fixture(scope="module", params=NAMES)
def exported(request: pytest.FixtureRequest) -> Exported:
    return make(request.param)


@cache
def make(name: str) -> Exported:
    case = registry.load(registry.CORE)[name].case()
    module = Leaves(case.module)
    if name not in DYNAMIC:
        args, kwargs = case.inputs(0)
        calls = [(args, kwargs), case.inputs(1)]
        shapes = None
    else:
        batch = dynamic.batch_axis(case)
        assert batch is not None
        calls = [dynamic.resized(case, batch, size)(0) for size in (2, 5)]
        shapes = {"kwargs": dynamic.dynamic_shapes(case, batch)}
        assert not calls[0][0], "keyword arguments alone"
    program = dynamo_lite.export(module, *calls[0], dynamic_shapes=shapes)
    return Exported(module, program, calls, case.tolerance)


def test_saved_here_loaded_without_the_source(tmp_path: Path) -> None:
    """In a process that can import neither dynamo_lite nor the tests nor the models' library."""
    counts = []
    for name in NAMES:
        exported = make(name)
        torch.export.save(exported.program, tmp_path / f"{name}.pt2")
        torch.save([(call, exported.eager(*call)) for call in exported.calls], tmp_path / f"{name}.pt")
        counts.append(str(len(exported.program.graph.nodes)))
    script = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("dynamo_lite", "tests", "transformers", "timm"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
import torch
folder, *names = sys.argv[1:]
for name in names:
    program = torch.export.load(f"{folder}/{name}.pt2")
    for (args, kwargs), expected in torch.load(f"{folder}/{name}.pt"):
        given = program.module()(*args, **kwargs)
        for got, want in zip(given, expected, strict=True):
            torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)
    print(len(program.graph.nodes))
"""
    command = [sys.executable, "-W", "ignore", "-c", script, str(tmp_path), *NAMES]
    done = subprocess.run(command, check=False, cwd=tmp_path, timeout=120, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == counts


class Counting(fx.Interpreter):
    """Runs a program by its nodes; checks each result against what the node says of it."""

    def __init__(self, module: fx.GraphModule) -> None:
        super().__init__(module)
        self.checked = 0

    def run_node(self, n: fx.Node) -> Any:
        value, said = super().run_node(n), n.meta.get("val")
        if n.op == "call_function" and isinstance(value, torch.Tensor):
            assert isinstance(said, torch.Tensor) and value.dtype == said.dtype and value.dim() == said.dim(), n
            fixed = [(have, size) for have, size in zip(value.shape, said.shape) if isinstance(size, int)]
            assert all(have == size for have, size in fixed), (n, value.shape, said.shape)
            self.checked += 1
        return value


def flat(call: tuple[tuple[Any, ...], dict[str, Any]]) -> list[Any]:
    return pytree.tree_leaves(call)


def test_interpreter(exported: Exported) -> None:
    for call in exported.calls:
        module = exported.program.module()
        interpreter = Counting(module)
        with torch.no_grad():
            results = interpreter.run(*flat(call))
        exported.same(results, exported.eager(*call))
        calls = [node for node in module.graph.nodes if node.op == "call_function" and "val" in node.meta]
        tensors = [node for node in calls if isinstance(node.meta["val"], torch.Tensor)]
        assert interpreter.checked == len(tensors) > 10


class LinearByParts(fx.Transformer):
    """Writes each linear operator as a matrix product and an addition."""

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        if target is aten.linear.default:
            product = super().call_function(
                aten.matmul.default, (args[0], super().call_function(aten.t.default, args[1:2], {})), {}
            )
            return product if len(args) < 3 else super().call_function(aten.add.Tensor, (product, args[2]), {})
        return super().call_function(target, args, kwargs)


def test_transformer(exported: Exported) -> None:
    module = LinearByParts(exported.program.module()).transform()
    targets = {node.target for node in module.graph.nodes}
    assert aten.linear.default not in targets and aten.matmul.default in targets
    for call in exported.calls:
        with torch.no_grad():
            exported.same(module(*flat(call)), exported.eager(*call))


def test_compile_with_a_backend(exported: Exported) -> None:
    graphs: list[fx.GraphModule] = []

    def backend(graph: fx.GraphModule, _: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    with torch.no_grad():
        exported.agrees(torch.compile(exported.program.module(), backend=backend, fullgraph=True))
    assert graphs


def test_quantisation_by_metadata(exported: Exported) -> None:
    """The pass finds the modules that eager calls, and gives what eager gives with the same done by hand."""
    kinds = (nn.Linear, nn.Conv2d)
    args, kwargs = exported.calls[0]
    reference = quantise.Reference(copy.deepcopy(exported.module), kinds)
    wanted = reference.run(*args, **kwargs)
    module = exported.program.module()
    annotated = quantise.annotate(module, kinds)
    assert {a.fqn for a in annotated} == reference.called and len(annotated) == len(reference.called) > 2
    calibration = quantise.Calibration(module, annotated)
    with torch.no_grad():
        calibration.run(*flat((args, kwargs)))
        quantise.convert(module, annotated, calibration.ranges)
        given = module(*args, **kwargs)
    exported.same(given, wanted)
    exact = pytree.tree_leaves(exported.eager(args, kwargs))
    assert any(not torch.allclose(a, b, rtol=0, atol=1e-6) for a, b in zip(pytree.tree_leaves(given), exact)), (
        "8 bits show"
    )
    with torch.no_grad():
        again = torch.export.export(module, args, kwargs, strict=False)
        exported.same(again.module()(*args, **kwargs), wanted)


@pytest.mark.long
def test_compile_with_inductor(exported: Exported) -> None:
    if shutil.which("g++") is None:
        pytest.skip("Inductor needs a C++ compiler")
    torch._dynamo.reset()
    with torch.no_grad():
        exported.agrees(torch.compile(exported.program.module(), fullgraph=True))


@pytest.mark.long
def test_aot_inductor(exported: Exported, tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("Inductor needs a C++ compiler")
    path = torch._inductor.aoti_compile_and_package(exported.program, package_path=str(tmp_path / "model.pt2"))
    exported.agrees(torch._inductor.aoti_load_package(path))


@pytest.mark.long
def test_onnx(exported: Exported, tmp_path: Path) -> None:
    onnxruntime: Any = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    made = torch.onnx.export(exported.program, dynamo=True, verbose=False)
    assert made is not None
    made.save(str(tmp_path / "model.onnx"))
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    for call in exported.calls:
        named = zip(session.get_inputs(), (t for t in flat(call) if isinstance(t, torch.Tensor)), strict=True)
        results = session.run(None, {value.name: tensor.numpy() for value, tensor in named})
        exported.same(results, exported.eager(*call), 1e-3)
