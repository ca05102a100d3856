"""Symbolic sizes as the rules see them: arithmetic is that of expressions, a comparison is answered or not at all.

A rule is written once, for numbers. With a `Size` among them it computes an expression; where it would have to decide
something that the facts do not say, `Undecided` ends it, and the operator runs: then torch's kernel asks, and what it
asks becomes a fact. So an answer of a rule needs no fact, and holds for all sizes that the facts admit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dynamo_lite.symbolic_shapes.expressions.expr import Int, as_int, symbols_of
from dynamo_lite.symbolic_shapes.expressions.intervals import declared
from dynamo_lite.symbolic_shapes.expressions.piecewise import maximum
from dynamo_lite.symbolic_shapes.expressions.relations import eq
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
        return Size(self.env, node) if constant is None else constant

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
        if divisor.as_constant() is None and not self.made(divisor) >= 1:
            raise Undecided
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
            raise Undecided
        low, high = declared(self.node)
        if not low <= constant <= high or self.env.memo.decide(eq(self.node, node)) is False:
            return False
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
        if answer is None:
            raise Undecided
        return answer


def _node(value: Any) -> Int:
    if type(value) is Size:
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
    if type(one) is Size:
        return type(other) is Size and one.node is other.node
    return type(other) is not Size and one == other


def has(sizes: Any, number: int) -> bool:
    """Whether one of the sizes is plainly this number. A symbolic one that may be 0 or 1 counts as another: what the
    rules that ask so say holds for it too, but for the strides of tensors without elements."""
    return any(type(size) is int and size == number for size in sizes)


def at_least_one(size: Any) -> Any:
    """max(size, 1), as it stands in strides: without the max for a product of symbols, as for the environment."""
    if type(size) is not Size:
        return max(size, 1)
    return size if size.env.is_size(size.node) else size.made(size.env.core.simplify(maximum(size.node, as_int(1))))
