"""Floats, as far as sizes need them: true division, rounding, roots. Without algebra, but with bounds.

No algebra happens on floats: IEEE arithmetic is neither associative nor exact. A node records the operation; its
value is what Python computes. Bounds use that +, -, *, / and sqrt are correctly rounded, and
correct rounding is monotone: the same operation at the ends of the argument intervals bounds the result exactly.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from itertools import product
from typing import Any
from weakref import WeakValueDictionary

from dynamo_lite.symbolic_shapes.expressions.expr import INF, Extended, Int, Node, as_int, children
from dynamo_lite.symbolic_shapes.expressions.nodes import OPERATIONS, made_of, next_id

FloatInterval = tuple[float, float]
ANY_FLOAT: FloatInterval = (-INF, INF)
EXACT = 2**53
"""Integers up to this magnitude convert to float exactly."""


class Float(Node):
    """A float expression: `op` of FLOAT_OPERATORS on `args` (Float or Int), "const" (`value`) or "symbol" (`name`)."""

    __slots__ = ("_symbols", "args", "hint", "name", "op", "value")
    _symbols: frozenset[Any] | None
    op: str
    args: tuple[Node, ...]
    value: float
    name: str
    hint: float | None

    def __add__(self, other: Any) -> Float:
        return apply_float("add", self, as_float(other))

    def __sub__(self, other: Any) -> Float:
        return apply_float("sub", self, as_float(other))

    def __mul__(self, other: Any) -> Float:
        return apply_float("mul", self, as_float(other))

    def __truediv__(self, other: Any) -> Float:
        return apply_float("div", self, as_float(other))

    def __pow__(self, other: Any) -> Float:
        return apply_float("pow", self, as_float(other))

    def __radd__(self, other: Any) -> Float:
        return as_float(other) + self

    def __rsub__(self, other: Any) -> Float:
        return as_float(other) - self

    def __rmul__(self, other: Any) -> Float:
        return as_float(other) * self

    def __rtruediv__(self, other: Any) -> Float:
        return as_float(other) / self

    def __neg__(self) -> Float:
        return apply_float("neg", self)

    def __repr__(self) -> str:
        return OPERATIONS["to_python"](self)


FLOAT_OPERATORS: dict[str, Callable[..., float]] = {
    "to_float": float,
    "int_truediv": operator.truediv,
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "pow": operator.pow,
    "neg": operator.neg,
    "abs": abs,
    "round_digits": round,
    "trunc_float": lambda x: float(math.trunc(x)),
    **{name: getattr(math, name) for name in (
        "sqrt", "log2", "exp", "log", "cos", "cosh", "sin", "sinh", "tan", "tanh", "asin", "acos", "atan")},
}
"""Each operator's meaning in Python. "to_float" and "int_truediv" take Ints; "round_digits" a Float and an Int."""

MONOTONE = {"to_float", "sqrt", "neg", "add", "sub", "mul"}
"""Correctly rounded and monotone in each argument separately (mul on each side of zero, which the corners cover)."""

_SIGNED = {"log": 1.0, "log2": 1.0, "exp": -INF}
"""Functions that the C library does not compute to the last bit: from this argument on they are not negative."""

_CONSTANTS: WeakValueDictionary[str, Float] = WeakValueDictionary()


def make_float(op: str, args: tuple[Node, ...], value: float = 0.0, name: str = "", hint: float | None = None) -> Float:
    """The interned node, without computing anything."""
    if op == "symbol":
        return _new_float(op, args, value, name, hint)
    # repr distinguishes 0.0 from -0.0 and makes nan equal to itself.
    table: Any = made_of(args) if args else _CONSTANTS
    key = (op, args) if args else repr(value)
    node: Float | None = table.get(key)
    if node is None:
        node = table[key] = _new_float(op, args, value, name, hint)
    return node


def _new_float(op: str, args: tuple[Node, ...], value: float, name: str, hint: float | None) -> Float:
    node = Float.__new__(Float)
    node.id = next_id()
    node.op, node.args, node.value, node.name, node.hint = op, args, value, name, hint
    node._symbols = node._made = None
    return node


def float_const(value: float) -> Float:
    """The node of a Python float."""
    return make_float("const", (), float(value))


def float_symbol(name: str, hint: float | None = None) -> Float:
    """A float unknown; each call makes a new one."""
    return make_float("symbol", (), name=name, hint=hint)


def to_float(p: Int | int) -> Float:
    """float(p), rounded to nearest as Python does. OverflowError for a constant that is too big."""
    return apply_float("to_float", as_int(p))


