"""Symbolic sizes in rules: arithmetic is that of expressions, a comparison is decided by the facts or not at all.

A rule is written once, for numbers. With a `Size` among them it computes an expression; if it needs a comparison that
the facts do not decide, `Undecided` ends it, and the operator runs: then torch's kernel makes the comparison, whose
outcome becomes a fact. So a rule's result needs no fact, and holds for all sizes that the facts admit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from dynamo_lite.symbolic_shapes.expressions.division import take_out
from dynamo_lite.symbolic_shapes.expressions.expr import Int, as_int, symbols_of
from dynamo_lite.symbolic_shapes.expressions.intervals import declared
from dynamo_lite.symbolic_shapes.expressions.piecewise import ite, maximum, minimum
from dynamo_lite.symbolic_shapes.expressions.relations import TRUE, Bool, and_, eq, ge, or_
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv
from dynamo_lite.symbolic_shapes.torch_node.sym_node import SymNode


class Undecided(Exception):
    """A rule needs a comparison of sizes that the facts do not decide."""


class Size:
    """An integer expression that is not a constant."""

    __slots__ = ("env", "node")

    def __init__(self, env: TorchShapeEnv, node: Int) -> None:
        self.env, self.node = env, node

    def __repr__(self) -> str:
        return repr(self.node)

    def __hash__(self) -> int:
        return hash(self.node)

    def __index__(self) -> int:
        raise Undecided

    __bool__ = __int__ = __index__

    # -- arithmetic
    def with_node(self, node: Int) -> Any:
        constant = node.as_constant()
        return type(self)(self.env, node) if constant is None else constant

    def settled(self) -> Any:
        """The number that it is, if there is only one."""
        lo, hi = self.env.core.bounds(self.node)
        return int(lo) if lo == hi else self

    def is_one_at_most(self) -> bool:
        """Whether it is 0 or 1, or less, in every call."""
        return self.env.memo.decide(ge(self.node, 2)) is False

    def __add__(self, other: Any) -> Any:
        return self.with_node(self.node + _node(other))

    def __mul__(self, other: Any) -> Any:
        return self.with_node(self.node * _node(other))

    __radd__, __rmul__ = __add__, __mul__

    def __sub__(self, other: Any) -> Any:
        return self.with_node(self.node - _node(other))

    def __rsub__(self, other: Any) -> Any:
        return self.with_node(_node(other) - self.node)

    def __neg__(self) -> Any:
        return self.with_node(-self.node)

    def __floordiv__(self, other: Any) -> Any:
        divisor = _node(other)
        if divisor.as_constant() is None:
            if not self.with_node(divisor) >= 1:
                raise Undecided
            exact, rest = take_out(self.node, divisor)  # the form of `//` uses declared ranges: the facts are stronger
            if not rest.terms and not rest.const:
                return self.with_node(exact)
        return self.with_node(self.node // divisor)

    def __mod__(self, other: Any) -> Any:
        return self - (self // other) * other

    def __rfloordiv__(self, other: Any) -> Any:
        return Size(self.env, _node(other)) // self

    def __rmod__(self, other: Any) -> Any:
        return other - (other // self) * self

    # -- comparisons
    def __eq__(self, other: object) -> bool:
        """True for the same expression. Equality on some calls only is not considered: it would need a fact."""
        if other is None:
            return False
        node = _node(other)
        if node is self.node:
            return True
        constant = node.as_constant()
        if constant is None:
            return self._differs(node)
        low, high = declared(self.node)
        if not low <= constant <= high or self.env.memo.decide(eq(self.node, node)) is False:
            return False
        return self._undecided(eq(self.node, node))

    def _differs(self, node: Int) -> bool:
        """Whether this is an expression that is not plainly the same."""
        raise Undecided

    def _undecided(self, relation: Bool) -> bool:
        """The outcome of a comparison that the facts leave open."""
        raise Undecided

    def __lt__(self, other: Any) -> bool:
        return not self >= other

    def __le__(self, other: Any) -> bool:
        return not self > other

    def __gt__(self, other: Any) -> bool:
        return self >= other + 1

    def __ge__(self, other: Any) -> bool:
        difference = self.node - _node(other)
        low, high = declared(difference)
        if low >= 0 or high < 0:
            return low >= 0
        answer = self.env.memo.decide(difference >= 0)
        return self._undecided(ge(difference, 0)) if answer is None else answer


class LayoutSize(Size):
    """A size that torch compares for a result's layout: the outcome for all sizes from 2 on is used, if the example's
    is the same (see torch_env/decisions.py). No fact is needed.

    Attributes:
        large: that the sizes of the result are 2 or more: if one is 1, its stride is irrelevant.
    """

    __slots__ = ("large",)
    __hash__ = Size.__hash__

    def __init__(self, env: TorchShapeEnv, node: Int, large: Bool = TRUE) -> None:
        super().__init__(env, node)
        self.large = large

    def with_node(self, node: Int) -> Any:
        constant = node.as_constant()
        return LayoutSize(self.env, node, self.large) if constant is None else constant

    def _differs(self, node: Int) -> bool:
        relation = eq(self.node, node)
        answer = self.env.memo.decide(relation)
        return self._undecided(relation) if answer is None else answer

    def _undecided(self, relation: Bool) -> bool:
        answer = self.env.memo.decide_large(relation, self.env.size_like, self.env.derived_sizes)
        if answer is None and self.large is not TRUE:
            answer = self.env.memo.decide_under(self.large, relation)
        if answer is None or self.env.hint_of(relation) not in (None, answer):
            raise Undecided
        return answer


def slice_of(start: Any, end: Any, size: Any) -> tuple[Any, Any]:
    """(the start of a slice, the number of elements before its end): one expression each, right for every size.

    start, end, size: ints or `Size`s, as the results. CPython's rule (PySlice_AdjustIndices): a negative bound counts
    from the end, and both are clamped to 0 ... size.
    """
    first, last = _from_front(start, size), least(_from_front(end, size), size)
    length = least(last - first, last)  # last - max(first, 0)
    return least(greatest(first, 0), size), greatest(length, 0)


def _from_front(given: Any, size: Any) -> Any:
    """A bound counted from the front; it may be out of range."""
    known = _is_natural(given)
    if known is not None:
        return given if known else given + size
    return given.with_node(ite(ge(given.node, 0), given.node, _node(given + size)))


def greatest(one: Any, other: Any) -> Any:
    """max(one, other)"""
    return -least(-one, -other)


def least(one: Any, other: Any) -> Any:
    """min(one, other)"""
    difference = other - one
    known = _is_natural(difference)
    if known is not None:
        return one if known else other
    return difference.with_node(minimum(_node(one), _node(other)))


def _is_natural(number: Any) -> bool | None:
    """Whether a number is 0 or more; None if that is open."""
    try:
        return bool(number >= 0)
    except Undecided:
        return None


def for_layout(sizes: Iterable[Any], of: Iterable[Any] = ()) -> tuple[Any, ...]:
    """Sizes or strides, of which only a layout depends. of: the sizes of the result, if small ones may be left out."""
    large = and_(*(ge(size.node, 2) for size in of if isinstance(size, Size)))
    return tuple([LayoutSize(size.env, size.node, large) if type(size) is Size else size for size in sizes])


def _node(value: Any) -> Int:
    if isinstance(value, Size):
        return value.node
    if type(value) is not int:
        raise Undecided
    return as_int(value)


def reader(env: TorchShapeEnv) -> Callable[[Any], Any]:
    """Returns the function that converts an int or a SymInt for a rule. It raises Undecided for an unbacked size."""

    def read(value: Any) -> Any:
        if type(value) is int:
            return value
        node = value.node
        if type(node) is not SymNode or node.shape_env is not env:
            raise Undecided
        current = node.current()
        constant = current.as_constant()
        if constant is not None:
            return constant
        if any(symbol.unbacked for symbol in symbols_of(current)):
            raise Undecided
        return Size(env, current)

    return read


def same(one: Any, other: Any) -> bool:
    """Whether two sequences of sizes are equal without a fact. False does not mean that symbolic ones differ."""
    return len(one) == len(other) and all(_is_same(a, b) for a, b in zip(one, other))


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, Size):
        return isinstance(other, Size) and one.node is other.node
    return not isinstance(other, Size) and one == other


def fits(size: Any, target: Any) -> bool:
    """Whether a dimension of `size` elements is broadcast to `target`, which stays: it has as many, or 1."""
    sized = next((value for value in (size, target) if isinstance(value, Size)), None)
    if sized is None or _is_same(size, target):
        return _is_same(size, target) or bool(size == 1)
    verdict = sized.env.memo.decide(or_(eq(_node(size), _node(target)), eq(_node(size), 1)))
    if verdict is None:
        raise Undecided
    return verdict


def has(sizes: Any, number: int) -> bool:
    """Whether one of the sizes is this constant. A symbolic one that may be 0 or 1 counts as different: the results of
    rules that call this hold for it too, except for the strides of tensors without elements."""
    return any(type(size) is int and size == number for size in sizes)


def at_least_one(size: Any) -> Any:
    """max(size, 1), as used in strides: without the max for a product of symbols, as for the environment."""
    if not isinstance(size, Size):
        return max(size, 1)
    if size.env.is_size(size.node):
        return size
    return size.with_node(size.env.core.simplify(maximum(size.node, as_int(1))))
