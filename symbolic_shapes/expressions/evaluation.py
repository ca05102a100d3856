"""The meaning of an expression: its value in Python for given values of the symbols."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from dynamo_lite.symbolic_shapes.expressions.expr import Apply, Int, Node, Symbol
from dynamo_lite.symbolic_shapes.expressions.floats import FLOAT_OPERATORS, ROUNDERS, Float
from dynamo_lite.symbolic_shapes.expressions.piecewise import FUNCTIONS
from dynamo_lite.symbolic_shapes.expressions.relations import FloatRelation, Junction, Rel, Truth

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {"lt": operator.lt, "le": operator.le, "eq": operator.eq}


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


def evaluate(node: Node, values: Mapping[Any, Any], memo: dict[Node, Any] | None = None) -> Any:
    """The int, bool or float value of `node` when each symbol has its value in `values`.

    Keys are `Symbol`s (or `Float` symbols). Raises Python's errors (ZeroDivisionError, ...), ValueError for a negative
    integer power, KeyError for a symbol without value. `and`/`or`/ite evaluate only the operands they need.
    memo: earlier results of operators, for the same values.
    """
    meaning = _MEANINGS.get(node.__class__)
    if meaning is None:
        raise TypeError(f"no meaning for {type(node).__name__}")
    return meaning(node, values, {} if memo is None else memo)


Values = Mapping[Any, Any]
Memo = dict[Node, Any]
"""The values of the operators that were evaluated: they share parts."""


def _evaluate(node: Node, values: Values, memo: Memo) -> Any:
    return _MEANINGS[node.__class__](node, values, memo)


def _int(node: Int, values: Values, memo: Memo) -> int:
    result = node.const
    for mono, coef in node.terms.items():
        for atom in mono:
            coef *= values[atom] if atom.__class__ is Symbol else _evaluate(atom, values, memo)
        result += coef
    return result


def _apply(node: Apply, values: Values, memo: Memo) -> int:
    found = memo.get(node)
    if found is None:
        if node.op == "ite":
            cond, then, other = node.args
            found = _evaluate(then if _evaluate(cond, values, memo) else other, values, memo)
        else:
            meaning = INT_OPERATORS.get(node.op) or FUNCTIONS[node.op]
            found = meaning(*[_evaluate(a, values, memo) for a in node.args])
        memo[node] = found
    return found


def _float(node: Float, values: Values, memo: Memo) -> Any:
    if node.op == "const":
        return node.value
    if node.op == "symbol":
        return values[node]
    found = memo.get(node)
    if found is None:
        found = memo[node] = FLOAT_OPERATORS[node.op](*[_evaluate(a, values, memo) for a in node.args])
    return found


def _rel(node: Rel, values: Values, memo: Memo) -> bool:
    value = _int(node.poly, values, memo)
    return value <= 0 if node.kind == "le" else (value == 0) == (node.kind == "eq")


def _junction(node: Junction, values: Values, memo: Memo) -> bool:
    quantifier = all if node.kind == "and" else any
    return quantifier(_evaluate(a, values, memo) for a in node.args)


def _opaque(node: FloatRelation, values: Values, memo: Memo) -> bool:
    a, b = (_evaluate(x, values, memo) for x in node.args)
    return COMPARISONS[node.op](a, b) == node.positive


_MEANINGS: dict[type, Callable[[Any, Values, Memo], Any]] = {
    Int: _int, Symbol: lambda node, values, memo: values[node], Apply: _apply, Float: _float,
    Truth: lambda node, values, memo: node.value, Rel: _rel, Junction: _junction, FloatRelation: _opaque,
}
