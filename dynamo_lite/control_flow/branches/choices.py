"""`self.experts[i]`, of a list (or of a dict with the keys 0, 1, 2, ...) whose items Python holds, where only run time
knows `i`.

The program asserts that the list has such an item. Then the numbers are halved: `i <= middle` is a branch before the
subscript, on whose sides it is run again, until the facts leave one number. So the items may be modules, functions,
numbers or tensors: they are merged like the values of a conditional expression.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

import torch
from torch import nn

from dynamo_lite.capture.graph.level import Level
from dynamo_lite.control_flow.branches.branch import Branch
from dynamo_lite.control_flow.branches.joins import takes_value
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.notes import line_of
from dynamo_lite.interpreter.code.handler_table import HANDLERS
from dynamo_lite.interpreter.code.stack_effects import STACK_EFFECTS
from dynamo_lite.interpreter.flow import END
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.symbolic_shapes.expressions.expr import symbols_of
from dynamo_lite.tracing.strings.deferred_str import unread
from dynamo_lite.tracing.vocabulary.exception_handlers import may_be_caught
from dynamo_lite.tracing.vocabulary.symbolic_numbers import real_type
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

_NAMES = {fn: name for name, fn in HANDLERS.items()}
_LISTS = frozenset({list, tuple})
_MODULES = frozenset({nn.ModuleList, nn.Sequential, nn.ParameterList})
_MOST = 64
"""Items of a list that are chosen among."""
_INTEGERS = frozenset({torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8})


@dataclass
class Again(Branch):
    """A branch whose sides come to the instruction again, with what they know of a number."""

    def begin(self, truth: bool) -> Callable[[Level | None], None]:
        def start(level: Level | None) -> None:
            self.frame.pc = self.at

        return start


@dataclass
class _Bound(Again):
    """Whether the number is within a bound; the other side raises an IndexError."""

    def first_join(self) -> int:
        """Return the first instruction that both the ways behind the subscript and those of the handler come to."""
        at, handler = super().first_join(), self.frame.info.handler_at(self.frame.code, self.at)
        if handler is None:
            return at
        handled = {handler.target, *self.flow.joins_after(handler.target)}
        return next(join for join in (at, *self.flow.joins_after(at)) if join in handled)


@dataclass
class _Half(Again):
    """Whether the number is one of the lower half."""

    is_value: bool

    def first_join(self) -> int:
        """Return the instruction after the subscript or, if no operator can return the item, the one after the call
        that takes it, or after the statement."""
        at = super().first_join()
        if self.is_value or at == END:
            return at
        used = _behind_use(self.frame.info.ops, at)
        if used in self.flow.joins_after(self.at):
            return used
        for later in self.flow.joins_after(at):
            if takes_value(self.flow, at) or later == END:
                return later
            at = later
        return at


_PARTS = ("LOAD_ATTR", "LOAD_METHOD")


def _behind_use(ops: Sequence[tuple[Any, Any]], at: int) -> int:
    """Return the instruction behind the call or operator that takes the value which is on top of the stack at `at`, or
    an attribute of it; END if it is used otherwise.

    `above` counts the values above it.
    """
    above = 0
    for index in range(at, len(ops)):
        name, arg = _NAMES[ops[index][0]], ops[index][1]
        if name in ("CALL", "CALL_KW"):
            takes, leaves = arg + 2 + (name == "CALL_KW"), 1
        else:
            takes, leaves = STACK_EFFECTS.get(name, (-1, 0))
        if takes < 0:
            return END
        if above >= takes:
            above += leaves - takes
        elif name in _PARTS and above == 0:
            above = leaves - 1
        else:
            return index + 1
    return END


def subscript(tracer: Forking, frame: Any, container: Any, key: Any) -> Any:
    """The current subscript, whose operands are on the stack: NOT_HANDLED, or what its handler returns."""
    kind, env = type(container), tracer.recorder.env
    if env is None or not _is_data(tracer, key):
        return NOT_HANDLED
    if is_tensor(container):
        is_one = container.dim() and _is_integer(key) and not (is_tensor(key) and key.dim())
        if not (is_one and may_be_caught(frame, frozenset({IndexError}))):
            return NOT_HANDLED
        message = unread("index is out of bounds for dimension 0", partial(_refuse_text, tracer, frame))
        return _in_range(tracer, frame, container.shape[0], key, message)
    if not (kind in _LISTS or kind in _MODULES or kind is dict):
        return NOT_HANDLED
    length = tracer.vm.call(len, (container,))  # a read of the program
    if not 1 <= length <= _MOST:
        return NOT_HANDLED
    if may_be_caught(frame, frozenset({IndexError, KeyError})):
        if kind not in _LISTS:
            return NOT_HANDLED
        answer = _in_range(tracer, frame, length, key, f"{kind.__name__} index out of range")
        if answer is not NOT_HANDLED:
            return answer
        key = frame.stack[-1]
    if kind is dict and (is_tensor(key) or not _has_numbers(container)):
        return NOT_HANDLED
    if is_tensor(key):
        key = tracer.vm.call(torch.Tensor.item, (key,))
    low, high = _range(env, key)
    if low < 0 or high >= length:
        key = frame.stack[-1] = _within(tracer, key, length, wraps=kind is not dict)
        low, high = _range(env, key)
    if low == high:
        frame.stack[-1] = low
        return NOT_HANDLED
    if any(symbols_of(env.unwrap(key)) & loop.numbers for loop in tracer.loops):
        tracer.refuse("branch-unsupported", why="the number of an iteration chooses an item")
    at = frame.pc - 1
    return _Half(tracer, frame, key <= (low + high) // 2, {True: at, False: at}, None, _are_values(container)).capture()


def _in_range(tracer: Forking, frame: Any, length: Any, key: Any, message: str) -> Any:
    """Within a handler that catches an IndexError: a branch on `-length <= key < length`, whose other sides raise it.

    NOT_HANDLED where the number is in range. message: that of the error.
    """
    if is_tensor(key):
        key = frame.stack[-1] = tracer.vm.call(torch.Tensor.item, (key,))
    for bound in (key < length, key >= -length):
        holds = _known(bound)
        if holds is False:
            raise IndexError(message)
        if holds is None:
            at = frame.pc - 1
            return _Bound(tracer, frame, bound, {True: at, False: at}, None).capture()
    return NOT_HANDLED


def _refuse_text(tracer: Forking, frame: Any) -> NoReturn:
    line = f"the message of the IndexError at line {line_of(frame, frame.pc - 1)}"
    tracer.refuse("data-dependent-value", what=line)


def _known(relation: Any) -> bool | None:
    if type(relation) is not torch.SymBool:
        return bool(relation)
    answer: bool | None = relation.node.shape_env.decide_node(relation.node)
    return answer


def _are_values(container: Any) -> bool:
    """Whether an operator can give one of the items."""
    items = [*container.values()] if type(container) is dict else [*container]
    kinds = set(map(real_type, items))
    return all(map(is_tensor, items)) or (len(kinds) == 1 and kinds <= {int, bool, float})


def _is_data(tracer: Forking, key: Any) -> bool:
    if is_tensor(key):  # Python takes an integer of a tensor with one element
        is_one = all(type(size) is int and size == 1 for size in key.shape)
        return is_one and key.dtype in _INTEGERS and tracer.predicates.depends_on_data(key)
    return type(key) is torch.SymInt and key.node.maybe_as_int() is None and not key.node.has_hint()


def _is_integer(key: Any) -> bool:
    """Whether a tensor is given one index. (An index of dtype uint8 is a mask.)"""
    return not is_tensor(key) or key.dtype is not torch.uint8


def _has_numbers(table: dict[Any, Any]) -> bool:
    """Whether the keys are 0, 1, 2, ..."""
    return all(type(key) is int for key in table) and set(table) == set(range(len(table)))


def _within(tracer: Forking, key: Any, length: int, wraps: bool) -> Any:
    """The number counted from the beginning, which it is asserted to be. wraps: -1 is the last item."""
    recorder = tracer.recorder
    recorder.guarded(torch._check, key < length)
    recorder.guarded(torch._check, key >= (-length if wraps else 0))
    if not wraps:
        return key
    number = torch.full((), key, dtype=torch.int64)
    found = torch.where(number < 0, number + length, number).item()
    recorder.guarded(torch._check, found >= 0)
    recorder.guarded(torch._check, found < length)
    return found


def _range(env: Any, key: Any) -> tuple[float, float]:
    low, high = env.core.bounds(env.unwrap(key))
    return low, high
