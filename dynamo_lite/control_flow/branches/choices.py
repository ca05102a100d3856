"""`self.experts[i]`, of a list (or of a dict with the keys 0, 1, 2, ...) whose items Python holds, where only run time
knows `i`.

The program asserts that the list has such an item. Then the numbers are halved: `i <= middle` is a branch before the
subscript, on whose sides it is run again, until the facts leave one number. So the items may be modules, functions,
numbers or tensors: they are merged like the values of a conditional expression.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from dynamo_lite.capture.graph.level import Level
from dynamo_lite.control_flow.branches.branch import Branch
from dynamo_lite.control_flow.branches.joins import takes_value
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.interpreter.flow import END
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.vocabulary.exception_handlers import may_be_caught
from dynamo_lite.tracing.vocabulary.symbolic_numbers import real_type
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

_LISTS = frozenset({list, tuple})
_MODULES = frozenset({nn.ModuleList, nn.Sequential, nn.ParameterList})
_MOST = 64
"""Items of a list that are chosen among."""
_INTEGERS = frozenset({torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8})


@dataclass
class _Half(Branch):
    """Whether the number is one of the lower half; each side comes to the subscript again."""

    is_value: bool

    def first_join(self) -> int:
        """Return the instruction after the subscript or, if no operator can return the item, after the statement."""
        at = super().first_join()
        if self.is_value or at == END:
            return at
        for later in self.flow.joins_after(at):
            if takes_value(self.flow, at) or later == END:
                return later
            at = later
        return at

    def begin(self, truth: bool) -> Callable[[Level | None], None]:
        def start(level: Level | None) -> None:
            self.frame.pc = self.at

        return start


def subscript(tracer: Forking, frame: Any, container: Any, key: Any) -> Any:
    """The current subscript, whose operands are on the stack: NOT_HANDLED, or what its handler returns."""
    kind = type(container)
    if not (kind in _LISTS or kind in _MODULES or kind is dict) or not _is_data(tracer, key):
        return NOT_HANDLED
    env, length = tracer.recorder.env, tracer.vm.call(len, (container,))  # a read of the program
    if not 1 <= length <= _MOST or env is None or may_be_caught(frame, frozenset({IndexError, KeyError})):
        return NOT_HANDLED
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
    at = frame.pc - 1
    return _Half(tracer, frame, key <= (low + high) // 2, {True: at, False: at}, None, _are_values(container)).capture()


def _are_values(container: Any) -> bool:
    """Whether an operator can give one of the items."""
    items = [*container.values()] if type(container) is dict else [*container]
    kinds = set(map(real_type, items))
    return all(map(is_tensor, items)) or (len(kinds) == 1 and kinds <= {int, bool, float})


def _is_data(tracer: Forking, key: Any) -> bool:
    if is_tensor(key):
        return key.dim() == 0 and key.dtype in _INTEGERS and tracer.predicates.depends_on_data(key)
    return type(key) is torch.SymInt and key.node.maybe_as_int() is None and not key.node.has_hint()


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
