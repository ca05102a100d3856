"""Programs exported again: `dynamo_lite.export(program.module(), ...)` equals the program, and leaves it as it was."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch._higher_order_ops import scan
from torch.export import Dim, ExportedProgram
from torch.utils import _pytree as pytree

import dynamo_lite
from dynamo_lite.program.modules.program_module import separate_comparisons

ROWS = Dim("rows", min=2, max=50)
X = torch.full((3, 4), 3.0)


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> Any:
        return self.layer(x).relu()


class NoGrad(Plain):
    def forward(self, x: torch.Tensor) -> Any:
        with torch.no_grad():
            y = self.layer(x)
        return y * 2 + self.layer(x)


class Autocast(Plain):
    def forward(self, x: torch.Tensor) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.layer(x)
        return y.float() + x


class Nested(Plain):
    def forward(self, x: torch.Tensor) -> Any:
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.layer(x)
            with torch.enable_grad():
                z = self.layer(x)
        return y + z


class Buffers(Plain):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.register_buffer("count", torch.zeros(4))

    def forward(self, x: torch.Tensor) -> Any:
        self.count.add_(1)
        return self.norm(self.layer(x)) + self.count


class ChangesInput(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        x.add_(1)
        return x * 2


class Branch(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))


class Checked(nn.Module):
    """A size that only run time knows, with conditions on it: `aten._assert_scalar` in the program."""

    def forward(self, x: torch.Tensor) -> Any:
        n = x[0, 0].long().item()
        torch._check(n >= 2)
        torch._check(n <= 6)
        return torch.zeros(n) + 1


class Constants(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.plain = torch.randn(4)

    def forward(self, x: torch.Tensor) -> Any:
        return {"out": (x + self.plain + torch.tensor([1.0, 2.0, 3.0, 4.0]), 3)}


PROGRAMS = (Plain, NoGrad, Autocast, Nested, Buffers, ChangesInput, Branch, Checked, Constants)


def saved(program: ExportedProgram, load: Callable[[Any], ExportedProgram]) -> ExportedProgram:
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    buffer.seek(0)
    return load(buffer)


FORMS: dict[str, Callable[[ExportedProgram], nn.Module]] = {
    "module": lambda p: p.module(),
    "loaded": lambda p: saved(p, dynamo_lite.load).module(),
    "loaded by torch": lambda p: saved(p, torch.export.load).module(),
    "decomposed": lambda p: p.run_decompositions().module(),
}


def equal(left: Any, right: Any) -> bool:
    pairs = zip(pytree.tree_leaves(left), pytree.tree_leaves(right), strict=True)
    return all(torch.allclose(a, b) if isinstance(a, torch.Tensor) else a == b for a, b in pairs)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("export", [torch.export.export, dynamo_lite.export], ids=["torch's", "ours"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_program_is_exported_again(kind: type[nn.Module], form: str, export: Any, dynamic: bool) -> None:
    if kind is Nested and export is torch.export.export and form.startswith("loaded"):
        pytest.skip("torch.export.load takes no nested regions of torch.export's")
    torch.manual_seed(0)
    model = kind()
    shapes = ({0: ROWS},) if dynamic else None
    program = export(copy.deepcopy(model), (X.clone(),), dynamic_shapes=shapes)
    again = dynamo_lite.export(copy.deepcopy(FORMS[form](program)), (X.clone(),), dynamic_shapes=shapes)
    x = torch.cat([X, X]) if dynamic else X
    given = [x.clone(), x.clone(), x.clone()]
    want = model(given[0])
    assert equal(again.module()(given[1]), want) and equal(given[1], given[0])
    assert equal(FORMS[form](program)(given[2]), want)  # the program itself is what it was
    if dynamic and kind is Plain:
        assert str([*again.range_constraints.values()]) == "[VR[2, 50]]"


def test_a_narrower_program_is_not_widened() -> None:
    program = dynamo_lite.export(Plain(), (X,), dynamic_shapes=({0: Dim("rows", min=2, max=9)},))
    with pytest.raises(dynamo_lite.ConstraintViolation):
        dynamo_lite.export(program.module(), (X,), dynamic_shapes=({0: ROWS},))


def test_a_program_is_unflattened_and_exported_again() -> None:
    model = nn.Sequential(Plain(), NoGrad())
    program = dynamo_lite.export(model, (X,))
    again = dynamo_lite.export(torch.export.unflatten(program), (X,))
    assert torch.allclose(again.module()(X), model(X))
    assert {*again.state_dict} >= {*model.state_dict()}


@pytest.mark.parametrize("kind", [Plain, NoGrad, Constants])
def test_torch_s_tracers_take_what_they_take_of_torch_s_own(kind: type[nn.Module]) -> None:
    torch.manual_seed(0)
    model = kind()
    tracers: dict[str, Callable[[Any], Any]] = {
        "torch.export": lambda m: torch.export.export(m, (X,)).module(),
        "torch.fx": torch.fx.symbolic_trace,
        "torch.jit": lambda m: torch.jit.trace(m, (X,), strict=False),
    }
    for name, tracer in tracers.items():
        made = []
        for export in (torch.export.export, dynamo_lite.export):
            try:
                made.append(tracer(export(model, (X,)).module()))
            except Exception as error:
                made.append(error)
        if not isinstance(made[0], Exception):
            assert not isinstance(made[1], Exception), name
            assert equal(made[1](X), model(X)), name


@pytest.mark.parametrize("through", ["as it is", "loaded", "half"])
def test_torch_s_tracers_take_programs_with_sizes_that_vary(through: str) -> None:
    """Ranges and ties of sizes are checked there too: by fx at each call, by torch.jit for the example."""
    model = Plain().eval()
    program = dynamo_lite.export(model, (X,), dynamic_shapes=({0: Dim("rows", min=2, max=9)},))
    module = FORMS["loaded" if through == "loaded" else "module"](program)
    dtype = torch.bfloat16 if through == "half" else torch.float32
    model, module, x = model.to(dtype), module.to(dtype), X.to(dtype)
    jitted = torch.jit.trace(module, (x,))
    assert torch.equal(jitted(x), model(x))
    traced = torch.fx.symbolic_trace(module)
    for rows in (2, 7):
        given = torch.randn(rows, 4).to(dtype)
        assert torch.equal(traced(given), model(given))
    for rows in (1, 10):
        with pytest.raises(AssertionError, match="Guard failed"):
            traced(torch.randn(rows, 4).to(dtype))
        with pytest.raises(dynamo_lite.InputMismatch):
            module(torch.randn(rows, 4).to(dtype))


def test_guards_of_torch_s_module_are_one_comparison_each() -> None:
    long = "(a + b) <= f(c, d=1) < 3 < L['a <= b'].size()[0]"
    texts = ["2 <= L['x'].size()[0] <= 9", "a < b", long, "x == (1 < y < 2)"]
    parts = [part for text in texts for part in separate_comparisons(text)]
    first, second = "2 <= L['x'].size()[0]", "L['x'].size()[0] <= 9"
    chain = ["a + b <= f(c, d=1)", "f(c, d=1) < 3", "3 < L['a <= b'].size()[0]"]
    assert parts == [first, second, "a < b", *chain, texts[-1]]


def test_tracing_leaves_the_sizes_of_a_program_open() -> None:
    """The guards of a trace look at the tensors in a program's `meta`; to ask one of its sizes would fix it."""
    program = dynamo_lite.export(Plain(), (X,), dynamic_shapes=({0: ROWS},))
    module = program.module()
    dynamo_lite.trace(module, (X,))
    sizes = next(node.meta["val"] for node in program.graph.nodes if node.name == "x").shape
    assert str(sizes[0]) == "s0"
    assert module(torch.randn(7, 4)).shape == (7, 4)


