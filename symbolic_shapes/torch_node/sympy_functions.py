"""torch's dialect of sympy: which of torch's function heads corresponds to which operator of ours, in both directions.

torch's serializer, proxy tracer and bounds match on these heads (torch/utils/_sympy/functions.py). Quotients and
remainders are built unevaluated (evaluate=False): our normal form has applied the laws already. Evaluation by torch and
sympy on construction is wrong in places (FloorDiv(FloorDiv(a, b), c) becomes FloorDiv(a, b*c), also where c < 0) or
does not end (PythonMod calls sympy.Mod, whose eval may undo and redo one step until the stack is full).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import sympy

from dynamo_lite.symbolic_shapes.expressions.expr import Int, Node, Symbol
from dynamo_lite.symbolic_shapes.expressions.floats import FLOAT_OPERATORS, Float, apply_float, as_float, int_truediv
from dynamo_lite.symbolic_shapes.expressions.piecewise import (
    function,
    maximum,
    minimum,
    register_function,
    round_float,
    round_int,
)
from dynamo_lite.symbolic_shapes.expressions.sympy_bridge.plain import PLAIN, to_piecewise
from dynamo_lite.symbolic_shapes.torch_node._torch import _eval_is_non_overlapping_and_dense_flat, heads

NON_OVERLAPPING = "IsNonOverlappingAndDenseIndicator"
"""1 if a tensor with these sizes and strides (the first and second half of the arguments) has each element once and
no gaps, else 0."""

register_function(NON_OVERLAPPING, _eval_is_non_overlapping_and_dense_flat)

FLOAT_OPERATORS.setdefault("float_floordiv", lambda a, b: a // b)
FLOAT_OPERATORS.setdefault("float_mod", lambda a, b: a % b)
FLOAT_OPERATORS.setdefault("float_max", max)
FLOAT_OPERATORS.setdefault("float_min", min)
FLOAT_OPERATORS.setdefault("float_ite", lambda c, a, b: a if c else b)

UNARY_FUNCTIONS = ("sqrt", "log2", "exp", "log", "cos", "cosh", "sin", "sinh", "tan", "tanh", "asin", "acos", "atan")
BITWISE = {"bitand": "bitwise_and", "bitor": "bitwise_or", "bitxor": "bitwise_xor"}


# -- to sympy -----------------------------------------------------------------------------------------------
def _unevaluated(head: Any) -> Any:
    return lambda *args: head(*args, evaluate=False)


def _divided_as_it_stands(head: Any, meaning: Callable[[int, int], int]) -> Any:
    def build(p: Any, d: Any) -> Any:
        if p.is_Integer and d.is_Integer and d:  # sympy has chosen by the sign of a symbol
            return sympy.Integer(meaning(int(p), int(d)))
        return head(p, d, evaluate=False)

    return build


# -- from sympy -----------------------------------------------------------------------------------------------
def _rounder(op: str) -> Any:
    return lambda x: x if isinstance(x, Int) else round_float(op, x)


def _round_decimal(x: Any, digits: Any) -> Any:
    if isinstance(x, Int):
        return round_int(x, digits.as_constant())
    return apply_float("round_digits", x, digits)


def _opaque(name: str) -> Any:
    return lambda x: apply_float(name, as_float(x))


def _divided(p: Any, d: Any) -> Any:
    if isinstance(p, Float) or isinstance(d, Float):
        return apply_float("float_floordiv", as_float(p), as_float(d))
    return p // d


def _remainder(p: Any, d: Any) -> Any:
    if isinstance(p, Float) or isinstance(d, Float):
        return apply_float("float_mod", as_float(p), as_float(d))
    return p % d


def _greatest(*args: Any) -> Any:
    return _extreme(args, maximum, "float_max")


def _least(*args: Any) -> Any:
    return _extreme(args, minimum, "float_min")


def _extreme(args: tuple[Any, ...], of_ints: Any, op: str) -> Any:
    if not any(isinstance(a, Float) for a in args):
        return of_ints(*args)
    result = as_float(args[0])
    for arg in args[1:]:
        result = apply_float(op, result, as_float(arg))
    return result


TORCH = PLAIN.extended(
    to_sympy={
        "floordiv": _divided_as_it_stands(heads.FloorDiv, operator.floordiv),
        "max": heads.Max, "min": heads.Min, "pow": heads.FloatPow, "natural_pow": heads.PowByNatural,
        # Mod is defined on nonnegative numbers only; PythonMod is Python's %, for any sign.
        "natural_mod": _divided_as_it_stands(heads.Mod, operator.mod),
        "mod": _divided_as_it_stands(heads.PythonMod, operator.mod),
        "ite": to_piecewise, "float_ite": to_piecewise,
        "floor": heads.FloorToInt, "ceil": heads.CeilToInt, "trunc": heads.TruncToInt, "round": heads.RoundToInt,
        "to_float": heads.ToFloat, "int_truediv": heads.IntTrueDiv, "div": heads.FloatTrueDiv,
        "round_digits": heads.RoundDecimal, "trunc_float": heads.TruncToFloat,
        # Unevaluated: sympy would reorder and merge terms, which float arithmetic does not admit.
        "add": _unevaluated(sympy.Add), "mul": _unevaluated(sympy.Mul),
        "sub": lambda a, b: sympy.Add(a, sympy.Mul(-1, b, evaluate=False), evaluate=False),
        "neg": lambda a: sympy.Mul(-1, a, evaluate=False), "abs": _unevaluated(sympy.Abs),
        "float_floordiv": _unevaluated(heads.FloorDiv), "float_mod": _unevaluated(heads.PythonMod),
        "float_max": heads.Max, "float_min": heads.Min,
        NON_OVERLAPPING: heads.IsNonOverlappingAndDenseIndicator,
        **{ours: getattr(heads, f"BitwiseFn_{theirs}") for ours, theirs in BITWISE.items()},
        **{name: getattr(heads, f"OpaqueUnaryFn_{name}") for name in UNARY_FUNCTIONS},
    },
    from_sympy={
        heads.FloorDiv: _divided, heads.Mod: _remainder, heads.PythonMod: _remainder,
        heads.Max: _greatest, heads.Min: _least,
        heads.PowByNatural: lambda base, exponent: base**exponent,
        heads.FloatPow: lambda base, exponent: as_float(base) ** as_float(exponent),
        heads.FloatTrueDiv: lambda a, b: as_float(a) / as_float(b),
        heads.IntTrueDiv: int_truediv,
        heads.ToFloat: as_float,
        heads.FloorToInt: _rounder("floor"), heads.CeilToInt: _rounder("ceil"),
        heads.TruncToInt: _rounder("trunc"), heads.RoundToInt: _rounder("round"),
        heads.TruncToFloat: lambda x: apply_float("trunc_float", as_float(x)),
        heads.RoundDecimal: _round_decimal,
        heads.Identity: lambda x: x,
        heads.IsNonOverlappingAndDenseIndicator: lambda *args: function(NON_OVERLAPPING, *args),
        **{getattr(heads, f"BitwiseFn_{theirs}"): (lambda op: lambda a, b: function(op, a, b))(ours)
           for ours, theirs in BITWISE.items()},
        **{getattr(heads, f"OpaqueUnaryFn_{name}"): _opaque(name) for name in UNARY_FUNCTIONS},
    },
)
"""The `Heads` of torch."""


class TorchSymbols:
    """Symbols of one environment as sympy symbols, with the names and assumptions that torch interprets.

    torch derives a symbol's nature from the start of its name (torch/utils/_sympy/symbol.py): s is a backed size, u an
    unbacked integer, zuf an unbacked float. Backed ones carry the sign of their declared range, unbacked ones none.
    """

    def __init__(self) -> None:
        self.to_sympy: dict[Node, sympy.Symbol] = {}
        self.from_sympy: dict[sympy.Symbol, Node] = {}

    def __call__(self, symbol: Node) -> sympy.Symbol:
        found = self.to_sympy.get(symbol)
        if found is None:
            found = self.to_sympy[symbol] = _sympy_symbol(symbol)
            if found in self.from_sympy:
                raise ValueError(f"two symbols would be {found} in sympy")
            self.from_sympy[found] = symbol
        return found

    def back(self, symbol: sympy.Symbol) -> Any:
        """The `Int` or `Float` of a sympy symbol. KeyError if it is not of this environment."""
        node = self.from_sympy[symbol]
        return node.as_int() if isinstance(node, Symbol) else node


def _sympy_symbol(symbol: Node) -> sympy.Symbol:
    if isinstance(symbol, Float):
        return sympy.Symbol(_prefixed(symbol.name, "zf" if symbol.hint is not None else "zuf"), real=True)
    assert isinstance(symbol, Symbol)
    if symbol.unbacked:
        return sympy.Symbol(_prefixed(symbol.name, "u"), integer=True)
    sign = {"positive": True} if symbol.lo > 0 else {"nonnegative": True} if symbol.lo >= 0 else {}
    return sympy.Symbol(_prefixed(symbol.name, "s"), integer=True, **sign)


def _prefixed(name: str, prefix: str) -> str:
    own = name.startswith(prefix) and name[len(prefix):].isdigit()
    return name if own else f"{prefix}_{name}"
