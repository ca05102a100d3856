"""To sympy and back. sympy is the language at the edge: users, logs, torch and serializers see it.

Which sympy class stands for which operator is data: a `Heads` holds one function per operator (to sympy) and
one per sympy class (from sympy). `PLAIN` speaks sympy's own classes; torch's function heads are another `Heads`, in
sympy_functions.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import sympy

from dynamo_lite.symbolic_shapes.expressions.division import ceildiv
from dynamo_lite.symbolic_shapes.expressions.expr import Apply, Int, Monomial, Node, Symbol, as_int
from dynamo_lite.symbolic_shapes.expressions.float_relations import compare
from dynamo_lite.symbolic_shapes.expressions.floats import Float, apply_float, as_float, float_const, int_truediv
from dynamo_lite.symbolic_shapes.expressions.intervals import declared
from dynamo_lite.symbolic_shapes.expressions.piecewise import (
    FUNCTIONS,
    function,
    ite,
    ite_bool,
    maximum,
    minimum,
    power,
    round_float,
)
from dynamo_lite.symbolic_shapes.expressions.printer import comparison
from dynamo_lite.symbolic_shapes.expressions.quotients import Quotient, negated_max, take_out_mods, take_out_quotients
from dynamo_lite.symbolic_shapes.expressions.relations import (
    FALSE,
    TRUE,
    Bool,
    Junction,
    Opaque,
    Rel,
    Truth,
    and_,
    as_bool,
    eq,
    not_,
    or_,
)
from dynamo_lite.symbolic_shapes.expressions.sympy_terms import product, sum_of_terms

SymbolMap = Callable[[Node], sympy.Basic]
"""`Symbol` or `Float` symbol -> the sympy symbol that stands for it."""


class NotConvertible(TypeError):
    """An expression with no counterpart on the other side."""


@dataclass
class Heads:
    """The vocabulary of one dialect of sympy.

    to_sympy: operator -> function of converted arguments. Keys are the operators of `Apply` and `Float` nodes, and
        "mod", "natural_mod" (of numbers that are not negative) and "min", which are written out where recognised, and
        "natural_pow" ("pow" of integers).
    from_sympy: sympy class -> function of converted arguments (looked up along the class's MRO).
    raw: sympy class -> function (expr, convert) for those that need to see the sympy arguments themselves.
    """

    to_sympy: dict[str, Callable[..., Any]] = field(default_factory=dict)
    from_sympy: dict[type, Callable[..., Any]] = field(default_factory=dict)
    raw: dict[type, Callable[..., Any]] = field(default_factory=dict)

    def extended(self, **tables: Mapping[Any, Callable[..., Any]]) -> Heads:
        """A copy with further or other entries."""
        return Heads(*({**getattr(self, name), **tables.get(name, {})} for name in ("to_sympy", "from_sympy", "raw")))


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
        if isinstance(node, Opaque):
            # As it stands: what sympy computes of it, and of its negation, leaves out nan.
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


def _sum(*args: Any) -> Any:
    result = args[0]
    for arg in args[1:]:
        result = result + arg
    return result


def _mul(expr: sympy.Mul, convert: Callable[[Any], Any]) -> Any:
    numerator, denominator = expr.as_numer_denom() if any(map(_divides, expr.args)) else (expr, sympy.S.One)
    if denominator is not sympy.S.One and numerator is not expr:
        return _quotient(convert(numerator), convert(denominator))
    result: Any = as_int(1)
    for arg in expr.args:
        result = result * convert(arg)
    return result


def _divides(factor: Any) -> bool:
    """Whether a factor is 1/something: a negative power, or a rational number."""
    if isinstance(factor, sympy.Rational):
        return not factor.is_Integer
    return isinstance(factor, sympy.Pow) and bool(factor.exp.is_Integer) and factor.exp < 0


def _quotient(a: Any, b: Any) -> Any:
    """a / b, a float."""
    return int_truediv(a, b) if isinstance(a, Int) and isinstance(b, Int) else as_float(a) / as_float(b)


def _pow(expr: sympy.Pow, convert: Callable[[Any], Any]) -> Any:
    if expr.exp == sympy.Rational(1, 2):
        return apply_float("sqrt", as_float(convert(expr.base)))
    if _divides(expr):
        return _quotient(as_int(1), convert(expr.base**-expr.exp))
    base, exponent = convert(expr.base), convert(expr.exp)
    if isinstance(base, Float) or isinstance(exponent, Float):
        return as_float(base) ** as_float(exponent)
    return power(base, exponent)


def _rounded(divide: Callable[[Int, Int], Int], op: str) -> Callable[[Any, Callable[[Any], Any]], Any]:
    def convert_rounding(expr: Any, convert: Callable[[Any], Any]) -> Any:
        # sympy writes a floor division as floor(p / d) over the rationals: exact, so it is ours too.
        numerator, denominator = sympy.together(expr.args[0]).as_numer_denom()
        a, b = convert(numerator), convert(denominator)
        if isinstance(a, Int) and isinstance(b, Int):
            return divide(a, b)
        return round_float(op, as_float(a) if denominator == 1 else as_float(a) / as_float(b))

    return convert_rounding


def _piecewise(expr: sympy.Piecewise, convert: Callable[[Any], Any]) -> Any:
    pairs = [(convert(e), as_bool(convert(c))) for e, c in expr.args]
    if pairs[-1][1] is not TRUE:
        raise NotConvertible(f"{expr} has no value when none of its conditions holds")
    result: Any = pairs[-1][0]
    for value, cond in reversed(pairs[:-1]):
        if isinstance(value, Float) or isinstance(result, Float):
            raise NotConvertible(f"a choice between floats: {expr}")
        result = ite_bool(cond, value, result) if isinstance(value, Bool) else ite(cond, value, result)
    return result


def relation_from(op: str) -> Callable[[Any, Any], Bool]:
    """The constructor of a comparison for ints, floats or propositions. `op` is lt, le or eq."""

    def build(a: Any, b: Any) -> Bool:
        if isinstance(a, Bool) and isinstance(b, Bool):
            return (a & b) | (~a & ~b)
        if isinstance(a, Float) or isinstance(b, Float):
            return compare(op, as_float(a), as_float(b))
        return eq(a, b) if op == "eq" else (a <= b if op == "le" else a < b)

    return build


def _relation(build: Callable[[Any, Any], Bool]) -> Callable[[Any, Callable[[Any], Any]], Bool]:
    """A comparison; sympy may have divided it by a number (2*y < x becomes y < x/2): multiply that back."""

    def convert_relation(expr: Any, convert: Callable[[Any], Any]) -> Bool:
        left, right = expr.args
        scale = math.lcm(*(int(q.q) for q in expr.atoms(sympy.Rational))) if _has_fraction(expr) else 1
        return (
            build(convert(sympy.expand(left * scale)), convert(sympy.expand(right * scale)))
            if scale != 1
            else build(convert(left), convert(right))
        )

    return convert_relation


def _has_fraction(expr: Any) -> bool:
    """Whether a rational coefficient stands outside of floor and ceiling (inside, it is a floor division), in a
    comparison of integers: one of floats is about their quotients as they are."""
    if isinstance(expr, sympy.core.relational.Relational) and expr.atoms(sympy.Float):
        return False
    if isinstance(expr, sympy.Rational):
        return not expr.is_Integer
    return not isinstance(expr, (sympy.floor, sympy.ceiling)) and any(map(_has_fraction, expr.args))


def _swapped(build: Callable[[Any, Any], Bool]) -> Callable[[Any, Any], Bool]:
    return lambda a, b: build(b, a)


def _remainder_of_sympy(p: Any, d: Any) -> Any:
    # It takes the sign of the divisor, as Python's. Its eval may undo and redo one step until the stack is full.
    return sympy.Mod(p, d, evaluate=False)


def to_piecewise(cond: Any, then: Any, other: Any) -> Any:
    return sympy.Piecewise((then, cond), (other, True))


PLAIN = Heads(
    to_sympy={
        "floordiv": lambda p, d: sympy.floor(p / d),
        "mod": _remainder_of_sympy,
        "natural_mod": _remainder_of_sympy,
        "max": sympy.Max,
        "min": sympy.Min,
        "pow": sympy.Pow,
        "natural_pow": sympy.Pow,
        "ite": to_piecewise,
        "int_truediv": lambda a, b: a / b,
        "to_float": lambda p: p * sympy.Float(1.0),
        "floor": sympy.floor,
        "ceil": sympy.ceiling,
        "add": sympy.Add,
        "sub": lambda a, b: a - b,
        "mul": sympy.Mul,
        "div": lambda a, b: a / b,
        "neg": lambda a: -a,
        "sqrt": sympy.sqrt,
        "abs": sympy.Abs,
        **{name: sympy.Function(name) for name in FUNCTIONS},
    },
    from_sympy={
        sympy.Add: _sum,
        sympy.Max: maximum,
        sympy.Min: minimum,
        sympy.Abs: lambda x: apply_float("abs", x) if isinstance(x, Float) else abs(x),
        sympy.Mod: lambda p, d: p % d,
        sympy.And: and_,
        sympy.Or: or_,
        sympy.Not: not_,
        sympy.ITE: ite_bool,
    },
    raw={
        sympy.Integer: lambda e, _: as_int(int(e)),
        sympy.Float: lambda e, _: float_const(float(e)),
        type(sympy.true): lambda e, _: TRUE,
        type(sympy.false): lambda e, _: FALSE,
        sympy.Rational: lambda e, _: int_truediv(int(e.p), int(e.q)),
        sympy.core.numbers.Infinity: lambda e, _: float_const(math.inf),
        sympy.core.numbers.NegativeInfinity: lambda e, _: float_const(-math.inf),
        sympy.core.numbers.NaN: lambda e, _: float_const(math.nan),
        sympy.Mul: _mul,
        sympy.Pow: _pow,
        sympy.Eq: _relation(relation_from("eq")),
        sympy.Ne: _relation(lambda a, b: not_(relation_from("eq")(a, b))),
        sympy.Le: _relation(relation_from("le")),
        sympy.Lt: _relation(relation_from("lt")),
        sympy.Ge: _relation(_swapped(relation_from("le"))),
        sympy.Gt: _relation(_swapped(relation_from("lt"))),
        sympy.floor: _rounded(lambda a, b: a // b, "floor"),
        sympy.ceiling: _rounded(ceildiv, "ceil"),
        sympy.Piecewise: _piecewise,
        sympy.core.function.AppliedUndef: lambda e, convert: function(e.func.__name__, *map(convert, e.args)),
    },
)
"""sympy's own classes. Floats through it are for display: sympy reorders and merges them."""


def to_sympy(node: Node, symbols: SymbolMap | None = None, heads: Heads | None = None) -> Any:
    """One conversion; for many, keep a `ToSympy`."""
    return ToSympy(symbols, heads)(node)


def from_sympy(expr: Any, symbols: Mapping[Any, Any], heads: Heads | None = None) -> Any:
    """One conversion; `symbols` maps sympy symbols to `Int`s. For many, keep a `FromSympy`."""
    return FromSympy(symbols, heads)(expr)