class Counted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls.add_(1)
        return self.layers(x) + self.calls


class Hierarchy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Counted(), Counted()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.first(x)
        with torch.no_grad():
            y = y + self.second(x)
        return torch.cond(y.sum() > 0, lambda y: self.first.layers(y).sin(), torch.cos, [y])


def _operators(graph_module: torch.fx.GraphModule) -> list[tuple[str, Any, Any]]:
    """(operator, lines of the program, modules of the program) of each node, sub-graphs included."""
    found = []
    for part in graph_module.modules():
        for node in part.graph.nodes if isinstance(part, torch.fx.GraphModule) else ():
            if isinstance(node.target, torch._ops.OpOverload):
                stack = list((node.meta.get("nn_module_stack") or {}).values())
                found.append((str(node.target), node.meta.get("stack_trace"), stack))
    return found


@pytest.mark.parametrize("strict", [True, False])
def test_nodes_keep_the_lines_and_modules_of_the_model(strict: bool) -> None:
    program = dynamo_lite.export(Hierarchy(), (X,), strict=strict)
    again = dynamo_lite.export(program.module(), (X,), strict=strict)
    assert _operators(again.graph_module) == _operators(program.graph_module)
    assert any(stack[-1][0] == "first.layers.0" for _, _, stack in _operators(again.graph_module))


