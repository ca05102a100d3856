"""To sympy and back. sympy is the language at the edge: users, logs, torch and serializers see it.

The correspondence of sympy classes and operators is data: a `Heads` holds one function per operator (to sympy) and one
per sympy class (from sympy). `PLAIN` uses sympy's own classes; torch's function heads are another `Heads`, in
sympy_functions.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sympy

from dynamo_lite.symbolic_shapes.expressions.expr import Apply, Int, Monomial, Node, Symbol
from dynamo_lite.symbolic_shapes.expressions.floats import Float
from dynamo_lite.symbolic_shapes.expressions.intervals import declared
from dynamo_lite.symbolic_shapes.expressions.printer import comparison
from dynamo_lite.symbolic_shapes.expressions.quotients import Quotient, negated_max, take_out_mods, take_out_quotients
from dynamo_lite.symbolic_shapes.expressions.relations import FloatRelation, Junction, Rel, Truth
from dynamo_lite.symbolic_shapes.expressions.sympy_bridge.heads import Heads, NotConvertible
from dynamo_lite.symbolic_shapes.expressions.sympy_bridge.plain import PLAIN
from dynamo_lite.symbolic_shapes.expressions.sympy_bridge.terms import product, sum_of_terms

SymbolMap = Callable[[Node], sympy.Basic]
"""`Symbol` or `Float` symbol -> the sympy symbol that represents it."""


# -- to sympy -----------------------------------------------------------------------------------------------
class ToSympy:
    """A converter with a memo; make one per environment.

    Raises NotConvertible, and what Python raises where an expression has no value at all (a float divided by 0)."""

    def __init__(self, symbols: SymbolMap | None = None, heads: Heads | None = None) -> None:
        self._symbols = symbols or PlainSymbols()
        self._heads = heads or PLAIN
        self._memo: dict[Node, Any] = {}

    def __call__(self, node: Node) -> Any:
        found = self._memo.get(node)
        if found is None:
            found = self._memo[node] = self._convert(node)
        return found

    def _head(self, op: str) -> Callable[..., Any]:
        try:
            return self._heads.to_sympy[op]
        except KeyError:
            raise NotConvertible(f"no sympy head for the operator {op!r}") from None

    def _convert(self, node: Node) -> Any:
        if isinstance(node, Int):
            return self._polynomial(node)
        if isinstance(node, Symbol) or (isinstance(node, Float) and node.op == "symbol"):
            return self._symbols(node)
        if isinstance(node, Float) and node.op == "const":
            return sympy.Float(node.value)
        if isinstance(node, (Apply, Float)):
            op = "natural_pow" if node.op == "pow" and isinstance(node, Apply) else node.op
            return self._head(op)(*map(self, node.args))
        return self._proposition(node)

    def _polynomial(self, p: Int) -> Any:
        rest, quotients = take_out_quotients(p)
        parts = [self._term(mono, coef) for mono, coef in rest.sorted_terms()]
        parts += [self._quotient(q) * coef for coef, q in quotients]
        if rest.const or not parts:
            parts.append(sympy.Integer(rest.const))
        return parts[0] if len(parts) == 1 else sum_of_terms(parts)

    def _quotient(self, q: Quotient) -> Any:
        x, d = q.numerator, q.divisor
        if q.op == "//":
            return self._head("floordiv")(self(x), self(d))
        return self._head("natural_mod" if _is_natural(x) and _is_natural(d) else "mod")(self(x), self(d))

    def _term(self, mono: Monomial, coef: int) -> Any:
        factors = []
        for atom in mono:
            low = negated_max(atom)
            if coef < 0 and low is not None:
                factors.append(self._head("min")(*map(self, low)))
                coef = -coef
            else:
                factors.append(self(atom))
        return product(coef, factors)

    def _proposition(self, node: Node) -> Any:
        if isinstance(node, Truth):
            return sympy.true if node.value else sympy.false
        if isinstance(node, Rel):
            left, op, right = comparison(node)
            return _RELATIONS[op](self(left), self(right))
        if isinstance(node, Junction):
            return (sympy.And if node.kind == "and" else sympy.Or)(*map(self, node.args))
        if isinstance(node, FloatRelation):
            # Unevaluated: sympy's evaluation of it, and of its negation, disregards nan.
            relation = _FLOAT_RELATIONS[node.op](*map(self, node.args), evaluate=False)
            return relation if node.positive else sympy.Not(relation, evaluate=False)
        raise NotConvertible(f"no sympy form of {type(node).__name__}")


def _is_natural(p: Int) -> bool:
    """Whether p >= 0 follows from the declared ranges.

    Asked of our intervals: sympy's sign queries rebuild parts of the expression, and need not end on remainders."""
    if declared(p)[0] >= 0:
        return True
    rest, mods = take_out_mods(p)
    return bool(mods) and declared(rest)[0] >= 0 and all(k > 0 and declared(d)[0] > 0 for k, _, d in mods)


