"""Terms that the rules of proofs share: claims, premises, and the error of a rule that does not apply.

A rule is `rule(checker, premises, data) -> claim`; it raises BadCertificate when it does not apply. A claim is a `Bool`
that holds, or a `Congruent`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dynamo_lite.symbolic_shapes.expressions.expr import Int, as_int
from dynamo_lite.symbolic_shapes.expressions.relations import FALSE, Bool, Rel
from dynamo_lite.symbolic_shapes.proofs.proof import Congruent

Claim = Bool | Congruent
Premises = Sequence[Any]
"""The claims that a rule infers from."""
Rule = Callable[[Any, Premises, tuple[Any, ...]], Claim]
"""(checker, premises, data) -> claim"""


class BadCertificate(Exception):
    """A step of a certificate does not follow."""


def require(condition: bool, why: str, *about: object) -> None:
    """BadCertificate unless the condition holds; `about` is printed only then."""
    if not condition:
        raise BadCertificate(": ".join([why, *map(str, about)]))


def inequality(claim: Claim) -> Int:
    """The p of a claim p <= 0 or p == 0; FALSE shows 1 <= 0, too."""
    require((isinstance(claim, Rel) and claim.kind in ("le", "eq")) or claim is FALSE, "not an inequality", claim)
    return as_int(1) if claim is FALSE else claim.poly  # type: ignore[union-attr]
