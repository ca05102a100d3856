"""`x.softmax(0 if f else 1)`, `attention(q, k, v, is_causal=bool(t))`: a call that needs a number which data decide.

The run that finds this out is made again (`Demanded`). The next one forks before that call, on each number of data
among its arguments: a bool by its truth, an integer by halves of its values, as a subscript does (`choices.py`). Each
side makes the call with one value; the facts of the side answer further questions about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from types import CodeType
from typing import Any

import torch

from dynamo_lite.control_flow.branches.choices import Again
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.states import Side
from dynamo_lite.interpreter.code.handler_table import HANDLERS
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.symbolic_shapes.expressions.relations import eq
from dynamo_lite.tracing.diagnostics import RunAgain

Place = tuple[CodeType, int]
_CALLS = tuple(HANDLERS[name] for name in ("CALL", "CALL_KW", "CALL_FUNCTION_EX"))
_MOST = 8
"""Values of one number, each of which makes a side."""


class Demanded(RunAgain):
    """A call needs a number that data decide: the run is made again, with a fork before it."""

    def __init__(self, place: Place) -> None:
        super().__init__("a call needs a number that data decide")
        self.place = place

    def changed(self, request: Any) -> Any:
        return replace(request, demanded=request.demanded | {self.place})


def demanded(tracer: Forking, demands: frozenset[Place]) -> Demanded | None:
    """The reason to run again, if the frame at work makes a call that has not been forked before."""
    frame = tracer.vm.frame
    if frame is None or frame.pc < 1 or frame.info.ops[frame.pc - 1][0] not in _CALLS:
        return None
    place = frame.code, frame.pc - 1
    return None if place in demands else Demanded(place)


def has_flags(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a bool of data is among the arguments of a call."""
    return torch.SymBool in map(type, args) or torch.SymBool in map(type, kwargs.values())


def call_natively(
    tracer: Forking, demands: frozenset[Place], fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call a trusted function, in which C code may take no bool of data, and states that by a TypeError."""
    try:
        return tracer.vm.call_natively(fn, fn, args, args, kwargs)
    except TypeError as error:
        again = demanded(tracer, demands) if "SymBool" in str(error) else None
        if again is None:
            raise
    return tracer.abort(again)


@dataclass
class _OneValue(Again):
    """Whether the number is one of the values that remain; each side comes to the call again."""

    def assert_not(self, raised: list[bool], sides: dict[bool, Side]) -> Any:
        """The call is made again after the assertion, which is a fact then."""
        answer = super().assert_not(raised, sides)
        holds, env = self.assumed(not raised[0]), self.tracer.recorder.env
        if len(raised) == 1 and holds is not None and env is not None:
            env.core.assume(holds, self.tracer.origin(), "axiom")
        return answer


def call(tracer: Forking, frame: Any) -> Any:
    """The current call, whose operands are on the stack: NOT_HANDLED, or what its handler returns."""
    if tracer.recorder.env is None:
        return NOT_HANDLED
    at = frame.pc - 1
    handler, arg = frame.info.ops[at]
    for index in range(len(frame.stack) - _operands(handler, arg), len(frame.stack)):
        value = frame.stack[index] = _known(tracer, frame.stack[index])
        for number in _unknown(value):
            condition = _condition(tracer, number)
            if condition is not None:
                return _fork(tracer, frame, condition)
    return NOT_HANDLED


def subscript(tracer: Forking, frame: Any, container: Any, key: Any) -> Any:
    """The current subscript of a dict by an integer that branches chose among constants: a fork, whose sides come to
    the subscript again. NOT_HANDLED otherwise, and where the facts determine the key."""
    if type(container) is not dict or type(key) is not torch.SymInt or tracer.recorder.env is None:
        return NOT_HANDLED
    if not tracer.chosen.of(key) or not _is_data(key):
        return NOT_HANDLED
    frame.stack[-1] = key = _answer(tracer, key)
    return NOT_HANDLED if type(key) is int else _fork(tracer, frame, _condition(tracer, key))


def _fork(tracer: Forking, frame: Any, condition: Any) -> Any:
    predicate, at = tracer.predicates.of(condition), frame.pc - 1
    relation = tracer.predicates.condition(condition)
    return _OneValue(tracer, frame, predicate, {True: at, False: at}, None, condition=relation).capture()


def _operands(handler: Any, arg: int) -> int:
    """The number of values on the stack that hold arguments."""
    if handler is HANDLERS["CALL"]:
        return arg
    return arg + 1 if handler is HANDLERS["CALL_KW"] else 1 + bool(arg)


def _known(tracer: Forking, value: Any) -> Any:
    """An argument with numbers in the place of those that the facts of this side determine."""
    if type(value) in (tuple, list):
        items = [_known(tracer, item) for item in value]
        same = all(map(lambda one, other: one is other, items, value))
        return value if same or type(value) is list else tuple(items)
    if type(value) is dict:
        return {key: _known(tracer, item) for key, item in value.items()}
    if type(value) in (torch.SymBool, torch.SymInt):
        known = value.node.maybe_as_bool() if type(value) is torch.SymBool else value.node.maybe_as_int()
        return known if known is not None else _answer(tracer, value) if _is_data(value) else value
    return value


def _answer(tracer: Forking, value: Any) -> Any:
    env: Any = tracer.recorder.env
    if type(value) is torch.SymBool:
        found = env.decide_node(value.node)
        return value if found is None else found
    values = _values(tracer, value)
    return values[0] if len(values) == 1 else value


def _unknown(value: Any) -> Iterator[Any]:
    """The numbers of data in an argument."""
    if type(value) in (tuple, list):
        for item in value:
            yield from _unknown(item)
    elif type(value) is dict:
        yield from _unknown(tuple(value.values()))
    elif _is_data(value):
        yield value


def _is_data(value: Any) -> bool:
    if type(value) not in (torch.SymBool, torch.SymInt) or value.node.has_hint():
        return False
    return type(value) is torch.SymBool or value.node.maybe_as_int() is None


def _condition(tracer: Forking, number: Any) -> Any:
    """The condition to fork on; None for a number that the facts determine, or that has more values than `_MOST`."""
    env: Any = tracer.recorder.env
    if type(number) is torch.SymBool:
        return number if env.decide_node(number.node) is None else None
    values = _values(tracer, number)
    return number <= values[(len(values) - 1) // 2] if len(values) > 1 else None


def _values(tracer: Forking, number: Any) -> list[int]:
    """The values that the facts leave an integer; none if there are many."""
    env: Any = tracer.recorder.env
    values: Iterable[int] = sorted(tracer.chosen.of(number))
    if not values:
        low, high = env.core.bounds(env.unwrap(number))
        values = range(int(low), int(high) + 1) if high - low < _MOST else ()
    return [value for value in values if env.core.decide(eq(env.unwrap(number), value)).verdict is not False]
