"""What a captured branch or loop changes in place requires grad as in eager, and both its backwards work."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import dynamo_lite
from dynamo_lite.errors import GraphBreak

PROGRAMS: dict[str, type[nn.Module]] = {}
INPUTS = tuple(torch.tensor(row) for row in ([1.0, 3.0], [-1.0, -3.0], [1.0, 2.0], [-1.0, 2.0]))


class _Averages(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.tensor([1.0, 2.0]))
        self.v = nn.Parameter(torch.tensor([0.5, 0.25]))
        self.register_buffer("ema", torch.zeros(2))


def program(forward: Callable[..., Any]) -> Callable[..., Any]:
    name = forward.__name__
    PROGRAMS[name] = type(name, (_Averages,), {"forward": forward})
    return forward


@program
def detached(self: Any, x: Tensor) -> Tensor:
    h = x * self.w
    if h.sum() > 0:
        self.ema.mul_(0.9).add_(h.detach(), alpha=0.1)
    return h * 2


@program
def under_no_grad(self: Any, x: Tensor) -> Tensor:
    h = x * self.w
    if h.sum() > 0:
        with torch.no_grad():
            self.ema.mul_(0.9).add_(h)
    return h * 2


@program
def data_copied(self: Any, x: Tensor) -> Tensor:
    h = x * self.w
    if h.sum() > 0:
        self.ema.copy_(h.data)
    else:
        self.ema.lerp_(h.detach(), 0.1)
    return h * 2


@program
def item_assigned(self: Any, x: Tensor) -> Tensor:
    h = x * self.w
    if h.sum() > 0:
        self.ema[0] = h.detach()[1]
    return h * 2


@program
def through_a_view(self: Any, x: Tensor) -> Tensor:
    h = x * self.w
    if h.sum() > 0:
        self.ema[:1].add_(h.detach()[:1])
    return h * self.ema


@program
def with_out(self: Any, x: Tensor) -> Tensor:
    h = x * self.w
    if h.sum() > 0:
        torch.add(self.ema, h.detach(), out=self.ema)
    return h


@program
def an_input(self: Any, x: Tensor) -> Tensor:
    h = x * self.w
    if h.sum() > 0:
        x.add_(h.detach())
    return x * self.w


@program
def a_local(self: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    h = x * self.w
    y = x.clone()
    if h.sum() > 0:
        y.add_(h.detach())
    return h * y, y


@program
def parameter_on_the_other_side(self: Any, x: Tensor) -> Tensor:
    y = x * 1
    if x.sum() > 0:
        self.ema.add_(x)
    else:
        y = y * self.w
    return y * self.w


@program
def within_one_another(self: Any, x: Tensor) -> Tensor:
    h = x * self.w
    if h.sum() > 0:
        if h.max() > 3:
            self.ema.add_(h.detach())
        else:
            self.ema.sub_(h.detach())
    return h * 2


@program
def read_behind(self: Any, x: Tensor) -> Tensor:
    h = x * self.w
    if h.sum() > 0:
        self.ema.add_(h.detach())
    if h.max() > 2:
        h = h + self.ema
    return h


@program
def returned_from(self: Any, x: Tensor) -> Tensor:
    h = x * self.w
    if h.sum() > 0:
        self.ema.add_(h.detach())
        return h
    return h * 3


@program
def in_a_loop_over_a_range(self: Any, x: Tensor) -> Tensor:
    h = x * self.w
    for _ in range(20):
        self.ema.add_(h.detach())
        if self.ema.sum() > 10:
            break
    return h


@program
def in_a_while(self: Any, x: Tensor) -> Tensor:
    h = x.abs() * self.w
    while self.ema.sum() < 10:
        self.ema.add_(h.detach())
    return h


@program
def in_a_while_with_a_gradient(self: Any, x: Tensor) -> Tensor:
    h = x.abs() * self.w
    while h.sum() < 10:
        h = h * 2
        self.ema.add_(h.detach())
    return h


@program
def parameter_changed(self: Any, x: Tensor) -> Tensor:
    if x.sum() > 0:
        with torch.no_grad():
            self.w.mul_(0.9)
    return x * self.w


def _calls(call: nn.Module, inputs: Sequence[Tensor]) -> list[Any]:
    """Of each call: the outputs, what the state is after it, and the gradients of a backward."""
    found: list[Any] = []
    for x in inputs:
        for parameter in call.parameters():
            parameter.grad = None
        x = x.clone()
        result = call(x)
        outputs = result if isinstance(result, tuple) else (result,)
        sum(((output * (n + 1.5)).sum() for n, output in enumerate(outputs)), torch.zeros(())).backward()
        state = [*sorted(call.named_buffers()), *sorted(call.named_parameters())]
        seen = [*outputs, x, *(tensor for _, tensor in state)]
        found.append([(tensor.requires_grad, tensor.is_leaf, tensor.detach().clone()) for tensor in seen])
        grads = [parameter.grad for _, parameter in sorted(call.named_parameters())]
        found.append([torch.zeros(2) if grad is None else grad.clone() for grad in grads])
    return found


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("first", range(2))
def test_state_requires_grad_as_in_eager(name: str, first: int) -> None:
    module = PROGRAMS[name]()
    eager = copy.deepcopy(module)
    trace = dynamo_lite.trace(module, (INPUTS[first].clone(),))
    torch.testing.assert_close(_calls(trace.program.module(), INPUTS), _calls(eager, INPUTS))
    assert trace.guards.check(module, (INPUTS[first].clone(),)) is None


def test_other_inputs_may_require_grad() -> None:
    """What is detached on both sides has no gradient in any call, so that no call has to be rejected."""
    module = PROGRAMS["detached"]()
    made = dynamo_lite.export(copy.deepcopy(module), (INPUTS[0].clone(),)).module()
    grads = []
    for call in (made, module):
        x = INPUTS[0].clone().requires_grad_()
        call(x).sum().backward()
        grads.append(x.grad)
    torch.testing.assert_close(*grads)


def test_exported_under_no_grad() -> None:
    module = PROGRAMS["detached"]()
    with torch.no_grad():
        made = dynamo_lite.export(copy.deepcopy(module), (INPUTS[0].clone(),)).module()
    torch.testing.assert_close(_calls(made, INPUTS), _calls(module, INPUTS))


class _OneSideOnly(_Averages):
    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            self.ema.add_(x * self.w)
        return x * self.w


class _InIterations(_Averages):
    def forward(self, x: Tensor) -> Tensor:
        while self.ema.sum() < 10:
            self.ema.add_(x.abs() * self.w)
        return x * self.w


@pytest.mark.parametrize("kind", [_OneSideOnly, _InIterations])
def test_state_that_requires_grad_on_one_side_is_changed_under_no_grad_only(kind: type[nn.Module]) -> None:
    module = kind()
    trace = dynamo_lite.trace(copy.deepcopy(module), (INPUTS[0].clone(),))
    assert any("no_grad" in note and "requires grad depends on the data" in note for note in trace.notes)
    made = trace.program.module()
    with pytest.raises(Exception, match=r"not torch.is_grad_enabled\(\)"):
        made(INPUTS[0].clone())
    with torch.no_grad():
        for x in INPUTS:
            torch.testing.assert_close(made(x.clone()), module(x.clone()))
            torch.testing.assert_close(made.ema, module.ema)


class _AsksInIterations(nn.Module):
    """The first iteration begins with a tensor that does not require grad, the others with one that does."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))

    def forward(self, x: Tensor) -> Tensor:
        h = torch.zeros(2)
        for row in x:
            if h.requires_grad:
                h = h + 100
            h = h + row * self.w
        return h


