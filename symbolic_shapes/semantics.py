"""What an expression means: its value in Python for given values of the symbols."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from symbolic_shapes.expr import Apply, Int, Node, Symbol
from symbolic_shapes.floats import FLOAT_OPERATORS, ROUNDERS, Float
from symbolic_shapes.relations import Bool, Junction, Opaque, Rel, Truth

FUNCTIONS: dict[str, Callable[..., int]] = {
    "bitand": operator.and_,
    "bitor": operator.or_,
    "bitxor": operator.xor,
}
"""Integer functions without algebra. `register_function` adds to it."""

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {"lt": operator.lt, "le": operator.le, "eq": operator.eq}


def register_function(name: str, meaning: Callable[..., int]) -> None:
    """Let `lattice.function(name, ...)` build atoms with this meaning on Python ints."""
    if FUNCTIONS.setdefault(name, meaning) is not meaning:
        raise ValueError(f"the function {name} is registered already")


def _power(base: int, exponent: int) -> int:
    if exponent < 0:
        raise ValueError("a negative power of an integer is not an integer")
    return int(base**exponent)


INT_OPERATORS: dict[str, Callable[..., int]] = {
    "floordiv": operator.floordiv,
    "max": max,
    "pow": _power,
    **ROUNDERS,
}


def evaluate(node: Node, values: Mapping[Any, Any]) -> Any:
    """The int, bool or float that `node` is when each symbol has its value in `values`.

    Keys are `Symbol`s (or `Float` symbols). Raises what Python raises (ZeroDivisionError, ...), ValueError for a
    negative integer power, KeyError for a symbol without value. `and`/`or`/ite evaluate only what they need.
    """
    return _evaluate(node, values, {})


def _evaluate(node: Node, values: Mapping[Any, Any], memo: dict[Node, Any]) -> Any:
    found = memo.get(node)
    if found is None:
        found = memo[node] = _compute(node, values, memo)
    return found


def _compute(node: Node, values: Mapping[Any, Any], memo: dict[Node, Any]) -> Any:
    if isinstance(node, Int):
        result = node.const
        for mono, coef in node.terms.items():
            for atom in mono:
                coef *= _evaluate(atom, values, memo)
            result += coef
        return result
    if isinstance(node, Symbol):
        return values[node]
    if isinstance(node, Apply):
        return _compute_apply(node, values, memo)
    if isinstance(node, Float):
        if node.op == "const":
            return node.value
        if node.op == "symbol":
            return values[node]
        return FLOAT_OPERATORS[node.op](*(_evaluate(a, values, memo) for a in node.args))
    if isinstance(node, Bool):
        return _compute_bool(node, values, memo)
    raise TypeError(f"no meaning for {type(node).__name__}")


def _compute_apply(node: Apply, values: Mapping[Any, Any], memo: dict[Node, Any]) -> int:
    if node.op == "ite":
        cond, then, other = node.args
        return _evaluate(then if _evaluate(cond, values, memo) else other, values, memo)
    meaning = INT_OPERATORS.get(node.op) or FUNCTIONS[node.op]
    return meaning(*(_evaluate(a, values, memo) for a in node.args))


def _compute_bool(node: Bool, values: Mapping[Any, Any], memo: dict[Node, Any]) -> bool:
    if isinstance(node, Truth):
        return node.value
    if isinstance(node, Rel):
        value = _evaluate(node.poly, values, memo)
        return value <= 0 if node.kind == "le" else (value == 0) == (node.kind == "eq")
    if isinstance(node, Junction):
        quantifier = all if node.kind == "and" else any
        return quantifier(_evaluate(a, values, memo) for a in node.args)
    if isinstance(node, Opaque):
        a, b = (_evaluate(x, values, memo) for x in node.args)
        return COMPARISONS[node.op](a, b) == node.positive
    raise TypeError(f"no meaning for {type(node).__name__}")