def int_truediv(a: Int | int, b: Int | int) -> Float:
    """a / b on ints: the true quotient correctly rounded (not float(a) / float(b))."""
    return apply_float("int_truediv", as_int(a), as_int(b))


def float_symbols_of(node: Node) -> frozenset[Float]:
    """Every float symbol inside an expression, at any depth."""
    if isinstance(node, Float) and node.op == "symbol":
        return frozenset((node,))
    found: frozenset[Float] | None = getattr(node, "_floats", None)
    if found is None:
        found = node._floats = frozenset().union(*map(float_symbols_of, children(node)))
    return found


def has_unknown_float(node: Node) -> bool:
    """Whether a float is in an expression that only run time knows."""
    return any(symbol.hint is None for symbol in float_symbols_of(node))


def as_float(value: Any) -> Float:
    """A `Float` from a Float, a float, an int or an Int."""
    if isinstance(value, Float):
        return value
    if isinstance(value, float):
        return float_const(value)
    return to_float(value)


def constant_of(node: Node) -> float | int | None:
    """The Python number a Float or Int is, if it is one."""
    if isinstance(node, Float):
        return node.value if node.op == "const" else None
    return node.as_constant() if isinstance(node, Int) else None


def apply_float(op: str, *args: Node) -> Float:
    """op(*args); computed at once when every argument is a constant (Python's errors propagate).

    1.0 * x is x, as for every float: so `float(n)` is printed (printer.py), and read again.
    """
    values = [constant_of(a) for a in args]
    if None not in values:
        return float_const(FLOAT_OPERATORS[op](*values))
    if op == "mul" and 1.0 in values:
        return as_float(args[1 - values.index(1.0)])
    return make_float(op, args)


# -- bounds -----------------------------------------------------------------------------------------------
def end_to_float(x: Extended) -> float:
    """float(x) as an end of an interval: what does not fit a float is infinite."""
    try:
        return float(x)
    except OverflowError:
        return INF if x > 0 else -INF


def float_interval(node: Float, of_int: Callable[[Int], tuple[Extended, Extended]]) -> FloatInterval:
    """Bounds of a float expression, given the bounds of the integer ones in it. A nan may always occur beside them."""
    if node.op == "const":
        return node.value, node.value
    if node.op == "int_truediv":
        return _truediv_interval(node, of_int)
    if node.op in _SIGNED:
        (arg,) = node.args
        assert isinstance(arg, Float)
        return (0.0, INF) if float_interval(arg, of_int)[0] >= _SIGNED[node.op] else ANY_FLOAT
    if node.op not in MONOTONE:
        return ANY_FLOAT
    ends = []
    for arg in node.args:
        if isinstance(arg, Float):
            ends.append(float_interval(arg, of_int))
        else:
            assert isinstance(arg, Int)
            lo, hi = of_int(arg)
            ends.append((end_to_float(lo), end_to_float(hi)))
    return _corners(FLOAT_OPERATORS[node.op], ends)


def _corners(op: Callable[..., float], ends: list[FloatInterval]) -> FloatInterval:
    try:
        values = [op(*corner) for corner in product(*ends)]
    except (ValueError, OverflowError, ZeroDivisionError):
        return ANY_FLOAT
    return ANY_FLOAT if any(v != v for v in values) else (min(values), max(values))


def _truediv_interval(node: Float, of_int: Callable[[Int], tuple[Extended, Extended]]) -> FloatInterval:
    # a / b is monotone in a, and in b on each side of zero; only for b != 0.
    a, b = of_int(node.args[0]), of_int(node.args[1])  # type: ignore[arg-type]
    if min(b) <= 0 <= max(b):  # the ends may have crossed: under an assumption that is being refuted
        return ANY_FLOAT
    values = []
    for x, y in product(a, b):
        if type(x) is float and type(y) is float:
            values += [0.0, x if y > 0 else -x]
        elif type(x) is float:
            values.append(x if y > 0 else -x)
        elif type(y) is float:
            values.append(0.0)
        else:
            try:
                values.append(x / y)
            except OverflowError:
                values.append(INF if (x > 0) == (y > 0) else -INF)
    return min(values), max(values)


ROUNDERS: dict[str, Callable[[float], int]] = {
    "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "round": round,
}
"""float -> int, as Python does (round: half to even)."""


def floor_of_float(op: str, x: float) -> Extended:
    """ROUNDERS[op] of an end (they are monotone)."""
    return x if math.isinf(x) else ROUNDERS[op](x)
