"""Loops whose gradient no operator gives: exported all the same, and not called where eager has a gradient."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim
from torch.utils import _pytree as pytree

import dynamo_lite
from tests.control_flow.harness import saved_and_loaded

KEPT: dict[str, tuple[type[nn.Module], tuple[Any, ...]]] = {}
"""Nothing that the user can get at has a gradient: calls with gradients are as in eager."""
LOST: dict[str, tuple[type[nn.Module], tuple[Any, ...]]] = {}
"""The calls are without gradients."""
OURS: dict[str, tuple[type[nn.Module], tuple[Any, ...]]] = {}
"""torch's scan raises an error for their gradient, which `program.module()` has."""

TOKENS = ((torch.tensor([[1, 2, 3]]),), (torch.tensor([[4, 0, 7]]),))
VECTORS = ((torch.ones(4),), (torch.ones(4) * 3,), (torch.ones(4) * 1e-3,))
ROWS = ((torch.ones(3, 4),), (torch.ones(5, 4) * 0.5,))
OPTIONS = {id(ROWS): {"dynamic_shapes": ({0: Dim.DYNAMIC},)}}


class _Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding, self.head = nn.Embedding(10, 4), nn.Linear(4, 10)
        self.layer, self.cell = nn.Linear(4, 4), nn.GRUCell(4, 4)
        self.register_buffer("last", torch.zeros(4))


def program(table: dict[str, Any], inputs: tuple[Any, ...]) -> Callable[..., Any]:
    def add(forward: Callable[..., Any]) -> Callable[..., Any]:
        name = forward.__name__
        table[name] = type(name, (_Model,), {"forward": forward}), inputs
        return forward

    return add


@program(KEPT, TOKENS)
def decodes_with_a_cache(self: Any, ids: Tensor) -> Tensor:
    cache = self.embedding(ids)
    for _ in range(64):
        new = self.head(self.layer(cache).mean(1)).argmax(-1, keepdim=True)
        ids = torch.cat([ids, new], 1)
        cache = torch.cat([cache, self.embedding(new)], 1)
        if (new == 5).all():
            break
    return ids


@program(KEPT, TOKENS)
def decodes_with_a_state(self: Any, ids: Tensor) -> Tensor:
    h, done = self.embedding(ids).mean(1), torch.zeros((), dtype=torch.bool)
    while ids.shape[1] < 50 and not done:
        h = self.cell(h, h)
        new = self.head(h).argmax(-1, keepdim=True)
        ids = torch.cat([ids, new], 1)
        done = (new == 5).all()
    return ids


@program(KEPT, VECTORS)
def counts(self: Any, x: Tensor) -> Any:
    n, y = 0, x
    while y.abs().sum() > 1:
        n += 1
        y = self.layer(y) / (n + 1)
    return n, y.argmax(), y.detach()


@program(KEPT, VECTORS)
def has_a_gradient_beside(self: Any, x: Tensor) -> Any:
    n, y = 0, x
    while y.abs().sum() > 1:
        n += 1
        y = self.layer(y) / (n + 1)
    return self.head(x) * (y > 0).float().sum()


@program(KEPT, VECTORS)
def keeps_a_detached_state(self: Any, x: Tensor) -> Any:
    n = 0
    while x.abs().sum() > 1:
        n += 1
        x = self.layer(x) / (n + 1)
        self.last.copy_(x.detach())
    return n


@program(KEPT, ROWS)
def picks_by_rows(self: Any, x: Tensor) -> Tensor:
    n, h = 0, torch.zeros(4)
    for row in x:
        n = n + (h.sum() > 0).long()
        h = self.layer(h + row) / (n + 1)
    return n


@program(LOST, TOKENS)
def gives_logits(self: Any, ids: Tensor) -> Any:
    h = self.embedding(ids).mean(1)
    for _ in range(40):
        h = self.cell(h, h)
        logits = self.head(h)
        new = logits.argmax(-1, keepdim=True)
        ids = torch.cat([ids, new], 1)
        if (new == 5).all():
            break
    return ids, logits


@program(OURS, VECTORS)
def divides_by_a_count(self: Any, x: Tensor) -> Any:
    n = 0
    while x.abs().sum() > 1:
        n += 1
        x = self.layer(x) / (n + 1)
    return x, n


