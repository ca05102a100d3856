"""The methods of a SymNode on our expressions: rows of `BINARY` and `UNARY`, named as torch's methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dynamo_lite.symbolic_shapes.expressions.float_relations import compare
from dynamo_lite.symbolic_shapes.expressions.floats import Float, apply_float, as_float, int_truediv
from dynamo_lite.symbolic_shapes.expressions.piecewise import (
    bool_to_int,
    function,
    maximum,
    minimum,
    power,
    round_float,
    shift_left,
    shift_right,
)
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, and_, eq, not_, or_

Meaning = Callable[..., Any]


def _floats(a: Any, b: Any) -> bool:
    return isinstance(a, Float) or isinstance(b, Float)


def _numbers(meaning: Meaning) -> Meaning:
    """With true for 1 and false for 0, as Python has it."""
    return lambda a, b: meaning(*(bool_to_int(x) if isinstance(x, Bool) else x for x in (a, b)))


def _arithmetic(of_ints: Meaning, of_floats: Meaning) -> Meaning:
    return _numbers(lambda a, b: of_floats(as_float(a), as_float(b)) if _floats(a, b) else of_ints(a, b))


def _of_integers(sign: str, meaning: Meaning) -> Meaning:
    """An operation that Python has for integers only. TypeError, in Python's words, for floats."""
    def of_integers(a: Any, b: Any) -> Any:
        if _floats(a, b):
            kinds = ["float" if isinstance(x, Float) else "int" for x in (a, b)]
            raise TypeError(f"unsupported operand type(s) for {sign}: '{kinds[0]}' and '{kinds[1]}'")
        return meaning(a, b)

    return _numbers(of_integers)


def _comparison(op: str, of_ints: Meaning) -> Meaning:
    return _numbers(lambda a, b: compare(op, as_float(a), as_float(b)) if _floats(a, b) else of_ints(a, b))


_EQUAL_NUMBERS = _comparison("eq", eq)


def _equal(a: Any, b: Any) -> Any:
    if isinstance(a, Bool) and isinstance(b, Bool):
        return or_(and_(a, b), and_(not_(a), not_(b)))
    return _EQUAL_NUMBERS(a, b)


def _float_op(op: str) -> Meaning:
    return lambda a, b: apply_float(op, a, b)


def _of_bools(meaning: Meaning, of_integers: Meaning) -> Meaning:
    """`&` and `|`: of bools a bool, otherwise an integer."""
    return lambda a, b: (meaning if isinstance(a, Bool) and isinstance(b, Bool) else of_integers)(a, b)


_BITWISE_AND = _of_integers("&", lambda a, b: function("bitand", a, b))
_BITWISE_OR = _of_integers("|", lambda a, b: function("bitor", a, b))
_BITWISE_XOR = _of_integers("^", lambda a, b: function("bitxor", a, b))

BINARY: dict[str, Meaning] = {
    "add": _arithmetic(lambda a, b: a + b, lambda a, b: a + b),
    "sub": _arithmetic(lambda a, b: a - b, lambda a, b: a - b),
    "mul": _arithmetic(lambda a, b: a * b, lambda a, b: a * b),
    "mod": _arithmetic(lambda a, b: a % b, _float_op("float_mod")),
    "int_floordiv": _arithmetic(lambda a, b: a // b, _float_op("float_floordiv")),
    "int_truediv": _arithmetic(int_truediv, lambda a, b: a / b),
    "float_truediv": lambda a, b: as_float(a) / as_float(b),
    "float_pow": lambda a, b: as_float(a) ** as_float(b),
    "pow_by_natural": _numbers(power),
    "lshift": _of_integers("<<", shift_left),
    "rshift": _of_integers(">>", shift_right),
    "bitwise_and": _BITWISE_AND,
    "bitwise_or": _BITWISE_OR,
    "bitwise_xor": _BITWISE_XOR,
    "xor": _of_bools(lambda a, b: not_(_equal(a, b)), _BITWISE_XOR),  # SymBool ^ SymBool, since torch 2.14
    "sym_max": _arithmetic(maximum, _float_op("float_max")),
    "sym_min": _arithmetic(minimum, _float_op("float_min")),
    "and_": _of_bools(and_, _BITWISE_AND),
    "or_": _of_bools(or_, _BITWISE_OR),
    "eq": _equal,
    "ne": lambda a, b: not_(_equal(a, b)),
    "le": _comparison("le", lambda a, b: a <= b),
    "lt": _comparison("lt", lambda a, b: a < b),
    "ge": lambda a, b: BINARY["le"](b, a),
    "gt": lambda a, b: BINARY["lt"](b, a),
}
"""Method -> its meaning on our expressions."""

DIVISIONS = {"mod", "int_floordiv", "int_truediv", "float_truediv"}
"""Python raises ZeroDivisionError: that the divisor is not zero is recorded when the division is performed."""

ROUNDINGS = {"floor", "ceil", "trunc", "sym_int"}
"""Python raises ValueError for nan and OverflowError for infinities."""

SHIFTS = {"lshift", "rshift"}
"""Python raises ValueError for a negative count."""


def _is_integer(x: Any) -> Any:
    return compare("eq", as_float(round_float("floor", x)), x) if isinstance(x, Float) else eq(x, x)


def _rounding(op: str) -> Meaning:
    return lambda x: round_float(op, x) if isinstance(x, Float) else x


def _number(convert: Meaning) -> Meaning:
    """A conversion; true is one."""
    return lambda x: convert(bool_to_int(x) if isinstance(x, Bool) else x)


def _opaque(name: str) -> Meaning:
    return lambda x: apply_float(name, as_float(x))


UNARY: dict[str, Meaning] = {
    "neg": lambda x: -x,
    "pos": lambda x: x,
    "abs": lambda x: apply_float("abs", x) if isinstance(x, Float) else abs(x),
    "floor": _rounding("floor"),
    "ceil": _rounding("ceil"),
    "trunc": _rounding("trunc"),
    "sym_int": _number(_rounding("trunc")),
    "sym_float": _number(as_float),
    "sym_not": not_,
    "is_integer": _is_integer,
    **{f"sym_{name}": _opaque(name) for name in (
        "sqrt", "cos", "cosh", "sin", "sinh", "tan", "tanh", "asin", "acos", "atan", "log2")},
}
