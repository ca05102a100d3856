"""Expressions as Python source: what users, logs and generated guards show. min, % and subtraction are recovered."""

from __future__ import annotations

import math
from collections.abc import Callable

from dynamo_lite.symbolic_shapes.expressions.expr import Apply, Int, Monomial, Node, Symbol, make_int
from dynamo_lite.symbolic_shapes.expressions.floats import Float
from dynamo_lite.symbolic_shapes.expressions.quotients import negated_max, take_out_mods, take_out_quotients
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, FloatRelation, Junction, Rel, Truth

Names = Callable[[Node], str]
"""How to write a symbol (a `Symbol` or a `Float` symbol)."""

SUM, TERM, POWER, ATOM = 1, 2, 3, 4
"""Binding strengths."""

COMPARE = {"le": "<=", "lt": "<", "eq": "==", "ne": "!="}
FLIPPED = {"<=": ">=", "==": "==", "!=": "!="}
CALLS = {"floor": "math.floor", "ceil": "math.ceil", "trunc": "math.trunc", "round": "round"}
INFIX = {"bitand": "&", "bitor": "|", "bitxor": "^"}
FLOAT_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**", "int_truediv": "/",
               "float_mod": "%", "float_floordiv": "//"}
FLOAT_CALLS = {"abs": "abs", "round_digits": "round", "float_max": "max", "float_min": "min"}


def default_name(symbol: Node) -> str:
    return symbol.name  # type: ignore[attr-defined]


def to_python(node: Node, name: Names = default_name) -> str:
    """A Python expression that evaluates to the node; needs `math` in scope only for floats."""
    return _write(node, name, 0)


def _write(node: Node, name: Names, strength: int) -> str:
    text, own = _text(node, name)
    return f"({text})" if own < strength else text


def _text(node: Node, name: Names) -> tuple[str, int]:
    if isinstance(node, Int):
        return _polynomial(node, name)
    if isinstance(node, Symbol):
        return name(node), ATOM
    if isinstance(node, Apply):
        return _apply(node, name)
    if isinstance(node, Float):
        return _float(node, name)
    if isinstance(node, Bool):
        return _bool(node, name), 0
    raise TypeError(f"cannot print {type(node).__name__}")


# -- integers -----------------------------------------------------------------------------------------------
def _polynomial(p: Int, name: Names) -> tuple[str, int]:
    rest, quotients = take_out_quotients(p)
    pieces = [_term(mono, coef, name) for mono, coef in rest.sorted_terms()]
    pieces += [(coef, _binary(q.numerator, q.op, q.divisor, name), False) for coef, q in quotients]
    if rest.const or not pieces:
        pieces.append((rest.const, "", True))
    pieces.sort(key=lambda piece: piece[0] < 0)  # a positive term first: `b - a`, not `-a + b`
    if len(pieces) == 1:
        coef, text, tight = pieces[0]
        if not text:
            return str(coef), ATOM if coef >= 0 else SUM
        if coef == 1:
            factors = {atom for mono in rest.terms for atom in mono}
            return text, TERM if not tight or len(factors) > 1 else ATOM if text.isidentifier() else POWER
        return _scaled(coef, text, tight), TERM if coef >= 0 else SUM
    out = ""
    for coef, text, tight in pieces:
        body = _scaled(abs(coef), text, tight)
        if coef < 0 and not tight and abs(coef) == 1:
            body = f"({text})"  # -x // 2 would negate x, not the quotient
        out += (" - " if coef < 0 else " + ") + body if out else ("-" if coef < 0 else "") + body
    return out, SUM


def _scaled(coef: int, text: str, tight: bool) -> str:
    """coef * text; text binds tighter than * or is put in parentheses."""
    if not text:
        return str(coef)
    if coef == 1:
        return text
    body = text if tight else f"({text})"
    return f"-{body}" if coef == -1 else f"{coef}*{body}"


def _term(mono: Monomial, coef: int, name: Names) -> tuple[int, str, bool]:
    """(coefficient, text, whether the text may follow `k*` or `-` without parentheses)"""
    low = negated_max(mono[0]) if coef < 0 and len(mono) == 1 else None
    if low is not None:
        return -coef, f"min({', '.join(to_python(a, name) for a in low)})", True
    if len(mono) == 1:
        text, strength = _text(mono[0], name)
        return coef, f"({text})" if strength < TERM else text, strength != TERM
    return coef, _monomial(mono, name), True