_RELATIONS: dict[str, Callable[..., Any]] = {
    "<=": sympy.Le,
    "<": sympy.Lt,
    ">=": sympy.Ge,
    ">": sympy.Gt,
    "==": sympy.Eq,
    "!=": sympy.Ne,
}
_FLOAT_RELATIONS: dict[str, Callable[..., Any]] = {"lt": sympy.Lt, "le": sympy.Le, "eq": sympy.Eq}


class PlainSymbols:
    """sympy integer symbols with the same names; their sign assumptions are those of the declared range."""

    def __init__(self) -> None:
        self._made: dict[Node, sympy.Symbol] = {}

    def __call__(self, symbol: Node) -> sympy.Symbol:
        if symbol not in self._made:
            if isinstance(symbol, Symbol):
                sign = {"positive": True} if symbol.lo > 0 else {"nonnegative": True} if symbol.lo >= 0 else {}
                self._made[symbol] = sympy.Symbol(symbol.name, integer=True, **sign)
            else:
                assert isinstance(symbol, Float)
                self._made[symbol] = sympy.Symbol(symbol.name, real=True)
        return self._made[symbol]


# -- from sympy ---------------------------------------------------------------------------------------------
class FromSympy:
    """A converter with a memo: sympy -> `Int`, `Float` or `Bool`. Raises NotConvertible."""

    def __init__(self, symbols: Mapping[Any, Any] | Callable[[Any], Any], heads: Heads | None = None) -> None:
        self._symbols = symbols.__getitem__ if isinstance(symbols, Mapping) else symbols
        self._heads = heads or PLAIN
        self._memo: dict[Any, Any] = {}

    def __call__(self, expr: Any) -> Any:
        expr = sympy.sympify(expr)
        key = (type(expr), expr)  # sympy's 1 == 1.0
        found = self._memo.get(key)
        if found is None:
            try:
                found = self._convert(expr)
            except NotConvertible:
                raise
            except TypeError as error:  # a remainder of floats
                raise NotConvertible(f"no meaning for {expr}: {error}") from error
            self._memo[key] = found
        return found

    def _convert(self, expr: Any) -> Any:
        if isinstance(expr, sympy.Symbol):
            return self._symbols(expr)
        for cls in type(expr).__mro__:
            if cls in self._heads.raw:
                return self._heads.raw[cls](expr, self)
            if cls in self._heads.from_sympy:
                return self._heads.from_sympy[cls](*map(self, expr.args))
        raise NotConvertible(f"no meaning for the sympy head {type(expr).__name__} in {expr}")


def to_sympy(node: Node, symbols: SymbolMap | None = None, heads: Heads | None = None) -> Any:
    """One conversion; for many, keep a `ToSympy`."""
    return ToSympy(symbols, heads)(node)


def from_sympy(expr: Any, symbols: Mapping[Any, Any], heads: Heads | None = None) -> Any:
    """One conversion; `symbols` maps sympy symbols to `Int`s. For many, keep a `FromSympy`."""
    return FromSympy(symbols, heads)(expr)