@program(OURS, VECTORS)
def on_one_side(self: Any, x: Tensor) -> Tensor:
    n = 0
    if x.sum() > 5:
        while x.abs().sum() > 1:
            n += 1
            x = self.layer(x) / (n + 1)
    return x


@program(LOST, VECTORS)
def keeps_a_state(self: Any, x: Tensor) -> int:
    n = 0
    while x.abs().sum() > 1:
        n += 1
        x = self.layer(x) / (n + 1)
        self.last.copy_(x)
    return n


@program(OURS, VECTORS)
def assigns_a_state(self: Any, x: Tensor) -> int:
    n = 0
    while x.abs().sum() > 1:
        n += 1
        x = self.layer(x) / (n + 1)
    self.last = x * 2
    return n


@program(OURS, VECTORS)
def too_many_iterations_to_unroll(self: Any, x: Tensor) -> Tensor:
    n = 0
    for _ in range(60):
        x = self.layer(x) / (n + 1)
        n = n + 1
        if x.abs().sum() < 1:
            break
    return x


@program(OURS, ROWS)
def numbered_rows(self: Any, x: Tensor) -> Tensor:
    h = torch.zeros(4)
    for n, row in enumerate(x):
        h = self.layer(h + row) / (n + 1)
    return h


class _LoopOnOneSide(_Model):
    """The gradient that is lost on one side does not leave it."""

    def forward(self, x: Tensor) -> Tensor:
        h = self.layer(x)
        if x.sum() > 5:
            y, n = x, 0
            while y.abs().sum() > 1:
                n += 1
                y = self.layer(y) / (n + 1)
            h = h * (y > 0)
        return h


class _LoopInIterations(_Model):
    def forward(self, x: Tensor) -> tuple[Tensor, int]:
        total = 0
        while x.abs().sum() > 1:
            y, n = x, 0
            while y.abs().sum() > 1:
                n += 1
                y = self.layer(y) / (n + 1)
            total, x = total + n, x * 0.5
        return x, total


KEPT["on_one_side_only"] = (_LoopOnOneSide, VECTORS)
KEPT["in_iterations_of_another"] = (_LoopInIterations, VECTORS)


def _made(table: dict[str, Any], name: str) -> tuple[nn.Module, Any, tuple[Any, ...]]:
    kind, inputs = table[name]
    module = kind()
    trace = dynamo_lite.trace(copy.deepcopy(module), copy.deepcopy(inputs[0]), **OPTIONS.get(id(inputs), {}))
    return module, trace, inputs


def _equal_without_gradients(ours: nn.Module, module: nn.Module, inputs: tuple[Any, ...]) -> None:
    with torch.no_grad():
        for args in inputs:
            torch.testing.assert_close(ours(*copy.deepcopy(args)), module(*copy.deepcopy(args)))
            torch.testing.assert_close(ours.last, module.last)


@pytest.mark.parametrize("name", KEPT)
def test_what_has_no_gradient_in_eager_is_called_with_gradients(name: str) -> None:
    module, trace, inputs = _made(KEPT, name)
    assert not any("under torch.no_grad() only" in note for note in trace.notes)
    ours = trace.program.module()
    for args in inputs:
        found = []
        for call in (ours, module):
            result = call(*copy.deepcopy(args))
            leaves = result if isinstance(result, tuple) else (result,)
            tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
            for tensor in tensors:
                if tensor.requires_grad:
                    tensor.sum().backward()
            grads = [p.grad for _, p in sorted(call.named_parameters())]
            given = [torch.zeros(()) if grad is None or not grad.any() else grad for grad in grads]
            found.append((result, [t.requires_grad for t in (*tensors, call.last)], call.last, copy.deepcopy(given)))
        torch.testing.assert_close(*found)
    _equal_without_gradients(trace.program.module(), copy.deepcopy(module), inputs)


