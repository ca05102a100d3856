"""Dynamic programs are torch's own ExportedPrograms: what torch does with one after export, against eager."""

from __future__ import annotations

import copy
import io
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.export import Dim, ExportedProgram
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils import _pytree as pytree

import dynamo_lite
from dynamo_lite.program.shapes.torch_symbols import all_graphs
from tests.dynamic.bridge_programs import AUTO, CASES, Case, Oracle

ROOT = Path(__file__).resolve().parents[2]


QUICK = ("tutorial", "derived", "item", "nonzero")
PARAMETERS = [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in CASES]


@pytest.fixture(params=PARAMETERS, scope="module")
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]()


@pytest.fixture(scope="module")
def program(case: Case) -> ExportedProgram:
    return case.export()


def agrees(case: Case, make: Callable[[], Any]) -> None:
    """`make` gives the callable again for each call: a program keeps its buffers."""
    for call in case.calls:
        Oracle(case.module).agrees(make(), call)


def saved(program: ExportedProgram) -> io.BytesIO:
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    buffer.seek(0)
    return buffer


def values(program: ExportedProgram) -> Iterator[Any]:
    for graph in all_graphs(program.graph, dict(program.graph_module.named_children())):
        for node in graph.nodes:
            yield from pytree.tree_leaves(node.meta.get("val"))
            yield from pytree.tree_leaves(node.meta.get("tensor_meta"))


def test_all_metadata_is_torchs(program: ExportedProgram) -> None:
    modes = {id(value.fake_mode) for value in values(program) if isinstance(value, FakeTensor)}
    assert len(modes) == 1
    sizes = [s for value in values(program) if isinstance(value, torch.Tensor) for s in (*value.shape, *value.stride())]
    numbers = [value for value in values(program) if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool))]
    symbolic = [value for value in (*sizes, *numbers) if not isinstance(value, int)]
    assert symbolic and {type(value.node.shape_env) for value in symbolic} == {ShapeEnv}
    assert len({id(value.node.shape_env) for value in symbolic}) == 1
    assert {type(value.node) for value in symbolic} == {torch.fx.experimental.sym_node.SymNode}


def test_the_conversion_decides_nothing(program: ExportedProgram) -> None:
    (env,) = {value.fake_mode.shape_env for value in values(program) if isinstance(value, FakeTensor)}
    mentioned = {s for v in values(program) if isinstance(v, torch.SymInt) for s in v.node.expr.free_symbols}
    assert mentioned <= set(program.range_constraints)
    assert not env.replacements and not env.deferred_runtime_asserts


def test_hints_are_the_examples_sizes(case: Case, program: ExportedProgram) -> None:
    example = pytree.tree_leaves(case.calls[0])
    inputs = [n.meta["val"] for n in program.graph.nodes if n.op == "placeholder"][-len(example) :]
    for given, value in zip(example, inputs):
        if isinstance(value, torch.Tensor):
            assert [size if isinstance(size, int) else size.node.hint for size in value.shape] == [*given.shape]
        elif isinstance(value, torch.SymInt):
            assert value.node.hint == given


def test_module(case: Case, program: ExportedProgram) -> None:
    agrees(case, program.module)


def test_deep_copy(case: Case, program: ExportedProgram) -> None:
    agrees(case, lambda: copy.deepcopy(program).module())
    agrees(case, lambda: copy.deepcopy(program.module()))


def test_save_and_load(case: Case, program: ExportedProgram) -> None:
    buffer = saved(program)
    loaded = torch.export.load(buffer)
    assert type(loaded) is ExportedProgram
    assert {str(s): str(r) for s, r in loaded.range_constraints.items()} == {
        str(s): str(r) for s, r in program.range_constraints.items()
    }
    assert loaded._guards_code == program._guards_code
    agrees(case, loaded.module)


