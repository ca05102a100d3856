"""Symbolic sizes as the rules see them: arithmetic is that of expressions, a comparison is answered or not at all.

A rule is written once, for numbers. With a `Size` among them it computes an expression; where it would have to decide
something that the facts do not say, `Undecided` ends it, and the operator runs: then torch's kernel asks, and what it
asks becomes a fact. So an answer of a rule needs no fact, and holds for all sizes that the facts admit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from dynamo_lite.symbolic_shapes.expressions.division import take_out
from dynamo_lite.symbolic_shapes.expressions.expr import Int, as_int, symbols_of
from dynamo_lite.symbolic_shapes.expressions.intervals import declared
from dynamo_lite.symbolic_shapes.expressions.piecewise import maximum
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, eq, ge
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv
from dynamo_lite.symbolic_shapes.torch_node.sym_node import SymNode


class Undecided(Exception):
    """A rule asked something about sizes that does not follow from the facts."""


class Size:
    """An integer expression that is no constant."""

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
    def made(self, node: Int) -> Any:
        constant = node.as_constant()
        return type(self)(self.env, node) if constant is None else constant

    def __add__(self, other: Any) -> Any:
        return self.made(self.node + _node(other))

    def __mul__(self, other: Any) -> Any:
        return self.made(self.node * _node(other))

    __radd__, __rmul__ = __add__, __mul__

    def __sub__(self, other: Any) -> Any:
        return self.made(self.node - _node(other))

    def __rsub__(self, other: Any) -> Any:
        return self.made(_node(other) - self.node)

    def __neg__(self) -> Any:
        return self.made(-self.node)

    def __floordiv__(self, other: Any) -> Any:
        divisor = _node(other)
        if divisor.as_constant() is None:
            if not self.made(divisor) >= 1:
                raise Undecided
            exact, rest = take_out(self.node, divisor)  # the form of `//` is by declared ranges: the facts say more
            if not rest.terms and not rest.const:
                return self.made(exact)
        return self.made(self.node // divisor)

    def __mod__(self, other: Any) -> Any:
        return self - (self // other) * other

    def __rfloordiv__(self, other: Any) -> Any:
        return Size(self.env, _node(other)) // self

    def __rmod__(self, other: Any) -> Any:
        return other - (other // self) * self

    # -- comparisons
    def __eq__(self, other: object) -> bool:
        """True for the same expression. What is only equal on some calls is not asked: it would need a fact."""
        if other is None:
            return False
        node = _node(other)
        if node is self.node:
            return True
        constant = node.as_constant()
        if constant is None:
            return self._unlike(node)
        low, high = declared(self.node)
        if not low <= constant <= high or self.env.memo.decide(eq(self.node, node)) is False:
            return False
        return self._undecided(eq(self.node, node))

    def _unlike(self, node: Int) -> bool:
        """Whether this is an expression that is not plainly the same."""
        raise Undecided

    def _undecided(self, relation: Bool) -> bool:
        """What is answered to a question that the facts leave open."""
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
    """A size of which torch asks in order to lay a result out: the answer for all sizes from 2 on will do for it
    (torch_env/decisions.py says why), if the example's is the same. No fact is needed."""

    __slots__ = ()
    __hash__ = Size.__hash__

    def _unlike(self, node: Int) -> bool:
        relation = eq(self.node, node)
        answer = self.env.memo.decide(relation)
        return self._undecided(relation) if answer is None else answer

    def _undecided(self, relation: Bool) -> bool:
        answer = self.env.memo.decide_large(relation, self.env.size_like, self.env.derived_sizes)
        if answer is None or self.env.hint_of(relation) not in (None, answer):
            raise Undecided
        return answer


def for_layout(sizes: Iterable[Any]) -> tuple[Any, ...]:
    """Sizes or strides, of which only a layout depends."""
    return tuple([LayoutSize(size.env, size.node) if type(size) is Size else size for size in sizes])


def _node(value: Any) -> Int:
    if isinstance(value, Size):
        return value.node
    if type(value) is not int:
        raise Undecided
    return as_int(value)


def reader(env: TorchShapeEnv) -> Callable[[Any], Any]:
    """What a rule sees of an int or a SymInt here. Raises Undecided for a size that only run time knows."""

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
    """Whether two sequences of sizes are plainly the same. False says nothing of symbolic ones."""
    return len(one) == len(other) and all(_is_same(a, b) for a, b in zip(one, other))


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, Size):
        return isinstance(other, Size) and one.node is other.node
    return not isinstance(other, Size) and one == other


def has(sizes: Any, number: int) -> bool:
    """Whether one of the sizes is plainly this number. A symbolic one that may be 0 or 1 counts as another: what the
    rules that ask so say holds for it too, but for the strides of tensors without elements."""
    return any(type(size) is int and size == number for size in sizes)


def at_least_one(size: Any) -> Any:
    """max(size, 1), as it stands in strides: without the max for a product of symbols, as for the environment."""
    if not isinstance(size, Size):
        return max(size, 1)
    return size if size.env.is_size(size.node) else size.made(size.env.core.simplify(maximum(size.node, as_int(1))))