def _monomial(mono: Monomial, name: Names) -> str:
    parts = []
    for atom in dict.fromkeys(mono):
        count = mono.count(atom)
        text = _write(atom, name, ATOM if count > 1 else POWER)
        parts.append(text if count == 1 else f"{text}**{count}")
    return "*".join(parts)


def _binary(left: Node, op: str, right: Node, name: Names) -> str:
    """`left op right` for // and %; both operands bind tighter."""
    return f"{_write(left, name, POWER)} {op} {_write(right, name, POWER)}"


def _apply(atom: Apply, name: Names) -> tuple[str, int]:
    if atom.op == "floordiv":
        return _binary(atom.args[0], "//", atom.args[1], name), TERM
    if atom.op == "pow":
        return f"{_write(atom.args[0], name, ATOM)}**{_write(atom.args[1], name, ATOM)}", POWER
    if atom.op == "ite":
        c, a, b = atom.args
        return f"{_write(a, name, SUM)} if {_write(c, name, 0)} else {_write(b, name, SUM)}", 0
    if atom.op in INFIX:
        return f"{_write(atom.args[0], name, ATOM)} {INFIX[atom.op]} {_write(atom.args[1], name, ATOM)}", 0
    call = CALLS.get(atom.op, atom.op)
    return f"{call}({', '.join(_write(a, name, 0) for a in atom.args)})", ATOM


def _float(node: Float, name: Names) -> tuple[str, int]:
    if node.op == "const":
        return _number(node.value)
    if node.op == "symbol":
        return name(node), ATOM
    if node.op in FLOAT_INFIX:
        left, right = (_write(a, name, ATOM) for a in node.args)
        return f"{left} {FLOAT_INFIX[node.op]} {right}", 0
    if node.op == "neg":
        return f"-{_write(node.args[0], name, ATOM)}", SUM
    if node.op == "to_float":  # the same number as float(n), which would fix a SymInt when torch traces a guard again
        return f"1.0 * {_write(node.args[0], name, POWER)}", 0
    if node.op == "float_ite":
        condition, then, otherwise = (_write(a, name, 1) for a in node.args)
        return f"({then} if {condition} else {otherwise})", ATOM
    if node.op == "trunc_float":
        return f"1.0 * math.trunc({_write(node.args[0], name, 0)})", 0
    call = FLOAT_CALLS.get(node.op, f"math.{node.op}")
    return f"{call}({', '.join(_write(a, name, 0) for a in node.args)})", ATOM


def _number(value: float) -> tuple[str, int]:
    if math.isfinite(value):
        return repr(value), ATOM if math.copysign(1.0, value) > 0 else SUM  # -0.0 has a sign as well
    return ("math.nan", ATOM) if value != value else ("math.inf", ATOM) if value > 0 else ("-math.inf", SUM)


# -- propositions ---------------------------------------------------------------------------------------------
def _bool(b: Bool, name: Names) -> str:
    if isinstance(b, Truth):
        return str(b.value)
    if isinstance(b, Rel):
        left, op, right = comparison(b)
        return f"{_write(left, name, SUM)} {op} {_write(right, name, SUM)}"
    if isinstance(b, Junction):
        return f" {b.kind} ".join(f"({to_python(a, name)})" for a in b.args)
    if isinstance(b, FloatRelation):
        a, c = (_write(x, name, SUM) for x in b.args)
        return f"{a} {COMPARE[b.op]} {c}" if b.positive else f"not {a} {COMPARE[b.op]} {c}"
    raise TypeError(f"cannot print {type(b).__name__}")


def comparison(rel: Rel) -> tuple[Int, str, Int]:
    """(left, operator, right) as a person would write it: positive terms left, negative ones and the constant right."""
    op = COMPARE[rel.kind]
    rest, mods = take_out_mods(rel.poly)
    left = make_int({m: c for m, c in rest.terms.items() if c > 0}, 0)
    right = make_int({m: -c for m, c in rest.terms.items() if c < 0}, -rest.const)
    for coef, x, d in mods:
        if coef > 0:
            left = left + (x % d) * coef
        else:
            right = right + (x % d) * -coef
    if not left.terms:
        left, right, op = right - right.const, as_const(-right.const), FLIPPED[op]
    return left, op, right


def as_const(value: int) -> Int:
    return make_int({}, value)