def test_unflatten(case: Case, program: ExportedProgram) -> None:
    # A copy: after unflatten (of torch's programs as well) a program cannot be deep-copied any more.
    agrees(case, lambda: torch.export.unflatten(copy.deepcopy(program)))


DECOMPOSED: dict[str, Callable[[ExportedProgram], ExportedProgram]] = {
    "default": lambda program: program.run_decompositions(),
    "training": lambda program: program.run_decompositions({}),
    "custom table": lambda program: program.run_decompositions(
        {torch.ops.aten.linear.default: lambda x, w, b=None: x @ w.t() if b is None else x @ w.t() + b}
    ),
    "after load": lambda program: torch.export.load(saved(program)).run_decompositions(),
    "of a copy": lambda program: copy.deepcopy(program).run_decompositions({}),
}


@pytest.mark.parametrize("how", DECOMPOSED)
def test_run_decompositions(case: Case, program: ExportedProgram, how: str) -> None:
    decomposed = DECOMPOSED[how](program)
    agrees(case, decomposed.module)
    if how == "default":
        agrees(case, torch.export.load(saved(decomposed)).module)


@pytest.mark.parametrize("size", [0, 1])
def test_decompositions_do_not_lose_small_sizes(size: int) -> None:
    """torch's own trace would ask the example whether a size is 1, and forget that it did."""

    class Small(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
            z = torch.nn.functional.linear(x, x.new_ones(4, 3)).expand(2, -1, -1)
            heads = z.unflatten(2, (2, 2)).transpose(1, 2)
            attended = torch.nn.functional.scaled_dot_product_attention(heads, heads, heads)
            return (x + y[:, None]).flatten(), z, attended.transpose(1, 2).reshape(2, -1, 4)

    module = Small()
    call = torch.randn(5, 3), torch.randn(5)
    program = dynamo_lite.export(module, call, dynamic_shapes={"x": {0: AUTO}, "y": {0: AUTO}})
    decomposed = program.run_decompositions()
    assert decomposed._guards_code == program._guards_code
    small = torch.randn(size, 3), torch.randn(size)
    Oracle(module).agrees(program.module(), small)
    Oracle(module).agrees(decomposed.module(), small)


def test_what_a_decomposition_decides_is_a_guard() -> None:
    """A decomposition of the user's that asks the example about a size."""

    def halved(x: torch.Tensor) -> torch.Tensor:
        return x * 0.5 if x.shape[0] > 3 else x * 2

    module = _Module(torch.cosh)
    program = dynamo_lite.export(module, (torch.ones(5),), dynamic_shapes={"x": {0: AUTO}})
    for _ in range(2):  # what the first one has decided is not known to the second
        decomposed = program.run_decompositions({torch.ops.aten.cosh.default: halved})
        torch.testing.assert_close(decomposed.module()(torch.ones(4)), torch.ones(4) / 2)
        for version in (decomposed, torch.export.load(saved(decomposed)), decomposed.run_decompositions()):
            with pytest.raises((dynamo_lite.program.InputMismatch, AssertionError), match=r"\[0\] > 3"):
                version.module()(torch.ones(2))
    program.module()(torch.ones(2))


class _Recurrent(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gru = torch.nn.GRU(3, 4, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.gru(x)[0]


def test_a_size_that_a_decomposition_fixes_is_said() -> None:
    """torch writes a GRU out step by step: the length is a constant then, the batch is not."""
    module = _Recurrent().eval()
    shapes = {"x": {0: AUTO, 1: AUTO}}
    program = dynamo_lite.export(module, (torch.randn(2, 5, 3),), dynamic_shapes=shapes)
    with pytest.warns(UserWarning, match=r"x\.shape\[1\] may vary .* is 5 in .*aten\.gru\.input") as found:
        decomposed = program.run_decompositions({})
    assert [w.filename for w in found if "may vary" in str(w.message)] == [__file__]
    sizes = next(node.meta["val"].shape for node in decomposed.graph.nodes if node.name == "x")
    assert [type(size) for size in sizes] == [torch.SymInt, int, int]  # ONNX and others take a SymInt for an open size
    x = torch.randn(3, 5, 3)
    torch.testing.assert_close(decomposed.module()(x), module(x))
    torch.testing.assert_close(dynamo_lite.load(saved(decomposed)).module()(x), module(x))
    with pytest.raises(dynamo_lite.InputMismatch, match=r"x\.shape\[1\]: expected 5, given 6"):
        decomposed.module()(torch.randn(3, 6, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        open_ = dynamo_lite.export(_Module(torch.cosh), (torch.ones(5),), dynamic_shapes={"x": {0: AUTO}})
        open_.run_decompositions({})


def test_constant_ints_beside_sizes_that_vary() -> None:
    def crop(x: torch.Tensor, n: int, *, m: list[int]) -> torch.Tensor:
        start = round((x.shape[0] - n) / 2.0)
        return x[start : start + n].repeat(m[0], 1)

    example = (torch.rand(30, 4), 15)
    program = dynamo_lite.export(crop, example, {"m": [2]}, dynamic_shapes=({0: AUTO}, None, [None]))
    for of_torch in (program.run_decompositions(), program.run_decompositions({})):
        for rows in (15, 16, 30, 41):
            x = torch.rand(rows, 4)
            torch.testing.assert_close(of_torch.module()(x, 15, m=[2]), crop(x, 15, m=[2]))
        for args, m in (((example[0], 16), 2), (example, 3)):
            with pytest.raises((AssertionError, RuntimeError)):
                of_torch.module()(*args, m=[m])


def test_guards_on_floats_decide_nothing_when_torch_traces_again() -> None:
    def middle(x: torch.Tensor, *, n: int = 3) -> torch.Tensor:
        start = round(float(x.shape[0] - n) / 2.5)
        return x[start : start + n] if start >= 2 else x

    program = dynamo_lite.export(
        middle, (torch.rand(30, 4),), dynamic_shapes=({0: AUTO},), control_flow="refuse"
    )
    assert any("round" in guard for guard in program._guards_code)
    decomposed = program.run_decompositions()
    for rows in (8, 9, 31):
        x = torch.rand(rows, 4)
        torch.testing.assert_close(program.module()(x), middle(x))
        torch.testing.assert_close(decomposed.module()(x), middle(x))


def test_a_decomposition_of_the_users_may_look_at_small_sizes() -> None:
    """What torch's own kernels ask about sizes 0 and 1 is about memory layout; what a user's asks is not."""

    def differs(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.shape[0] == 1 else x * 3

    program = dynamo_lite.export(_Module(torch.cosh), (torch.ones(5),), dynamic_shapes={"x": {0: AUTO}})
    decomposed = program.run_decompositions({torch.ops.aten.cosh.default: differs}).module()
    assert decomposed(torch.ones(4)).tolist() == [3.0] * 4
    with pytest.raises(dynamo_lite.program.InputMismatch, match=r"x\.shape\[0\] != 1"):
        decomposed(torch.ones(1))


def test_a_failed_decomposition_leaves_nothing_behind() -> None:
    def fails(x: torch.Tensor) -> torch.Tensor:
        assert x.shape[0] != 2
        raise NotImplementedError

    module = _Module(torch.cosh)
    program = dynamo_lite.export(module, (torch.ones(5),), dynamic_shapes={"x": {0: AUTO}})
    with pytest.raises(NotImplementedError):
        program.run_decompositions({torch.ops.aten.cosh.default: fails})
    decomposed = program.run_decompositions()
    assert decomposed._guards_code == program._guards_code
    torch.testing.assert_close(decomposed.module()(torch.ones(2)), torch.ones(2).cosh())


def test_compile_with_a_backend(case: Case, program: ExportedProgram) -> None:
    graphs: list[torch.fx.GraphModule] = []

    def backend(graph: torch.fx.GraphModule, _: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    with torch._dynamo.config.patch(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True):
        agrees(case, lambda: torch.compile(program.module(), backend=backend, fullgraph=True))
    assert graphs


def test_export_of_the_exported(case: Case, program: ExportedProgram) -> None:
    """torch.export traces the module of a program again (as quantisation does)."""
    again = torch.export.export(program.module(), case.calls[0], dynamic_shapes=case.dynamic_shapes, strict=False)
    Oracle(case.module).agrees(again.module(), case.calls[0])


def test_load_in_another_process(tmp_path: Path) -> None:
    """All programs in one fresh process, which does not import dynamo_lite."""
    wanted = {}
    for name in QUICK:
        case = CASES[name]()
        torch.export.save(case.export(), tmp_path / f"{name}.pt2")
        wanted[name] = [(call, case.module(*copy.deepcopy(call))) for call in case.calls]
    torch.save(wanted, tmp_path / "wanted.pt")
    script = """
import sys, torch
folder = sys.argv[1]
for name, calls in torch.load(f"{folder}/wanted.pt").items():
    module = torch.export.load(f"{folder}/{name}.pt2").module()
    for call, expected in calls:
        given = torch.utils._pytree.tree_leaves(module(*call))
        for got, want in zip(given, torch.utils._pytree.tree_leaves(expected), strict=True):
            torch.testing.assert_close(got, want)
assert "dynamo_lite" not in sys.modules
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", script, str(tmp_path)], check=True, cwd=ROOT, timeout=120)


def test_static_programs_have_no_environment() -> None:
    program = dynamo_lite.export(_Module(torch.cosh), (torch.ones(5),))
    assert not program.range_constraints
    assert all(value.fake_mode.shape_env is None for value in values(program) if isinstance(value, FakeTensor))


def test_subgraphs_are_converted_too() -> None:
    class Regions(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                y = x * x.shape[0]
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return (y.t() @ x).float() + x.shape[0]

    case = Case(Regions(), {"x": {0: AUTO}}, [(torch.ones(n, 2),) for n in (4, 7, 1)])
    program = case.export()
    graphs = [*all_graphs(program.graph, dict(program.graph_module.named_children()))]
    assert len(graphs) > 2
    test_all_metadata_is_torchs(program)
    agrees(case, program.module)
    agrees(case, program.run_decompositions().module)
    agrees(case, torch.export.load(saved(program)).module)


def test_memory_that_inputs_share_stays_shared() -> None:
    class Twice(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return x * y

    x = torch.ones(4)
    program = dynamo_lite.export(Twice(), (x, x), dynamic_shapes={"x": {0: AUTO}, "y": {0: AUTO}})
    first, second = (n.meta["val"] for n in program.graph.nodes if n.op == "placeholder")
    assert first.untyped_storage()._cdata == second.untyped_storage()._cdata


def test_names_of_dimensions() -> None:
    """torch tells what a symbol is by the start of its name: a dimension called "unit" is not unbacked."""
    unit, zuf = Dim("unit", min=0, max=99), Dim("zuf")
    case = Case(_Module(torch.cosh), {"x": {0: unit, 1: zuf}}, [(torch.ones(n, m),) for n, m in ((4, 3), (2, 5))])
    program = case.export()
    assert not any(torch.fx.experimental.symbolic_shapes.free_unbacked_symbols(s) for s in program.range_constraints)
    agrees(case, torch.export.load(saved(program)).module)
    agrees(case, torch.export.load(saved(program)).run_decompositions().module)


def test_truth_values_as_outputs() -> None:
    class Even(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return x + 1, x.shape[0] % 2 == 0

    case = Case(Even(), {"x": {0: AUTO}}, [(torch.ones(n),) for n in (4, 7, 1)])
    program = case.export()
    agrees(case, program.module)
    agrees(case, torch.export.load(saved(program)).module)
    agrees(case, program.run_decompositions().module)


class _Module(torch.nn.Module):
    def __init__(self, fn: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.fn = fn

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fn(x)