def test_a_question_that_a_later_round_answers_otherwise_is_refused() -> None:
    with pytest.raises(GraphBreak) as refusal:
        dynamo_lite.export(_AsksInIterations(), (torch.ones(3, 2),), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},))
    assert refusal.value.id == "branch-unsupported"


# -- sides whose own backward eager refuses ----------------------------------------------------------------------------

SAVED: dict[str, type[nn.Module]] = {}


def saved(forward: Callable[..., Any]) -> Callable[..., Any]:
    SAVED[forward.__name__] = type(forward.__name__, (_Averages,), {"forward": forward})
    return forward


@saved
def written_by_its_own_memory(self: Any, x: Tensor) -> Tensor:
    y = x * self.w
    if y.sum() > 0:
        y.mul_(y.detach())
    else:
        y.sin_()
    return y


@saved
def written_by_itself(self: Any, x: Tensor) -> Tensor:
    y = x * self.w
    if y.sum() > 0:
        y.mul_(y)
    else:
        y.exp_()
    return y * 2


@saved
def operand_changed(self: Any, x: Tensor) -> Tensor:
    y = x * self.w
    if y.sum() > 0:
        z = y.sin()
        y.add_(1)
    else:
        z = y * 2
    return y + z


@saved
def result_changed(self: Any, x: Tensor) -> Tensor:
    y = x * self.w
    if y.sum() > 0:
        z = y.exp()
        z.add_(1)
    else:
        z = y * 2
    return y + z


@saved
def result_in_place_changed(self: Any, x: Tensor) -> Tensor:
    y = x * self.w
    if y.sum() > 0:
        y.exp_()
        y.add_(1)
    else:
        y.sigmoid_()
    return y


@saved
def view_changed(self: Any, x: Tensor) -> Tensor:
    y = x * self.w
    if y.sum() > 0:
        z = y[:1] * self.v
        y.mul_(2)
    else:
        z = y.cos()
    return y + z.sum()


@saved
def one_of_several_results_changed(self: Any, x: Tensor) -> Tensor:
    y = x * self.w
    if y.sum() > 0:
        values, _ = y.max(0, keepdim=True)
        values.add_(1)
        y.mul_(y.detach())
    else:
        values = y.cos()[:1]
    return y + values.sum()