@pytest.mark.parametrize("name", LOST)
def test_what_has_a_gradient_in_eager_is_called_without(name: str) -> None:
    module, trace, inputs = _made(LOST, name)
    assert any("under torch.no_grad() only" in note for note in trace.notes)
    with torch.no_grad():
        assert trace.guards.check(module, copy.deepcopy(inputs[0]), weights="any") is None
    assert trace.guards.check(module, copy.deepcopy(inputs[0]), weights="any") is not None
    for ep in (trace.program, saved_and_loaded(trace.program), copy.deepcopy(trace.program).run_decompositions()):
        for args in inputs:
            with pytest.raises(Exception, match=r"not torch.is_grad_enabled\(\)"):
                ep.module()(*copy.deepcopy(args))
        _equal_without_gradients(ep.module(), copy.deepcopy(module), inputs)


@pytest.mark.parametrize("name", OURS)
def test_gradients_that_only_the_module_has(name: str) -> None:
    module, trace, inputs = _made(OURS, name)
    assert any("in program.module(), not in torch's scan" in note for note in trace.notes)
    loaded = saved_and_loaded(trace.program, dynamo_lite.load)
    for ep in (trace.program, loaded, copy.deepcopy(trace.program).run_decompositions()):
        for args in inputs:
            found = []
            for call in (copy.deepcopy(ep).module(), copy.deepcopy(module)):
                result = call(*copy.deepcopy(args))
                first = call.last if name == "assigns_a_state" else pytree.tree_leaves(result)[0]
                if first.requires_grad:
                    first.square().sum().backward()
                found.append((result, first.requires_grad, [p.grad for _, p in sorted(call.named_parameters())]))
            torch.testing.assert_close(*found)
    plain = saved_and_loaded(trace.program).module()
    if name != "assigns_a_state":
        _equal_without_gradients(plain, copy.deepcopy(module), inputs)
    with pytest.raises(Exception):  # noqa: B017  # torch's, of several kinds
        torch.as_tensor(pytree.tree_leaves(plain(*copy.deepcopy(inputs[1])))[0]).sum().backward()


def test_what_can_be_unrolled_keeps_its_gradient() -> None:
    class Few(_Model):
        def forward(self, x: Tensor) -> Tensor:
            n = 0
            while x.abs().sum() > 1 and n < 4:
                n += 1
                x = self.layer(x) / (n + 1)
            return x

    module = Few()
    ours = dynamo_lite.export(copy.deepcopy(module), VECTORS[0]).module()
    for args in VECTORS:
        grads = []
        for call in (ours, module):
            x = args[0].clone().requires_grad_(call is None)
            call(x).sum().backward() if call(x).requires_grad else None
            grads.append([p.grad for _, p in sorted(call.layer.named_parameters())])
        torch.testing.assert_close([torch.zeros(()) if g is None else g for g in grads[0]],
                                   [torch.zeros(()) if g is None else g for g in grads[1]])  # fmt: skip


def test_a_question_for_requires_grad_is_refused() -> None:
    class Asks(_Model):
        def forward(self, x: Tensor) -> Tensor:
            n = 0
            while x.abs().sum() > 1:
                n += 1
                x = self.layer(x) / (n + 1)
            return x.detach() + 1 if x.requires_grad else x.detach()

    with pytest.raises(dynamo_lite.errors.GraphBreak, match="requires grad is asked"):
        dynamo_lite.export(Asks(), VECTORS[0])


def test_a_gradient_within_the_program_is_refused() -> None:
    class Energy(_Model):
        def forward(self, x: Tensor) -> Tensor:
            x = x.detach().requires_grad_()
            y, n = x, 0
            while y.abs().sum() > 1:
                n += 1
                y = self.layer(y) / (n + 1)
            return torch.autograd.grad(y.sum() + x.sum(), x)[0]

    with pytest.raises(dynamo_lite.errors.GraphBreak) as refusal:
        dynamo_lite.export(Energy(), VECTORS[0])
    assert refusal.value.id == "control-flow-gradient"


class _AsksForTheMode(_Model):
    """Python asks whether gradients are on, and the program is called where they are off."""

    def forward(self, ids: Tensor) -> Tensor:
        _, logits = gives_logits(self, ids)
        return logits * 2 if torch.is_grad_enabled() else logits


def test_python_asks_for_the_mode_of_the_call() -> None:
    module = _AsksForTheMode()
    ours = dynamo_lite.export(copy.deepcopy(module), TOKENS[0]).module()
    _equal_without_gradients(ours, module, TOKENS)