def test_an_exported_program_unflattens_after_the_second_export_too() -> None:
    model = nn.Sequential(Counted(), Counted())
    again = dynamo_lite.export(dynamo_lite.export(model, (X,)).module(), (X,))
    parts = torch.export.unflatten(again)
    torch.testing.assert_close(parts(X), copy.deepcopy(model)(X))
    assert "aten.linear" in str(parts.get_submodule("1.layers.0").graph)


def test_a_node_without_lines_of_its_own_has_those_of_the_generated_code() -> None:
    run = dynamo_lite.export(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), (X,)).module()
    assert isinstance(run, torch.fx.GraphModule)
    (relu,) = (node for node in run.graph.nodes if node.target is torch.ops.aten.relu.default)
    with run.graph.inserting_after(relu):
        negated = run.graph.call_function(torch.ops.aten.neg.default, (relu,))
    relu.replace_all_uses_with(negated, delete_user_cb=lambda user: user is not negated)
    run.recompile()
    again = dynamo_lite.export(run, (X,))
    torch.testing.assert_close(again.module()(X), run(X))
    (line,) = (text for operator, text, _ in _operators(again.graph_module) if operator == "aten.neg.default")
    assert "torch.ops.aten.neg" in line


class ByKey(nn.Module):
    def forward(self, given: dict[str, torch.Tensor], **named: torch.Tensor) -> torch.Tensor:
        return given["p"] - given["q"] + named["a"] - 2 * named["b"]


class InOrder(nn.Module):
    def forward(self, given: dict[str, torch.Tensor], **named: torch.Tensor) -> torch.Tensor:
        total = torch.zeros_like(X)
        for value in given.values():
            total = total * 2 + value
        return total + named["a"] - named["b"]


@pytest.mark.parametrize("module, any_order", [(ByKey(), True), (InOrder(), False)])
def test_the_order_of_keys_matters_where_the_model_has_looked_at_it(module: nn.Module, any_order: bool) -> None:
    call, named = ({"p": X, "q": X * 2},), {"a": X * 3, "b": X * 4}
    program = dynamo_lite.export(module, call, named)
    for run in (program.module(), dynamo_lite.export(program.module(), call, named).module()):
        torch.testing.assert_close(run(*call, **named), module(*call, **named))
        given = {"q": X * 5, "p": X * 6}
        if any_order:
            torch.testing.assert_close(run(given, b=X, a=X * 3), module(given, b=X, a=X * 3))
        else:
            with pytest.raises(ValueError, match="order"):
                run(given, b=X, a=X * 3)


class Scanned(nn.Module):
    def forward(self, first: torch.Tensor, rows: dict[str, torch.Tensor]) -> Any:
        return scan(lambda carry, row: (carry + row["a"], (row["a"] * 2, row["b"] + carry)), first, rows)


@pytest.mark.parametrize("strict", [True, False])
def test_a_scan_of_several_results(strict: bool) -> None:
    call = (torch.zeros(4), {"a": X, "b": X + 1})
    program = dynamo_lite.export(Scanned(), call, strict=strict)
    again = dynamo_lite.export(program.module(), call, strict=strict)
    torch.testing.assert_close(again.module()(*call), program.module()(*call))
