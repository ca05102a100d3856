"""The backward of an autograd.Function, exported first and compared with eager: gradients, and gradients of those."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import dynamo_lite
from dynamo_lite.errors import LostGradient
from tests.hops.function_programs import DYNAMIC, LOG, PROGRAMS, REFUSED, Base, Effect, Exp, Round, Step

Run = tuple[list[Any], list[Any], list[Any]]


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    return [tensor for part in value for tensor in _tensors(part)] if isinstance(value, (tuple, list)) else []


def _run(module: Callable[..., Any], x: Tensor) -> Run:
    """Values and flags of the results, gradients, and gradients of the gradients."""
    results = _tensors(module(x))
    seen = [(t.detach().clone(), t.requires_grad) for t in results]
    wrt = [t for t in (x, *dict(sorted(module.named_parameters())).values()) if t.requires_grad]  # type: ignore[attr-defined]
    torch.manual_seed(1)
    loss: Any = sum((t.abs() * torch.rand(t.shape)).sum() for t in results if t.requires_grad)
    if not isinstance(loss, Tensor):
        return seen, [], []
    gradients = torch.autograd.grad(loss, wrt, allow_unused=True, create_graph=True)
    first = [None if g is None else g.detach().clone() for g in gradients]
    again: Any = sum((g**2).sum() for g in gradients if g is not None and g.requires_grad)
    second = torch.autograd.grad(again, wrt, allow_unused=True) if isinstance(again, Tensor) else ()
    return seen, first, [*second]


def _saved(program: Any) -> Any:
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    return torch.export.load(file).module()


FORMS: dict[str, Callable[[Any], Any]] = {
    "module": lambda program: program.module(),
    "saved": _saved,
    "copied": lambda program: copy.deepcopy(program.module()),
    "unflattened": torch.export.unflatten,
}


def _export(model: nn.Module, name: str, requires_grad: bool, **options: Any) -> Any:
    shapes = ({0: torch.export.Dim("b")},) if name in DYNAMIC else None
    x = torch.randn(2, 3, requires_grad=requires_grad)
    return dynamo_lite.export(model, (x,), dynamic_shapes=shapes, **options)


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_eagers(name: str, requires_grad: bool) -> None:
    torch.manual_seed(0)
    model = type(name, (Base,), {"forward": PROGRAMS[name]})()
    program = _export(model, name, requires_grad)
    for form in FORMS.values():
        for wanted in (False, True):
            module, x = form(program), torch.randn(4 if name in DYNAMIC else 2, 3)
            ours = _run(module, x.clone().requires_grad_(wanted))
            eager = _run(copy.deepcopy(model), x.clone().requires_grad_(wanted))
            if name == "branch":  # torch.cond has no gradient of its gradient
                ours, eager = ours[:2], eager[:2]  # type: ignore[assignment]
            torch.testing.assert_close(ours, eager)


@pytest.mark.parametrize("name", ["ste", "two", "double"])
@pytest.mark.parametrize("way", ["strict=False", "again"])
def test_other_ways_to_export(name: str, way: str) -> None:
    torch.manual_seed(0)
    model = type(name, (Base,), {"forward": PROGRAMS[name]})()
    program = _export(model, name, True, strict=way != "strict=False")
    if way == "again":
        program = dynamo_lite.export(program.module(), (torch.randn(2, 3),))
    x = torch.randn(2, 3, requires_grad=True)
    torch.testing.assert_close(_run(program.module(), x), _run(model, x))


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_graph_holds_raises_in_the_backward(name: str) -> None:
    forward, why = REFUSED[name]
    torch.manual_seed(0)
    model = type(name, (Base,), {"forward": forward})()
    trace = dynamo_lite.trace(model, (torch.randn(2, 3),))
    assert any("the backward of" in note and "raises where a gradient goes through it" in note for note in trace.notes)
    for form in FORMS.values():
        x = torch.randn(2, 3)
        result = form(trace.program)(x)
        torch.testing.assert_close(result, model(x))
        assert result.requires_grad
        with pytest.raises(RuntimeError, match=f"(?s)The backward of the autograd.Function .*not part.*{why}"):
            result.sum().backward()


def test_a_saved_tensor_that_is_changed() -> None:
    """Autograd's check of versions, which torch's operator does not make."""
    model = type("M", (Base,), {"forward": lambda self, x: Exp.apply(self.lin(x)).add_(1)})()
    program = dynamo_lite.export(model, (torch.randn(2, 3),)).module()
    for module, text in ((model, "modified by an inplace operation"), (program, "Exp has saved a tensor")):
        with pytest.raises(RuntimeError, match=text):
            module(torch.randn(2, 3)).sum().backward()


def test_a_backward_is_no_effect_of_the_call() -> None:
    LOG.clear()
    dynamo_lite.export(lambda x: Effect.apply(x), (torch.randn(3),))
    assert LOG == []


def test_a_step_as_an_output() -> None:
    """It requires grad, through a comparison that has no gradient."""
    model = type("M", (Base,), {"forward": lambda self, x: Step.apply(self.lin(x))})()
    assert dynamo_lite.export(model, (torch.randn(2, 3),)).module()(torch.randn(2, 3)).requires_grad


@pytest.mark.parametrize("forward", [
    torch.no_grad()(lambda self, x: Round.apply(x) * 2),
    lambda self, x: Round.apply(x.detach()) * 2,
    lambda self, x: Round.apply(self.buffer) * x,
    lambda self, x: Round.apply(torch.arange(3.0)) * x,
])  # fmt: skip
def test_no_backward_where_no_gradient_is_possible(forward: Any) -> None:
    program = dynamo_lite.export(type("M", (Base,), {"forward": forward})(), (torch.randn(2, 3),))
    names = {str(node.target) for node in program.graph.nodes if node.op == "call_function"}
    assert "aten.round.default" in program.graph_module.print_readable(print_output=False)
    assert "autograd_function_apply" not in names


def _two_results(self: Base, x: Tensor) -> Any:
    return Round.apply(self.lin(x)), 5, self.lin(x)


def _under_no_grad(model: nn.Module) -> Any:
    with torch.no_grad():
        return dynamo_lite.export(model, (torch.randn(2, 3),))


def _loaded(program: Any) -> Any:
    file = io.BytesIO()
    dynamo_lite.save(program, file)
    file.seek(0)
    return dynamo_lite.load(file)


@pytest.mark.parametrize(("make", "why"), [
    (_under_no_grad, "exported under torch.no_grad"),
    (lambda model: _loaded(_under_no_grad(model)), "exported under torch.no_grad"),
    (lambda model: dynamo_lite.export(model, (torch.randn(2, 3),)).run_decompositions(), "run_decompositions"),
    (lambda model: _under_no_grad(model).run_decompositions(), "exported under torch.no_grad"),
])  # fmt: skip
def test_a_program_without_the_backward_refuses_that_gradient(make: Any, why: str) -> None:
    """It is called with gradients, computes what eager computes, and raises for that gradient alone."""
    model = type("M", (Base,), {"forward": _two_results})()
    program = make(model)
    assert "autograd_function_apply" not in program.graph_module.print_readable(print_output=False)
    for module in (program.module(), copy.deepcopy(program.module())):
        x = torch.randn(2, 3)
        results = module(x)
        torch.testing.assert_close(results, model(x))
        results[2].sum().backward(retain_graph=True)
        with pytest.raises(LostGradient, match=why):
            results[0].sum().backward()


class Saves(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 3 * gradient * x


class Counts(torch.autograd.Function):
    """Its backward changes a Python object: it is not part of the program."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * x

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        LOG.append("backward")
        return gradient


