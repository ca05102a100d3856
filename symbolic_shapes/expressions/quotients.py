"""Remainders, quotients and minima recovered from canonical forms, to write an expression down.

The canonical form of (3*q + n) // 2 is q + (q + n) // 2, with q in two places. Written out unchanged, a chain of K such
quotients has 2**K leaves; written as it was computed, K. So the part common to a quotient and the terms beside it goes
back into the quotient.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dynamo_lite.symbolic_shapes.expressions.expr import Apply, Atom, Int, Monomial, Node, make_int


@dataclass(frozen=True)
class Quotient:
    """numerator op divisor, op being // or %."""

    op: str
    numerator: Int
    divisor: Int

    def value(self) -> Int:
        """The canonical form."""
        return self.numerator // self.divisor if self.op == "//" else self.numerator % self.divisor


def negated_max(atom: Atom) -> list[Int] | None:
    """[x, y] for the atom max(-x, -y), if that is the simpler way to write it: -max(-x, -y) is min(x, y)."""
    if not isinstance(atom, Apply) or atom.op != "max":
        return None
    args = [a for a in atom.args if isinstance(a, Int)]
    negative = sum(c < 0 for a in args for c in a.terms.values())
    positive = sum(c > 0 for a in args for c in a.terms.values())
    return [-a for a in args] if negative > positive else None


def take_out_mods(p: Int) -> tuple[Int, list[tuple[int, Int, Int]]]:
    """p == rest + sum(coef * (x % d)): undoes the definition x % d == x - d * (x // d) if all of it is there."""
    mods: list[tuple[int, Int, Int]] = []
    for mono, coef in p.sorted_terms():
        for atom in mono:
            if not isinstance(atom, Apply) or atom.op != "floordiv" or p.terms.get(mono) != coef:
                continue
            x, d = atom.args
            assert isinstance(x, Int) and isinstance(d, Int)
            found = _matches_mod(p, x, d, atom, mono)
            if found:
                mods.append((found, x, d))
                p = p - (x - d * atom.as_int()) * found
    return p, mods


def _matches_mod(p: Int, x: Int, d: Int, atom: Apply, mono: Monomial) -> int:
    """The coefficient k for which k * (x - d * atom) is a part of p; 0 if there is none."""
    if not d.terms and d.const and p.terms[mono] % d.const:  # most of the time
        return 0
    pattern = x - d * atom.as_int()
    found = next(((m, c) for m, c in pattern.sorted_terms() if atom in m), None)
    if found is None:
        return 0
    lead, coef = found
    k, remainder = divmod(p.terms.get(lead, 0), coef)
    if remainder or not k:
        return 0
    return k if all(p.terms.get(m, 0) == k * c for m, c in pattern.terms.items()) else 0


# -- quotients that share a part with the terms beside them -----------------------------------------------------
def take_out_quotients(p: Int) -> tuple[Int, list[tuple[int, Quotient]]]:
    """p == rest + sum(coef * quotient): the remainders of `take_out_mods`, and each quotient by a number that shares
    an operator with the rest, where one of the two ways of writing it has less of those."""
    rest, mods = take_out_mods(p)
    found = [(coef, Quotient("%", x, d)) for coef, x, d in mods]
    if len(rest.terms) < 2:
        return rest, found
    for atom in sorted((m[0] for m in rest.terms if len(m) == 1), key=lambda a: -a.id):  # the outermost first
        coef = rest.terms.get((atom,))
        if coef is None or not isinstance(atom, Apply) or atom.op != "floordiv":
            continue
        x, d = atom.args
        assert isinstance(x, Int) and isinstance(d, Int)
        shared = {m for m in rest.terms if m in x.terms and _has_operator(m)}
        if not shared or d.terms or not d.const:
            continue
        left, quotient = min((*_as_remainder(rest, coef, atom, x, d), _absorbing(rest, coef, atom, shared)),
                             key=lambda way: _operators(way[0].terms))
        if _operators(left.terms) < _operators(rest.terms) - 1:  # less than if the quotient is written unchanged
            rest = left
            found.append(quotient)
    return rest, found


def _as_remainder(rest: Int, coef: int, atom: Apply, x: Int, d: Int) -> Iterable[tuple[Int, tuple[int, Quotient]]]:
    """rest == left + k * (x % d), if the coefficient is a multiple of d."""
    k, remainder = divmod(-coef, d.const)
    if not remainder:
        yield rest - (x - d * atom.as_int()) * k, (k, Quotient("%", x, d))


def _absorbing(rest: Int, coef: int, atom: Apply, shared: set[Monomial]) -> tuple[Int, tuple[int, Quotient]]:
    """rest == left + coef * ((x + d*y) // d), where coef * y are the shared terms of rest."""
    x, d = atom.args
    assert isinstance(x, Int) and isinstance(d, Int)
    whole = make_int({m: rest.terms[m] // coef for m in shared if not rest.terms[m] % coef}, 0)
    return rest - (atom.as_int() + whole) * coef, (coef, Quotient("//", x + whole * d, d))


def _has_operator(mono: Monomial) -> bool:
    return any(isinstance(atom, Apply) for atom in mono)


def _operators(monos: Iterable[Monomial]) -> int:
    """How many terms have an operator in them."""
    return sum(map(_has_operator, monos))


def written_size(node: Node, memo: dict[Node, int] | None = None) -> int:
    """How many operands an expression has when it is written out, a shared part as often as it occurs."""
    sizes = {} if memo is None else memo
    found = sizes.get(node)
    if found is None:
        found = sizes[node] = sum(written_size(part, sizes) for part in _written_parts(node)) or 1
    return found


def _written_parts(node: Node) -> Iterable[Node]:
    if not isinstance(node, Int):
        return getattr(node, "args", ())
    rest, quotients = take_out_quotients(node)
    return [*rest.atoms(), *(part for _, q in quotients for part in (q.numerator, q.divisor))]
