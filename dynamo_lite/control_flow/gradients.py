"""Gradients of a branch's results: which of them require grad, and whether autograd sees the operator.

torch.cond gives each floating-point result a gradient where one of its operands has one, and none under no_grad. In
eager that is up to each side: `with torch.enable_grad()` in it, `x.detach()`, a parameter that it passes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import fx

from dynamo_lite.capture.alias_analysis import draws
from dynamo_lite.capture.graph.level import Level
from dynamo_lite.capture.graph.unrecorded import unrecorded
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.torch_internals._torch_state import _set_grad_enabled
from dynamo_lite.tracing.tensors.unlike_sides import UnlikeSides
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

Pairs = Sequence[tuple[str, Any, Any]]
"""Kind of a result, its value on the left side, on the right side."""


@contextmanager
def as_results_have(tracer: Forking, pairs: Pairs, levels: Sequence[Level]) -> Iterator[None]:
    """Around the outputs of the sides and the operator. Where gradients are off, and a result requires grad all the
    same, or may do so in another call (a parameter, an input, what was made under enable_grad, or behind the end of
    no_grad), they are on here: what the sides did before is a region without them inside of the sub-graphs."""
    recorder = tracer.recorder
    if recorder.grad_mode() or not recorder.grad_enabled or not _any_may_require_grad(tracer, pairs, levels):
        yield
        return
    for level in levels:
        first = next((node for node in level.graph.nodes if node.op != "placeholder"), None)
        if first is not None:
            with recorder.levels.resumed(level), level.graph.inserting_before(first):
                recorder.marker(_set_grad_enabled, (False,))
        level.grad_enabled = True
    with torch.enable_grad():
        for level in levels:
            with recorder.levels.resumed(level):
                recorder.mark_grad_mode()
        yield


def _any_may_require_grad(tracer: Forking, pairs: Pairs, levels: Sequence[Level]) -> bool:
    if requires_grad(value for _, *both in pairs for value in both):
        return True
    if not any(_is_differentiable(value) for _, *both in pairs for value in both):
        return False
    if any(node.target is _set_grad_enabled and node.args[0] for level in levels for node in level.graph.nodes):
        return True
    return any(_is_from_outside(tracer, value, level) for _, *both in pairs for value, level in zip(both, levels))


def _is_from_outside(tracer: Forking, value: Any, level: Level) -> bool:
    """Whether this is a tensor that a side hands on, and that it has not made."""
    if not _is_differentiable(value):
        return False
    node = level.nodes.get(tracer.recorder.known_stand_in(value))
    return node is None or node.op == "placeholder"


def requires_grad(values: Iterable[Any]) -> bool:
    """Whether one of them is a tensor that requires grad."""
    return any(is_tensor(value) and value.requires_grad for value in values)


def as_on_the_sides(tracer: Forking, pairs: Pairs, results: list[Any]) -> list[Any]:
    """A result that requires grad on no side is detached (with inputs that require grad, the program is not called:
    tracing/effects/requires_grad.py). Of one that does on one side only the program may not ask."""
    for index, (kind, left, right) in enumerate(pairs):
        if kind not in ("tensor", "flat") or not is_tensor(results[index]) or not results[index].requires_grad:
            continue
        if left.requires_grad != right.requires_grad:
            tracer.own(UnlikeSides).differ = True
        elif not left.requires_grad:
            tracer.own(UnlikeSides).cut.add(tracer.recorder.node_of(results[index]))
            results[index] = results[index].detach()
    return results


def check_draws(tracer: Forking, sides: Iterable[fx.GraphModule], results: Iterable[Any]) -> None:
    """torch.cond keeps nothing of its forward for the backward: it runs the side again (torch 2.15, create_bw_fn of
    _higher_order_ops/utils.py), and what it draws then are other numbers. A dropout would have two masks."""
    if not any(is_tensor(result) and result.requires_grad for result in results):
        return
    graphs = (part.graph for side in sides for part in side.modules() if isinstance(part, fx.GraphModule))
    drawing = next((node for graph in graphs for node in graph.nodes if draws(node)), None)
    if drawing is not None:
        tracer.refuse("branch-gradient", operator=str(drawing.target))


def check_loop(tracer: Forking, carried: Iterable[Any]) -> None:
    """Under no_grad a loop's operator gives no gradient: nothing that it carries, or hands on, may require one, nor in
    another call (a loop without a round gives its operands)."""
    if torch.is_grad_enabled() or not tracer.recorder.grad_enabled:
        return
    recorder, carried = tracer.recorder, [value for value in carried if _is_differentiable(value)]
    if requires_grad(carried):
        why = "it is under no_grad, where torch's operator has no gradient, and it carries a tensor that requires one"
        tracer.refuse("loop-gradient", why=why)
    for value in carried:
        tracer.own(UnlikeSides).cut.update(recorder.levels.nodes_of(recorder.known_stand_in(value)))


def may_have(values: Iterable[Any]) -> bool:
    """Whether a gradient of one of an operator's results may be asked for. A program that is exported without gradients
    may be called with them."""
    if torch.is_grad_enabled():
        return requires_grad(values)
    return any(map(_is_differentiable, values))


def _is_differentiable(value: Any) -> bool:
    return is_tensor(value) and (value.is_floating_point() or value.is_complex())


def detached(tracer: Forking, operands: Sequence[Any]) -> list[Any]:
    """The operands of an operator none of whose results has a gradient, detached. (torch traces a backward of cond as
    soon as an operand requires grad, again on each level of nested ones.)"""
    if torch.is_grad_enabled():
        return [_detached(tracer, value) if requires_grad((value,)) else value for value in operands]
    if tracer.recorder.grad_enabled:
        return [*operands]  # it runs under no_grad
    return [_detached(tracer, value) if _is_differentiable(value) else value for value in operands]


def without_gradients(tracer: Forking, operands: Sequence[Any]) -> list[Any]:
    """All of them detached, those as well that require grad in another call only."""
    return [_detached(tracer, value) if _is_differentiable(value) else value for value in operands]


def _detached(tracer: Forking, value: Any) -> Any:
    recorder, op = tracer.recorder, torch.ops.aten.detach.default
    with unrecorded():
        made = op(value)
        return recorder.record(op, (recorder.node_of(value),), {}, made)
