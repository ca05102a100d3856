"""`backward()` in forward: what is accumulated into `.grad`, against eager."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import dynamo_lite

from .harness import Step, compare, follow, made, mlp, rows
from .test_optimizers import FRESH


class ByHand(Step):
    def forward(self, x: Tensor) -> Tensor:
        for parameter in self.net.parameters():
            parameter.grad = None
        loss = self.loss(x)
        torch.autograd.backward(loss)
        with torch.no_grad():
            for parameter in self.net.parameters():
                assert parameter.grad is not None
                parameter.sub_(0.1 * parameter.grad)
        return loss.detach()


class MicroBatches(Step):
    def forward(self, x: Tensor) -> Any:
        self.optimizer.zero_grad()
        total, held = torch.zeros(()), None
        for part in x.chunk(3):
            loss = self.loss(part) / 3
            loss.backward()
            held = held if held is not None else self.net[0].weight.grad  # type: ignore[index]
            total = total + loss.detach()
        self.optimizer.step()
        return total, held  # the first gradient is added to in place


class TwoLosses(Step):
    def forward(self, x: Tensor) -> Any:
        self.optimizer.zero_grad()
        y = self.net(x)
        first, second = y.pow(2).mean(), y.abs().mean()
        first.backward(retain_graph=True)
        second.backward()
        self.optimizer.step()
        return first.detach(), second.detach()


class OfSome(Step):
    """inputs= and gradient=: the other parameters have no gradient, and the optimizer leaves them."""

    def forward(self, x: Tensor) -> Any:
        self.optimizer.zero_grad()
        y = self.net(x)
        weight = self.net[0].weight  # type: ignore[index]
        torch.autograd.backward([y, y.sum()], [torch.ones_like(y), None], inputs=[weight])
        y2 = self.net(x)
        y2.backward(gradient=x.sum() * torch.ones_like(y2), inputs=weight)
        self.optimizer.step()
        return y.detach(), weight.grad, self.net[0].bias.grad is None  # type: ignore[index]


class GradientPenalty(Step):
    def loss(self, x: Tensor) -> Tensor:
        at = x.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(self.net(at).sum(), at, create_graph=True)
        return self.net(x).mean() + ((gradient.norm(dim=1) - 1) ** 2).mean()


class SecondOrder(Step):
    """create_graph=True: the gradients are part of the next loss."""

    def forward(self, x: Tensor) -> Tensor:
        self.optimizer.zero_grad()
        loss = self.loss(x)
        loss.backward(create_graph=True)
        norm = sum(p.grad.pow(2).sum() for p in self.net.parameters() if p.grad is not None)
        self.optimizer.zero_grad()
        (loss + norm).backward()
        self.optimizer.step()
        return loss.detach()


class SameGradientTwice(Step):
    """a + b: both have one gradient, which eager copies; clipping one must not change the other."""

    def __init__(self) -> None:
        super().__init__(nn.ParameterList([nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))]))

    def forward(self, x: Tensor) -> Any:
        self.optimizer.zero_grad()
        a, b = self.net  # type: ignore[misc]
        given = x[0].clone()
        (a + b).backward(gradient=given)
        a.grad.mul_(3)
        given.add_(1)
        return a.grad + 0, b.grad + 0, given


class Clipped(Step):
    def forward(self, x: Tensor) -> Any:
        self.optimizer.zero_grad()
        loss = self.loss(x)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.net.parameters(), 0.1)
        nn.utils.clip_grad_value_(self.net.parameters(), 0.01)
        self.optimizer.step()
        return loss.detach(), norm


class Checkpointed(Step):
    def loss(self, x: Tensor) -> Tensor:
        return checkpoint(self.net, x, use_reentrant=False).pow(2).mean()  # type: ignore[no-any-return]


class Averaged(Step):
    """An average of the weights, by operators in place."""

    def __init__(self) -> None:
        super().__init__(mlp())
        self.average = mlp().requires_grad_(False)

    def forward(self, x: Tensor) -> Any:
        loss = super().forward(x)
        with torch.no_grad():
            for mean, parameter in zip(self.average.parameters(), self.net.parameters()):
                mean.lerp_(parameter, 0.1)
        return loss


class TiedAndFrozen(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.frozen, self.last = (nn.Linear(3, 3) for _ in range(3))
        self.last.weight = self.first.weight
        self.frozen.requires_grad_(False)
        self.optimizer = torch.optim.SGD(self.parameters(), lr=0.1)

    def forward(self, x: Tensor) -> Tensor:
        self.optimizer.zero_grad()
        loss = self.last(self.frozen(self.first(x)).tanh()).pow(2).mean()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


class Adversarial(nn.Module):
    """Two models and two optimizers: gradients of one step reach the other model, and are dropped there."""

    def __init__(self) -> None:
        super().__init__()
        self.maker, self.judge = nn.Linear(3, 3), nn.Linear(3, 1)
        self.optimizer = torch.optim.SGD(self.judge.parameters(), lr=0.1)
        self.other = torch.optim.SGD(self.maker.parameters(), lr=0.1)

    def forward(self, x: Tensor) -> Any:
        self.optimizer.zero_grad()
        made = self.maker(x)
        of_judge = self.judge(made.detach()).sigmoid().mean() - self.judge(x).sigmoid().mean()
        of_judge.backward()
        self.optimizer.step()
        self.other.zero_grad()
        of_maker = -self.judge(made).sigmoid().mean()
        of_maker.backward()
        self.other.step()
        return of_judge.detach(), of_maker.detach()


class InPlaceBeforeIt(Step):
    def loss(self, x: Tensor) -> Tensor:
        y = self.net(x)
        y[:, 0].mul_(2)
        y += 1
        return y.view(-1)[::2].pow(2).mean()


class WithDropout(Step):
    def loss(self, x: Tensor) -> Tensor:
        return nn.functional.dropout(self.net(x), 0.5).pow(2).mean()


class ByClosure(Step):
    def forward(self, x: Tensor) -> Any:
        def closure() -> Tensor:
            self.optimizer.zero_grad()
            loss = self.loss(x)
            loss.backward()
            return loss

        return self.optimizer.step(closure).detach()  # type: ignore[arg-type, union-attr]


class GradOfIterable(Step):
    """torch.autograd.grad takes any iterable of tensors: an iterator of parameters, the values of a dict."""

    def forward(self, x: Tensor) -> Tensor:
        first = torch.autograd.grad(self.loss(x), self.net.parameters())  # type: ignore[arg-type]
        named = dict(self.net.named_parameters())
        second = torch.autograd.grad((self.loss(-x) for _ in range(1)), named.values())  # type: ignore[arg-type]
        with torch.no_grad():
            for parameter, one, other in zip(named.values(), first, second):
                parameter.sub_(one + other, alpha=0.1)
        return self.loss(x).detach()


STEPS: dict[str, Callable[[], nn.Module]] = {
    "plain": lambda: Step(mlp()),
    "by hand": lambda: ByHand(mlp()),
    "micro-batches": lambda: MicroBatches(mlp()),
    "two losses": lambda: TwoLosses(mlp()),
    "of some": lambda: OfSome(mlp()),
    "gradient penalty": lambda: GradientPenalty(mlp()),
    "second order": lambda: SecondOrder(mlp()),
    "one gradient of two": SameGradientTwice,
    "clipped": lambda: Clipped(mlp()),
    "checkpointed": lambda: Checkpointed(mlp()),
    "averaged": Averaged,
    "tied and frozen": TiedAndFrozen,
    "adversarial": Adversarial,
    "in place": lambda: InPlaceBeforeIt(mlp()),
    "dropout": lambda: WithDropout(mlp()),
    "closure": lambda: ByClosure(mlp()),
    "iterables": lambda: GradOfIterable(mlp()),
}


@pytest.mark.parametrize("name", STEPS)
def test_twenty_steps_equal_eager(name: str) -> None:
    compare(STEPS[name])


class ZeroedAfter(Step):
    def __init__(self, set_to_none: bool) -> None:
        super().__init__(mlp())
        self.set_to_none = set_to_none

    def forward(self, x: Tensor) -> Tensor:
        loss = self.loss(x)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=self.set_to_none)
        return loss.detach()


class ZeroedInPlace(Step):
    def forward(self, x: Tensor) -> Tensor:
        self.optimizer.zero_grad(set_to_none=False)
        loss = self.loss(x)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


class NeverZeroed(Step):
    def forward(self, x: Tensor) -> Tensor:
        loss = self.loss(x)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


@pytest.mark.parametrize("before", [0, 1])
def test_gradients_that_are_reset_are_scratch(before: int) -> None:
    compare(lambda: Step(mlp()), before=before)
    compare(lambda: ZeroedAfter(True), before=before)


@pytest.mark.parametrize("make", [lambda: ZeroedAfter(False), lambda: ZeroedInPlace(mlp()), lambda: NeverZeroed(mlp())])
def test_gradients_that_are_kept_are_buffers(make: Callable[[], nn.Module]) -> None:
    program = compare(make, before=1)
    names = {f"grad.{name}" for name in program.state_dict if name.startswith("net.")}
    assert names and names <= set(program.state_dict)


@pytest.mark.parametrize("make", [lambda: ZeroedAfter(False), lambda: ZeroedInPlace(mlp()), lambda: NeverZeroed(mlp())])
@pytest.mark.parametrize("optimizer", [None, "undamped", "adam"])
def test_gradients_that_the_first_call_makes_are_buffers_where_later_ones_read_them(
    make: Callable[[], nn.Module], optimizer: str | None
) -> None:
    def fresh() -> nn.Module:
        module: Any = make()
        if optimizer is not None:
            module.optimizer = FRESH[optimizer](module.net.parameters())
        return module

    program = compare(fresh)
    with pytest.raises(dynamo_lite.UnsupportedEffect) as caught:
        dynamo_lite.export(fresh(), rows(0), effects="exact")
    assert caught.value.id == "gradient-left"
    assert "grad.net.0.weight" in program.state_dict
    notes = dynamo_lite.trace(fresh(), rows(0)).notes
    assert [text for text in notes if "begins with gradients of zero" in text]
    saved = io.BytesIO()
    torch.export.save(dynamo_lite.export(fresh(), rows(0)), saved)
    saved.seek(0)
    torch.manual_seed(0)
    eager, run = fresh(), torch.export.load(saved).module()
    run.load_state_dict(eager.state_dict(), strict=False)
    follow(run, eager, rows, range(5))


def test_a_guard_is_on_gradients_that_the_program_begins_with() -> None:
    module: Any = NeverZeroed(mlp())
    trace = dynamo_lite.trace(module, rows(0))
    assert trace.guards.check(module, rows(0)) is None
    module.net[0].weight.grad = torch.ones_like(module.net[0].weight)
    assert "grad is None" in str(trace.guards.check(module, rows(0)))


class DecaysWhatHasNone(Step):
    """What a gradient of None and one of zero do is not the same to an optimizer with weight decay."""

    def forward(self, x: Tensor) -> Any:
        self.optimizer.zero_grad(set_to_none=False)
        loss = self.net[0](x).pow(2).mean()  # type: ignore[index]
        if self.net[2].weight.grad is not None:  # type: ignore[index]
            loss = self.loss(x)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


class AsksForNone(Step):
    def forward(self, x: Tensor) -> Any:
        was_none = self.net[0].weight.grad is None  # type: ignore[index]
        loss = self.loss(x)
        loss.backward()
        self.optimizer.step()
        return loss.detach() + was_none


@pytest.mark.parametrize("before", [0])
def test_gradients_whose_absence_is_asked_for_are_refused(before: int) -> None:
    with pytest.raises(dynamo_lite.UnsupportedEffect, match="call zero_grad") as caught:
        dynamo_lite.export(made(lambda: AsksForNone(mlp()), rows, before), rows(0))
    assert caught.value.id == "kept-gradient"


def test_parameters_without_gradients_are_left() -> None:
    decays = lambda parameters: torch.optim.SGD(parameters, lr=0.1, weight_decay=0.5)  # noqa: E731
    compare(lambda: DecaysWhatHasNone(mlp(), decays))


def test_gradients_that_a_step_leaves_are_noted() -> None:
    trace = dynamo_lite.trace(Step(mlp()), rows(0))
    (note,) = [text for text in trace.notes if ".grad" in text and "leaves" in text]
    assert "net.0.weight" in note
    assert not [text for text in dynamo_lite.trace(ZeroedAfter(True), rows(0)).notes if ".grad" in text]
    with pytest.raises(dynamo_lite.UnsupportedEffect) as caught:
        dynamo_lite.export(Step(mlp()), rows(0), effects="exact")
    assert caught.value.id == "gradient-left"
    dynamo_lite.export(ZeroedAfter(True), rows(0), effects="exact")


@pytest.mark.parametrize("before", [0, 1])
def test_a_guard_is_on_the_gradients_that_a_step_begins_with(before: int) -> None:
    """A gradient that other code has left is added to in eager, and not in the program."""
    module = made(lambda: ZeroedAfter(True), rows, before)
    trace = dynamo_lite.trace(module, rows(0))
    assert trace.guards.check(module, rows(0)) is None
    module(*rows(0))
    assert trace.guards.check(module, rows(0)) is None
    module.net[0].weight.grad = torch.ones_like(module.net[0].weight)
    assert "grad is None" in str(trace.guards.check(module, rows(0)))


def test_a_guard_is_on_the_gradients_that_are_buffers() -> None:
    module = made(lambda: NeverZeroed(mlp()), rows, 1)
    trace = dynamo_lite.trace(module, rows(0))
    module(*rows(0))
    assert trace.guards.check(module, rows(0)) is None
    module.net[0].weight.grad = torch.ones_like(module.net[0].weight)
    assert "grad" in str(trace.guards.check(module, rows(0)))


class Descriptor(Step):
    def forward(self, x: Tensor) -> Any:
        for parameter in self.net.parameters():
            torch.Tensor.grad.__set__(parameter, None)  # type: ignore[attr-defined]
        self.loss(x).backward()
        with torch.no_grad():
            for parameter in self.net.parameters():
                parameter.sub_(torch.Tensor.grad.__get__(parameter))  # type: ignore[attr-defined]
        del parameter.grad
        return parameter.grad is None, hasattr(parameter, "grad")


def test_the_descriptor_of_grad_is_the_attribute() -> None:
    compare(lambda: Descriptor(mlp()), before=1)


def test_a_function_may_be_the_step() -> None:
    def made() -> tuple[nn.Module, Callable[[Tensor], Tensor]]:
        torch.manual_seed(0)
        model = mlp()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def step(x: Tensor) -> Tensor:
            optimizer.zero_grad()
            loss = model(x).pow(2).mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        return model, step

    (model, step), (other, eager) = made(), made()
    run = dynamo_lite.export(step, rows(0)).module()
    for call in range(20):
        torch.testing.assert_close(run(*rows(call)), eager(*rows(call)))
    for ours, expected in zip(model.parameters(), other.parameters()):
        torch.testing.assert_close(ours, expected)  # the program's parameters are the caller's


def _input(x: Tensor) -> Tensor:
    (x * x).sum().backward()
    assert x.grad is not None
    return x.grad + 1


def _input_reset(x: Tensor) -> Tensor:
    (x * x).sum().backward()
    gradient = x.grad
    assert gradient is not None
    x.grad = None
    return gradient


def test_the_gradient_of_an_argument_is_refused_if_it_is_left() -> None:
    x = torch.randn(3, requires_grad=True)
    with pytest.raises(dynamo_lite.UnsupportedEffect) as caught:
        dynamo_lite.export(_input, (x,))
    assert caught.value.id == "input-gradient"
    run = dynamo_lite.export(_input_reset, (x,)).module()
    assert x.grad is None
    torch.testing.assert_close(run(x), _input_reset(x))


class InABranch(Step):
    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            self.loss(x).backward()
        return x


def _doubled(gradient: Tensor) -> Tensor:
    return gradient * 2


class Asks(nn.Module):
    """The gradient of its weight, or of its argument."""

    def __init__(self, of_weight: bool) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 4)
        self.of_weight = of_weight

    def forward(self, x: Tensor) -> Tensor:
        return torch.autograd.grad(self.lin(x).pow(2).sum(), [self.lin.weight if self.of_weight else x])[0]


@pytest.mark.parametrize("of_weight", [True, False])
def test_hooks_from_outside_are_refused_by_autograd_grad(of_weight: bool) -> None:
    """The fake tensor of a parameter or an argument does not have its hooks: the program left out what they change."""
    module, x = Asks(of_weight), torch.ones(2, 3, requires_grad=True)
    program = dynamo_lite.export(module, (x,))
    torch.testing.assert_close(program.module()(x), module(x))
    (module.lin.weight if of_weight else x).register_hook(_doubled)
    with pytest.raises(dynamo_lite.GraphBreak) as caught:
        dynamo_lite.export(module, (x,))
    assert caught.value.id == "gradient-hook"


@pytest.mark.parametrize("make", [lambda: Asks(True), lambda: Step(mlp())], ids=["grad", "backward"])
def test_a_guard_is_on_the_hooks_of_parameters(make: Callable[[], nn.Module]) -> None:
    module, args = make(), rows(0)
    module(*args)
    trace = dynamo_lite.trace(module, args)
    assert trace.guards.check(module, args) is None
    for parameter in module.parameters():
        parameter.register_hook(_doubled).remove()
    assert trace.guards.check(module, args) is None
    next(module.parameters()).register_hook(_doubled)
    assert trace.guards.check(module, args) is not None


def test_hooks_that_do_not_run_are_allowed() -> None:
    module, x = Asks(True), torch.ones(2, 3)
    module.lin.weight.register_post_accumulate_grad_hook(lambda parameter: None)  # autograd.grad accumulates nothing
    module.lin.bias.register_hook(_doubled)
    torch.testing.assert_close(dynamo_lite.export(module, (x,)).module()(x), module(x))


def test_backward_in_a_branch_on_data_is_refused() -> None:
    with pytest.raises(dynamo_lite.DynamoLiteError):
        dynamo_lite.export(InABranch(mlp()), rows(0))


class NotAScalar(Step):
    def loss(self, x: Tensor) -> Tensor:
        return self.net(x)  # type: ignore[no-any-return]


def test_what_eager_raises_is_raised() -> None:
    cases = [
        (NotAScalar(mlp()), "grad can be implicitly created only for scalar outputs"),
        (ByHand(mlp().requires_grad_(False)), "does not require grad and does not have a grad_fn"),
    ]
    for step, text in cases:
        for call in (step, lambda x, step=step: dynamo_lite.export(step, (x,))):
            with pytest.raises(RuntimeError, match=text):
                call(*rows(0))


def test_a_value_that_does_not_fit_is_eagers_error() -> None:
    for value, error in ((3, TypeError), (torch.ones(2), RuntimeError)):
        parameter = nn.Parameter(torch.ones(3))

        def step(x: Tensor, value: Any = value, parameter: nn.Parameter = parameter) -> Tensor:
            parameter.grad = value
            return x

        with pytest.raises(error) as expected:
            step(torch.ones(3))
        with pytest.raises(error) as raised:
            dynamo_lite.export(step, (torch.ones(3),))
        assert str(raised.value) == str(expected.value)


def _kept(use: Callable[[nn.Module], Any]) -> type[nn.Module]:
    class Kept(Step):
        """Adds to the gradients of the last call, which `use` may see before they are reset."""

        def forward(self, x: Tensor) -> Any:
            self.loss(x).backward()
            seen = use(self.net)
            self.net.zero_grad()
            loss = self.loss(x)
            loss.backward()
            self.optimizer.step()
            return loss.detach(), seen

    return Kept


def test_gradients_of_the_last_call_that_are_reset_before_they_are_used() -> None:
    compare(lambda: _kept(lambda net: None)(mlp()))


USES: dict[str, Callable[[Any], Any]] = {
    "returned": lambda net: net[0].weight.grad.clone(),
    "norm": lambda net: nn.utils.clip_grad_norm_(net.parameters(), 1.0),
}


@pytest.mark.parametrize("name", ["returned", "norm"])
def test_gradients_of_the_last_call_that_are_used_are_refused(name: str) -> None:
    with pytest.raises(dynamo_lite.UnsupportedEffect) as caught:
        dynamo_lite.export(_kept(USES[name])(mlp()), rows(0))
    assert caught.value.id == "kept-gradient"


class _Routed(nn.Module):
    """Experts on the rows that chose them, which may be none."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.experts = nn.Linear(3, 2), nn.ModuleList(nn.Linear(3, 3) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        weight, chosen = self.gate(x).softmax(-1).max(-1)
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            mine = chosen == number
            out[mine] = expert(x[mine]) * weight[mine][:, None]
        return out


def test_rows_that_the_data_choose_may_be_none() -> None:
    """The recorder's own look at strides, within the engine, counted as the program's: it demanded elements."""

    def inputs(call: int) -> tuple[Tensor]:
        (x,) = rows(call)
        return (x[:1].repeat(6, 1) if call % 2 else x,)  # equal rows choose one expert

    compare(lambda: Step(_Routed()), inputs)
