"""Rules of proofs: congruences, p ≡ 0 (mod m)."""

from __future__ import annotations

import math
from typing import Any

from dynamo_lite.symbolic_shapes.expressions.expr import Atom
from dynamo_lite.symbolic_shapes.expressions.relations import FALSE, Rel, eq_zero, le_zero, ne_zero
from dynamo_lite.symbolic_shapes.proofs.congruences import Residue, residue
from dynamo_lite.symbolic_shapes.proofs.inference import BadCertificate, Claim, Premises, Rule, inequality, require
from dynamo_lite.symbolic_shapes.proofs.proof import Congruent


def _congruent(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """p, m, multipliers: m divides p - sum(k_i * p_i), for premises p_i ≡ 0 (mod m_i), m | k_i * m_i."""
    p, m, multipliers = data
    rest = p
    for k, claim in zip(multipliers, premises):
        if isinstance(claim, Congruent):
            q, n = claim
        else:
            require(isinstance(claim, Rel) and claim.kind == "eq", "not a congruence", claim)
            q, n = claim.poly, 0
        require(k * n % m == 0, "the modulus does not divide")
        rest = rest - q * k
    require(m >= 1 and all(c % m == 0 for c in (*rest.terms.values(), rest.const)), "not 0 modulo", rest, m)
    return Congruent(p, m)


def _residue(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """p, m: congruence arithmetic (sums and products) from the residues of single atoms."""
    p, m = data
    known: dict[Atom, Residue] = {}
    for claim in premises:
        require(isinstance(claim, Congruent), "not a congruence")
        poly, n = claim
        atom = (poly - poly.const).as_atom()
        if atom is None:
            raise BadCertificate("not about one atom")
        known[atom] = (n, -poly.const % n)
    modulus, r = residue(p, lambda a: known.get(a, (1, 0)))
    require((r % m == 0) if modulus == 0 else (modulus % m == 0 and r % m == 0), "the residue is another one")
    return Congruent(p, m)


def _incongruent(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """p: a premise p - r ≡ 0 (mod m) with m not dividing r gives p != 0."""
    p, claim = data[0], premises[0]
    require(isinstance(claim, Congruent), "not a congruence")
    r = (p - claim.poly).as_constant()
    require(r is not None and r % claim.modulus != 0, "p may be 0")
    return ne_zero(p)


def _incongruent_difference(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """Two congruences of one expression by one modulus with different residues contradict each other."""
    (p, m), (q, n) = premises
    require(isinstance(premises[0], Congruent) and isinstance(premises[1], Congruent) and m == n, "not two congruences")
    difference = (p - q).as_constant()
    require(difference is not None and difference % m != 0, "they agree")
    return FALSE


def _chinese(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """p, m: p ≡ 0 modulo each premise's modulus (up to multiples of it in the constant), so modulo their lcm m."""
    p, m = data
    moduli = 1
    for claim in premises:
        require(isinstance(claim, Congruent), "not a congruence")
        difference = (p - claim.poly).as_constant()
        require(difference is not None and difference % claim.modulus == 0, "not of this expression")
        moduli = math.lcm(moduli, claim.modulus)
    require(moduli % m == 0, "the modulus is larger")
    return Congruent(p, m)


def _remainder_of(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """p, m: p ≡ 0 (mod m) as an equation, p % m == 0."""
    p, m = data
    require(premises[0] == Congruent(p, m), "another congruence")
    return eq_zero(p % m)


def _round_up(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """p <= 0 and p + k ≡ 0 (mod m), 0 <= k < m, give p + k <= 0: p is one of ..., -k-m, -k."""
    p, claim = inequality(premises[0]), premises[1]
    require(isinstance(claim, Congruent), "not a congruence")
    k = (claim.poly - p).as_constant()
    require(k is not None and 0 <= k < claim.modulus, "not about the same expression")
    return le_zero(p + k)


RULES: dict[str, Rule] = {
    "congruent": _congruent,
    "residue": _residue,
    "incongruent": _incongruent,
    "incongruent difference": _incongruent_difference,
    "chinese": _chinese,
    "remainder of": _remainder_of,
    "round up": _round_up,
}