def _the_other_side_changes_what_was_saved(x: Tensor) -> Tensor:
    h = x * 1
    if x.sum() > 0:
        return Saves.apply(h)
    h.add_(1)
    return h * 2


def _a_side_changes_what_it_saved(x: Tensor) -> Tensor:
    h = x * 1
    if x.sum() > 0:
        y = Saves.apply(h)
        h.add_(1)
        return y
    return h * 2


def _saved_in_each_round(x: Tensor) -> Tensor:
    for _ in range(3):
        y = Saves.apply(x)
        if y.sum() > 5:
            break
        x = x + y
    return x


def _gradient(program: Any, x: Tensor) -> Any:
    x = x.clone().requires_grad_()
    try:
        program(x).sum().backward()
    except RuntimeError:
        return "raises"
    return x.grad


@pytest.mark.parametrize("program", [
    _the_other_side_changes_what_was_saved, _a_side_changes_what_it_saved, _saved_in_each_round,
])  # fmt: skip
@pytest.mark.parametrize("sign", [1, -1])
def test_what_is_saved_on_a_side_is_judged_on_that_side(program: Any, sign: int) -> None:
    exported = dynamo_lite.export(program, ((sign * torch.ones(3)).requires_grad_(),)).module()
    for x in (torch.rand(3), -torch.rand(3), 3 * torch.rand(3)):
        expected, found = _gradient(program, x), _gradient(exported, x)
        assert (expected == found) if isinstance(expected, str) else torch.allclose(expected, found)


def test_a_backward_that_is_left_out_raises_on_its_own_side_alone() -> None:
    def program(x: Tensor) -> Tensor:
        return Counts.apply(x) if x.sum() > 0 else x * 2

    exported = dynamo_lite.export(program, (torch.ones(3).requires_grad_(),)).module()
    assert torch.equal(_gradient(exported, -torch.ones(3)), torch.full((3,), 2.0))
    with pytest.raises(RuntimeError, match="not part of the exported program"):
        exported(torch.ones(3).requires_grad_()).sum().backward()


@pytest.mark.parametrize("create_graph", [False, True])
def test_autograd_grad_through_a_function_that_saves_nothing(create_graph: bool) -> None:
    """The sub-graph of its backward has a placeholder that it does not use; the call within the program lacked it."""

    class Penalty(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.linspace(-1, 1, 3))

        def forward(self, x: Tensor) -> Tensor:
            y = Round.apply(x * self.weight)
            (gradient,) = torch.autograd.grad(y.square().sum(), self.weight, create_graph=create_graph)
            return y + gradient

    module, x = Penalty(), torch.linspace(-2, 3, 3)
    program = dynamo_lite.export(module, (x,))
    for at in (x, -x, x * 3):
        torch.testing.assert_close(program.module()(at), module(at))
