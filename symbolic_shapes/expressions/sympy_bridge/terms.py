"""Sums and products of sympy symbols, in the form of sympy's constructors.

Those constructors check for every kind of argument, and the first one imports sympy's tensors for it: more work than
the rest of a small export. A polynomial of ours has its like terms collected already: only sympy's order of the
arguments remains to be made.
"""

from __future__ import annotations

from collections import Counter
from functools import cmp_to_key
from typing import Any

import sympy

_SYMBOLS = (sympy.Symbol, sympy.Dummy)
_IN_ORDER = cmp_to_key(sympy.Basic.compare)


def product(coef: int, factors: list[Any]) -> Any:
    """coef * factors."""
    if not all(type(f) in _SYMBOLS for f in factors):
        return sympy.Mul(sympy.Integer(coef), *factors) if coef != 1 else sympy.Mul(*factors)
    powers = [f if n == 1 else sympy.Pow(f, n) for f, n in Counter(factors).items()]
    powers.sort(key=_IN_ORDER)
    if coef != 1:
        powers.insert(0, sympy.Integer(coef))
    return powers[0] if len(powers) == 1 else sympy.Mul(*powers, evaluate=False)


def sum_of_terms(parts: list[Any]) -> Any:
    """The sum of the terms of a polynomial, no two of which are multiples of each other; a number comes last."""
    if not all(_is_of_symbols(part) for part in parts):
        return sympy.Add(*parts)
    number = parts.pop() if parts[-1].is_Number else None
    parts.sort(key=_IN_ORDER)
    return sympy.Add(*(parts if number is None else [number, *parts]), evaluate=False)


def _is_of_symbols(part: Any) -> bool:
    return all(_is_power(f) for f in part.args) if type(part) is sympy.Mul else _is_power(part)


def _is_power(factor: Any) -> bool:
    """Whether it is a number, a symbol, or a power of a symbol."""
    if type(factor) is sympy.Pow:
        return type(factor.args[0]) in _SYMBOLS and bool(factor.args[1].is_Integer)
    return type(factor) in _SYMBOLS or bool(factor.is_Integer)
