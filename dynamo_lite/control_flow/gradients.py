"""Gradients of a branch's results: which of them require grad, and whether autograd sees the operator.

torch.cond gives each floating-point result a gradient where one of its operands has one, and none under no_grad. In
eager that is up to each side: `with torch.enable_grad()` in it, `x.detach()`, a parameter that it passes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import fx

from dynamo_lite.capture.alias_analysis import draws
from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.graph.level import Level
from dynamo_lite.capture.graph.unrecorded import unrecorded
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.states import Side
from dynamo_lite.torch_internals._torch_state import _set_grad_enabled
from dynamo_lite.tracing.effects.requires_grad import reached
from dynamo_lite.tracing.tensors.side_differences import SideDifferences
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

Pairs = Sequence[tuple[str, Any, Any]]
"""Kind of a result, its value on the left side, on the right side."""


@contextmanager
def as_results_have(tracer: Forking, pairs: Pairs, levels: Sequence[Level]) -> Iterator[None]:
    """Open a context for the outputs of the sides and the operator. If gradients are off, and a result requires grad
    all the same, or may do so in another call (a parameter, an input, a tensor made under enable_grad, or after the end
    of no_grad), they are on here: the earlier part of the sides is a region without them inside of the sub-graphs."""
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
    if not any(is_differentiable(value) for _, *both in pairs for value in both):
        return False
    if any(node.target is _set_grad_enabled and node.args[0] for level in levels for node in level.graph.nodes):
        return True
    return any(_is_from_outside(tracer, value, level) for _, *both in pairs for value, level in zip(both, levels))


def _is_from_outside(tracer: Forking, value: Any, level: Level) -> bool:
    """Whether this is a tensor that a side hands on, and that it has not made."""
    if not is_differentiable(value):
        return False
    node = level.nodes.get(tracer.recorder.known_fake(value))
    return node is None or node.op == "placeholder"


def requires_grad(values: Iterable[Any]) -> bool:
    """Whether one of them is a tensor that requires grad."""
    return any(is_tensor(value) and value.requires_grad for value in values)


class Required(NamedTuple):
    """Whether a result of an operator requires grad: on its sides, or before a loop and after it; in the example. may:
    whether in some call. is_target: it is written into an outer tensor."""

    one: bool
    other: bool
    may: bool
    is_target: bool = False


def of_sides(
    tracer: Forking, pairs: Pairs, targets: Sequence[Any], sides: Sequence[Side], outputs: Sequence[Sequence[Any]]
) -> list[Required]:
    """Return the gradient requirements of a branch's `outputs`: its pairs, and tensors changed in place."""
    may = [_may_require(tracer, side.level, nodes) for side, nodes in zip(sides, outputs)]
    one, other = sides
    rows = [(*(requires_grad((value,)) for value in both), False) for _, *both in pairs]
    rows += [(one.requires_grad(target), other.requires_grad(target), True) for target in targets]
    return [Required(a, b, c or d, is_target) for (a, b, is_target), c, d in zip(rows, *may)]


def _may_require(tracer: Forking, level: Level, nodes: Sequence[Any]) -> list[bool]:
    seeds = {node for node, value in level.captured if _may_vary(tracer, value)}
    found = reached(level.graph, level.grad_enabled, seeds)
    return [node in found for node in nodes]


def _may_vary(tracer: Forking, value: Any) -> bool:
    """Whether a tensor may require grad in some call. Buffers and constants do not, as in the example."""
    if not is_differentiable(value):
        return False
    fake = tracer.recorder.known_fake(value)
    is_frozen = tracer.recorder.is_input(fake) and tracer.recorder.input_number(fake) is None
    return value.requires_grad or not is_frozen


Row = tuple[fx.Node, Any, Any]
"""A carried value of a loop: its placeholder in the body, its value before the loop, its value after an iteration."""


def of_iterations(
    tracer: Forking, level: Level, carried: Sequence[Row], targets: int, added: Sequence[Any]
) -> list[Required]:
    """Return the gradient requirements of a loop's results: the carried values, the last `targets` of which are changed
    in place, and the nodes that an iteration adds to lists. The results of an iteration are the inputs of the next."""

    def behind(may: Callable[[Any], bool]) -> set[fx.Node]:
        given = [*level.captured, *((node, value) for node, value, _ in carried)]
        seeds = {node for node, value in given if may(value)}
        while True:
            found = reached(level.graph, level.grad_enabled, set(seeds))
            more = {node for node, _, result in carried if result in found and is_differentiable(node.meta["val"])}
            if more <= seeds:
                return found
            seeds |= more

    example, any_call = behind(lambda value: requires_grad((value,))), behind(lambda value: _may_vary(tracer, value))
    first = len(carried) - targets
    rows = [
        Required(requires_grad((before,)), result in example, result in any_call, index >= first)
        for index, (_, before, result) in enumerate(carried)
    ]
    return rows + [Required(node in example, node in example, node in any_call) for node in added]


