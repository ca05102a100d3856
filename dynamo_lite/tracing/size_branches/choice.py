"""Two numbers as one: the first where a condition on sizes holds, and the second elsewhere."""

from __future__ import annotations

from typing import Any

import torch

from dynamo_lite.symbolic_shapes.expressions.floats import apply_float, as_float
from dynamo_lite.symbolic_shapes.expressions.piecewise import ite, ite_bool
from dynamo_lite.symbolic_shapes.expressions.relations import TRUE, Bool, Truth, as_bool, eq, not_, or_
from dynamo_lite.symbolic_shapes.torch_node.layout import QUESTIONS

INTS = (int, torch.SymInt)
BOOLS = (bool, torch.SymBool)
FLOATS = (float, torch.SymFloat)


class ConditionalValue:
    """Decisions under a condition on sizes, and under its opposite. No fact is recorded, and no example is used.

    Attributes:
        proved: the proved relations, each as (the assumption, the relation that holds under it).
    """

    def __init__(self, env: Any, condition: Bool) -> None:
        self._env = env
        self.condition, self.opposite = condition, not_(condition)
        self.proved: dict[tuple[Bool, Bool], None] = {}

    def under(self, assumed: Bool, relation: Bool) -> bool | None:
        """Return the truth of a relation that follows from the facts and the assumption; None if neither does."""
        for truth, proposition in ((True, relation), (False, not_(relation))):
            relation = or_(not_(assumed), proposition)
            if self._env.memo.decide(relation) is True:
                if relation is not TRUE:
                    self.proved[assumed, proposition] = None
                return truth
        return None

    def are_equal(self, one: Any, other: Any, assumed: Bool) -> bool:
        """Whether two sizes are equal, where `assumed` holds."""
        relation = eq(self._env.unwrap(one), self._env.unwrap(other))
        return relation.value if isinstance(relation, Truth) else self.under(assumed, relation) is True

    def is_contiguous(self, tensor: torch.Tensor, assumed: Bool) -> bool:
        """Whether a tensor is contiguous, where `assumed` holds."""
        sizes, strides = ([self._env.unwrap(size) for size in part] for part in (tensor.shape, tensor.stride()))
        relation = QUESTIONS["is_contiguous"](sizes, strides)
        return relation.value if isinstance(relation, Truth) else self.under(assumed, relation) is True

    def one(self, first: Any, second: Any) -> Any:
        """`first if condition else second`, of two ints, bools or floats: one of them, if it is right on both sides."""
        if type(first) in FLOATS:
            return self._float(first, second)
        return self._truth(first, second) if type(first) in BOOLS else self._number(first, second)

    def _float(self, first: Any, second: Any) -> Any:
        a, b = (as_float(value if type(value) is float else self._env.unwrap(value)) for value in (first, second))
        return first if a is b else self._env.wrap(apply_float("float_ite", self.condition, a, b))

    def _truth(self, first: Any, second: Any) -> Any:
        a, b = (as_bool(value) if type(value) is bool else self._env.unwrap(value) for value in (first, second))
        for assumed, kept in ((self.opposite, first), (self.condition, second)):
            known = self.under(assumed, a)
            if known is not None and known is self.under(assumed, b):
                return kept
        return self._env.wrap(ite_bool(self.condition, a, b))

    def _number(self, first: Any, second: Any) -> Any:
        for assumed, kept in ((self.opposite, first), (self.condition, second)):
            if self.are_equal(first, second, assumed):
                return kept
        return self._env.wrap(ite(self.condition, self._env.unwrap(first), self._env.unwrap(second)))