@saved
def in_a_branch_within(self: Any, x: Tensor) -> Tensor:
    y = x * self.w
    if y.sum() > 0:
        if y.max() > 2:
            y.mul_(y.detach())
        else:
            y.sin_()
    return y


def _backward(call: nn.Module, x: Tensor) -> list[Tensor] | None:
    """The result, and the gradients; None if the backward is refused."""
    for parameter in call.parameters():
        parameter.grad = None
    result = call(x.clone())
    try:
        result.sum().backward()
    except RuntimeError:
        return None
    grads = [parameter.grad for _, parameter in sorted(call.named_parameters())]
    return [result.detach(), *(torch.zeros(2) if grad is None else grad for grad in grads)]


@pytest.mark.parametrize("name", SAVED)
def test_a_side_does_not_take_the_backward_of_the_other_away(name: str) -> None:
    module = SAVED[name]()
    made = dynamo_lite.export(copy.deepcopy(module), (INPUTS[0].clone(),)).module()
    refused = 0
    for x in INPUTS:
        expected, found = _backward(module, x), _backward(made, x)
        refused += expected is None
        if expected is not None:
            torch.testing.assert_close(found, expected)
    assert 0 < refused < len(INPUTS)


class _OneSided(nn.Module):
    """Each parameter is used on some sides only."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Parameter(torch.ones(3)), nn.Parameter(torch.full((3,), 2.0))
        self.inner = nn.Parameter(torch.full((3,), 3.0))

    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            y = x * self.first
            if y.max() > 1:
                y = y * self.inner.exp()
        else:
            y = x * self.second
        return y


@pytest.mark.parametrize("way", ["module", "saved", "decomposed", "exported again"])
def test_a_parameter_of_the_other_side_has_no_gradient(way: str) -> None:
    """torch.cond gives it zeros, with which an optimizer changes it."""
    eager = _OneSided()
    program: Any = dynamo_lite.export(copy.deepcopy(eager), (torch.ones(3),))
    if way == "saved":
        file = io.BytesIO()
        dynamo_lite.save(program, file)
        file.seek(0)
        program = dynamo_lite.load(file)
    elif way == "decomposed":
        program = program.run_decompositions()
    elif way == "exported again":
        program = dynamo_lite.export(program.module(), (torch.ones(3),))
    module = program.module()
    optimizers = [torch.optim.AdamW(m.parameters(), lr=0.1, weight_decay=0.5) for m in (eager, module)]
    for x in (torch.ones(3) * 0.1, torch.ones(3) * 5, -torch.ones(3), torch.ones(3)):
        for each in (eager, module):
            each(x).square().sum().backward()
        found = [[None if p.grad is None else p.grad.clone() for p in m.parameters()] for m in (eager, module)]
        assert [gradient is None for gradient in found[0]] == [gradient is None for gradient in found[1]]
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        for own, other in zip(eager.parameters(), module.parameters()):
            torch.testing.assert_close(other, own)


def test_a_number_that_only_one_side_can_take() -> None:
    """With gradients, torch's cond traced the side that indexes on the number of the call: IndexError."""

    class Pick(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.linspace(-1, 1, 6))

        def forward(self, x: Tensor, n: Tensor) -> Tensor:
            k = n.item()
            y = x * self.weight
            return (y[k] if 0 <= k < 4 else self.weight * 3).sum()

    eager = Pick()
    module = dynamo_lite.export(copy.deepcopy(eager), (torch.ones(4, 6), torch.tensor(1))).module()
    for number in (0, 3, 9, -2):
        for each in (eager, module):
            each(torch.ones(4, 6), torch.tensor(number)).backward()
        torch.testing.assert_close(module.weight.grad, eager.weight.grad)


def test_what_traces_the_module_finds_the_operator() -> None:
    module = dynamo_lite.export(_OneSided(), (torch.ones(3),)).module()
    x = torch.randn(2, 3)
    expected = torch.stack([module(row) for row in x])
    with torch.no_grad():
        torch.testing.assert_close(torch.vmap(module)(x), expected)
    traced = torch.export.export(module, (torch.ones(3),))
    assert any(node.target is torch.ops.higher_order.cond for node in traced.graph.nodes)
    torch.testing.assert_close(traced.module()(-torch.ones(3)), module(-torch.ones(3)))


def test_a_gradient_transform_over_the_module() -> None:
    """torch's cond has no rule for torch.func.grad; the module takes the side, as eager's `if` does."""
    module = dynamo_lite.export(lambda x: (x * 2 if x.sum() > 0 else x**2).sum(), (torch.ones(3),)).module()
    for x in (torch.ones(3), -torch.ones(3)):
        expected = torch.full((3,), 2.0) if x[0] > 0 else 2 * x
        torch.testing.assert_close(torch.func.grad(module)(x), expected)
        torch.testing.assert_close(torch.func.jvp(module, (x,), (torch.ones(3),))[1], expected.sum())
