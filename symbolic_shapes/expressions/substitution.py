"""Substitution of atoms inside expressions; the result is canonical again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dynamo_lite.symbolic_shapes.expressions.expr import ZERO, Apply, Atom, Int, Node, as_int, make_apply, total
from dynamo_lite.symbolic_shapes.expressions.float_relations import compare
from dynamo_lite.symbolic_shapes.expressions.floats import Float, apply_float, make_float
from dynamo_lite.symbolic_shapes.expressions.piecewise import function, ite, maximum, power, round_float
from dynamo_lite.symbolic_shapes.expressions.relations import (
    ZERO_RELATIONS,
    Bool,
    FloatRelation,
    Junction,
    Rel,
    and_,
    not_,
    or_,
)

BUILDERS: dict[str, Any] = {
    "floordiv": lambda p, d: p // d,
    "max": maximum,
    "ite": ite,
    "pow": power,
    "floor": lambda x: round_float("floor", x),
    "ceil": lambda x: round_float("ceil", x),
    "trunc": lambda x: round_float("trunc", x),
    "round": lambda x: round_float("round", x),
}
"""The constructor of each operator's canonical form."""

AT_ZERO = make_apply("floordiv", (ZERO, ZERO)).as_int()
"""The unknown integer that x // 0 is, when a substitution makes a divisor the constant 0."""


def build(op: str, args: tuple[Any, ...]) -> Int:
    """op(*args) in canonical form. Where Python raises (a negative power, a float that overflows) it stays an atom
    of which nothing is known: a substitution describes a value, it does not compute it."""
    if op == "floordiv" and args[1] is ZERO:
        return AT_ZERO
    make = BUILDERS.get(op)
    try:
        return make(*args) if make else function(op, *args)
    except (ArithmeticError, ValueError):
        return make_apply(op, args).as_int()


def build_float(op: str, args: tuple[Any, ...]) -> Float:
    """Like `build`, of a float operator."""
    try:
        return apply_float(op, *args)
    except (ArithmeticError, ValueError):
        return make_float(op, args)


def substitute(node: Any, mapping: Mapping[Atom, Int], memo: dict[Node, Any] | None = None) -> Any:
    """The node with atoms replaced, at any depth; an atom in `mapping` is replaced whole."""
    return _substitute(node, mapping, {} if memo is None else memo)


def _substitute(node: Any, mapping: Mapping[Atom, Int], memo: dict[Node, Any]) -> Any:
    found = memo.get(node)
    if found is None:
        found = memo[node] = _rebuild(node, mapping, memo)
    return found


def _rebuild(node: Any, mapping: Mapping[Atom, Int], memo: dict[Node, Any]) -> Any:
    if isinstance(node, Int):
        return _rebuild_int(node, mapping, memo)
    if isinstance(node, Atom):
        if node in mapping:
            return mapping[node]
        if not isinstance(node, Apply):
            return node.as_int()
        args = tuple(_substitute(a, mapping, memo) for a in node.args)
        return node.as_int() if all(a is b for a, b in zip(args, node.args)) else build(node.op, args)
    if isinstance(node, Rel):
        poly = _substitute(node.poly, mapping, memo)
        return node if poly is node.poly else ZERO_RELATIONS[node.kind](poly)
    if isinstance(node, Junction):
        return (and_ if node.kind == "and" else or_)(*(_substitute(a, mapping, memo) for a in node.args))
    if isinstance(node, Float):
        args = tuple(_substitute(a, mapping, memo) for a in node.args)
        return node if all(a is b for a, b in zip(args, node.args)) else build_float(node.op, args)
    if isinstance(node, FloatRelation):
        relation = compare(node.op, *(_substitute(a, mapping, memo) for a in node.args))
        return relation if node.positive else not_(relation)
    if isinstance(node, Bool):
        return node
    raise TypeError(f"cannot substitute in {type(node).__name__}")


def _rebuild_int(p: Int, mapping: Mapping[Atom, Int], memo: dict[Node, Any]) -> Int:
    changed = False
    parts: list[Int] = []
    for mono, coef in p.terms.items():
        factors = [_substitute(a, mapping, memo) for a in mono]
        changed = changed or any(f is not a._int for f, a in zip(factors, mono))
        product = as_int(coef)
        for factor in factors:
            product = product * factor
        parts.append(product)
    return total(parts) + p.const if changed else p


def top_atoms(node: Any) -> list[Atom]:
    """Every atom of the polynomials of a proposition or expression, not those inside atoms; in order of age."""
    found: dict[Atom, None] = {}
    _collect(node, found)
    return sorted(found, key=lambda a: a.id)


def _collect(node: Any, found: dict[Atom, None]) -> None:
    if isinstance(node, Int):
        found.update(dict.fromkeys(node.atoms()))
    elif isinstance(node, Rel):
        _collect(node.poly, found)
    else:
        for arg in node.args:
            _collect(arg, found)