def as_on_the_sides(tracer: Forking, required: Sequence[Required], results: list[Any]) -> list[Any]:
    """Detach a result that requires grad on no side (with inputs that require grad, the program is not called if it may
    then: tracing/effects/requires_grad.py). The program may not query one that does on one side only."""
    exports_none = not tracer.recorder.grad_enabled
    for index, row in enumerate(required):
        result = results[index]
        if not is_differentiable(result):
            continue
        if not result.requires_grad and not torch.is_grad_enabled():  # of what a side hands on it may be asked
            tracer.own(SideDifferences).differ |= row.one or row.other
            tracer.own(SideDifferences).hands_on = True
        if result.requires_grad and row.one != row.other:
            tracer.own(SideDifferences).differ = True
        elif result.requires_grad and not row.one:
            if row.may:
                tracer.own(SideDifferences).cut.add(tracer.recorder.node_of(result))
            results[index] = result.detach()
        elif exports_none and row.is_target and not row.may:  # it may be called with gradients
            results[index] = result.detach()
    return results


def note_written(tracer: Forking, target: torch.Tensor, required: Required) -> None:
    """`target` has its value from after a branch or a loop. If it requires grad on one side only, later calls are right
    without gradients only."""
    recorder = tracer.recorder
    if required.one is required.other or not torch.is_grad_enabled():
        return
    key = storage_key(recorder.known_fake(target))
    if any(storage_key(fake) == key for fake in recorder.from_outside()):
        tracer.own(SideDifferences).unsure.add(recorder.node_of(target))


def lose(tracer: Forking, required: Sequence[Required], results: Sequence[Any], line: Any, why: str) -> None:
    """The results of a loop have no gradient, for this reason, or because it is under no_grad (then that of what a loop
    without an iteration hands on is lost). Where eager's have one the program may not ask, and where the user can ask
    for it, the program is not called with gradients (features/gradients)."""
    differences = tracer.own(SideDifferences)
    if not torch.is_grad_enabled():
        differences.hands_on = True
        differences.differ |= any(is_differentiable(result) and row.one for row, result in zip(required, results))
    if not why and (torch.is_grad_enabled() or not tracer.recorder.grad_enabled):
        return
    text = f"the loop at line {line} has no gradient: {why or _IN_NO_GRAD}"
    for row, result in zip(required, results):
        if is_differentiable(result) and (row.one or row.other):
            differences.differ = True
            differences.lost[tracer.recorder.node_of(result)] = text


_IN_NO_GRAD = "it is under no_grad, where what it begins with has one, which it gives if it has no iteration"


def check_draws(tracer: Forking, sides: Iterable[fx.GraphModule], results: Iterable[Any]) -> None:
    """torch.cond keeps nothing of its forward for the backward: it runs the side again (torch 2.15, create_bw_fn of
    _higher_order_ops/utils.py), which draws other random numbers. A dropout would have two masks."""
    if not any(is_tensor(result) and result.requires_grad for result in results):
        return
    graphs = (part.graph for side in sides for part in side.modules() if isinstance(part, fx.GraphModule))
    drawing = next((node for graph in graphs for node in graph.nodes if draws(node)), None)
    if drawing is not None:
        tracer.refuse("branch-gradient", operator=str(drawing.target))


def check_loop(tracer: Forking, carried: Iterable[Any]) -> None:
    """Check a loop under no_grad, whose operator gives no gradient: no value that it carries or passes on may require
    one in another call (a loop of no iterations returns its operands)."""
    if torch.is_grad_enabled() or not tracer.recorder.grad_enabled:
        return
    recorder, carried = tracer.recorder, [value for value in carried if is_differentiable(value)]
    for value in carried:
        tracer.own(SideDifferences).cut.update(recorder.levels.nodes_of(recorder.known_fake(value)))


def note_none(tracer: Forking, line: Any) -> None:
    """No operand of a loop has a gradient."""
    tracer.note(f"no gradient flows through the loop at line {line}: it is recorded under no_grad")


def may_have(required: Iterable[Required], values: Iterable[Any]) -> bool:
    """Whether a gradient of one of an operator's results may be requested. A program that is exported without gradients
    may be called with them."""
    if torch.is_grad_enabled():
        return any(row.one or row.other for row in required)
    return any(map(is_differentiable, values))


def is_differentiable(value: Any) -> bool:
    """Whether it is a tensor whose dtype can have a gradient."""
    return is_tensor(value) and (value.is_floating_point() or value.is_complex())


def detached(tracer: Forking, operands: Sequence[Any]) -> list[Any]:
    """The operands of an operator none of whose results has a gradient, detached. (torch traces a backward of cond as
    soon as an operand requires grad, again on each level of nested ones.)"""
    if torch.is_grad_enabled():
        return [_detached(tracer, value) if requires_grad((value,)) else value for value in operands]
    if tracer.recorder.grad_enabled:
        return [*operands]  # it runs under no_grad
    return [_detached(tracer, value) if is_differentiable(value) else value for value in operands]


def without_gradients(tracer: Forking, operands: Sequence[Any]) -> list[Any]:
    """All of them detached, those as well that require grad in another call only."""
    return [_detached(tracer, value) if is_differentiable(value) else value for value in operands]


def _detached(tracer: Forking, value: Any) -> Any:
    recorder, op = tracer.recorder, torch.ops.aten.detach.default
    with unrecorded():
        made = op(value)
        return recorder.record(op, (recorder.node_of(value),), {}, made)
