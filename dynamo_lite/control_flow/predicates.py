"""The condition of a branch: whether it is known at run time only, and the tensor or symbolic bool that decides it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from dynamo_lite.capture import Recorder
from dynamo_lite.capture.may_share import version_of
from dynamo_lite.symbolic_shapes.expressions.relations import not_
from dynamo_lite.tracing.vocabulary.symbolic_numbers import SYMBOLIC
from dynamo_lite.tracing.vocabulary.type_tests import is_fake, is_tensor


class ChosenNumbers:
    """The integers that branches choose among constants: what values each of them may have."""

    MOST = 8

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._values: dict[Any, frozenset[int]] = {}

    def note(self, pairs: Sequence[tuple[str, Any, Any]], results: Sequence[Any]) -> None:
        """Results of a branch. pairs: the kind of each, and its values on both sides."""
        for (_, left, right), result in zip(pairs, results):
            if type(result) is not torch.SymInt:
                continue
            one, other = self.of(left), self.of(right)
            if one and other and len(one | other) <= self.MOST:
                self._values[self._core(result)] = one | other

    def of(self, number: Any) -> frozenset[int]:
        """The values that a number may have; none if these are not known."""
        if type(number) is int:
            return frozenset((number,))
        return self._values.get(self._core(number), frozenset()) if type(number) is torch.SymInt else frozenset()

    def _core(self, number: Any) -> Any:
        env = self._recorder.env
        return None if env is None else env.unwrap(number)


class Predicates:
    """The predicates of one recording."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._bools: dict[Any, tuple[torch.Tensor, int | None]] = {}
        """The expression of a bool from item() → the tensor it was in, and which version of that."""

    def depends_on_data(self, value: Any) -> bool:
        """Whether the truth of `value` is known at run time only."""
        if is_tensor(value):
            if is_fake(value) and value.constant is not None:
                return False
            return all(type(size) is int and size == 1 for size in value.shape) and not value.is_complex()
        env = self._recorder.env
        if type(value) not in SYMBOLIC or env is None:
            return False
        condition = value if type(value) is torch.SymBool else value != 0
        if type(condition) is not torch.SymBool or condition.node.has_hint():
            return False
        return env.decide_node(condition.node) is None

    def is_constant(self, value: Any) -> bool:
        """Whether `value` is a tensor that the program computes from constants alone: its truth is known."""
        if not is_tensor(value):
            return False
        return self._recorder.constant_values.of(self._recorder.guarded(self._recorder.lift, value)) is not None

    def of(self, value: Any) -> Any:
        """The truth of `value` as a bool tensor of no dimensions, or as a SymBool."""
        if is_tensor(value):
            value = self._recorder.guarded(self._recorder.lift, value)
            if value.dtype is torch.bool:
                return value if value.dim() == 0 else value.reshape(())
            return value.reshape(()) != 0
        value = value if type(value) is torch.SymBool else value != 0
        known = self.held(value.node.core)
        if known is not None:
            return known
        known = self.held(not_(value.node.core))
        return torch.logical_not(known) if known is not None else value

    def condition(self, value: Any) -> Any:
        """Return the truth of `value` as a relation of numbers, for the facts on a side; None if there is none."""
        env = self._recorder.env
        if is_tensor(value):
            lifted = self._recorder.guarded(self._recorder.lift, value)
            return next((core for core in self._bools if self.held(core) is lifted), None)
        if type(value) not in SYMBOLIC or env is None:
            return None
        return env.unwrap(value if type(value) is torch.SymBool else value != 0)

    def tensor(self, value: Any) -> torch.Tensor:
        """The same as a tensor, of a number or bool as well."""
        if is_tensor(value):
            return self.of(value)
        if type(value) is bool:
            return torch.full((), value, dtype=torch.bool)
        predicate = self.of(value)
        if is_tensor(predicate):
            return predicate
        return torch.full((), torch.sym_ite(predicate, 1, 0), dtype=torch.int64) != 0

    def negated(self, value: Any) -> Any:
        """`not value`."""
        if type(value) is bool:
            return not value
        predicate = self.of(value)
        return torch.logical_not(predicate) if is_tensor(predicate) else torch.sym_not(predicate)

    def truth(self, value: Any) -> Any:
        """`bool(value)` of what depends on data: a SymBool."""
        predicate = self.of(value)
        return self.item(predicate) if is_tensor(predicate) else predicate

    def item(self, tensor: torch.Tensor) -> Any:
        """The number in a tensor. A bool remembers where it came from: no operand of an operator is a bool."""
        value = tensor.item()
        if type(value) is torch.SymBool:
            self._bools[value.node.core] = tensor, version_of(tensor)
        return value

    def held(self, core: Any) -> torch.Tensor | None:
        """The tensor that a bool was in, if it holds that yet."""
        tensor, version = self._bools.get(core, (None, None))
        return tensor if tensor is not None and version_of(tensor) == version else None
