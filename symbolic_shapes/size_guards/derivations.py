"""Derivations between sets of relations: why each simplified guard follows from the collected ones, and back.

A `DerivationTable` starts from base relations (what may be used) and records, for each relation that was
derived, the rule and its premises. `check` re-does every rule on the way from a relation to the base; it never
searches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dynamo_lite.symbolic_shapes.environment import ShapeEnv
from dynamo_lite.symbolic_shapes.errors import ContradictoryFacts
from dynamo_lite.symbolic_shapes.expressions.expr import Apply, Int, Node, Symbol, as_int, children, symbols_of
from dynamo_lite.symbolic_shapes.expressions.relations import FALSE, TRUE, Bool, Junction, Rel, eq, le_zero
from dynamo_lite.symbolic_shapes.expressions.substitution import substitute
from dynamo_lite.symbolic_shapes.proofs import checker
from dynamo_lite.symbolic_shapes.proofs.checker import BadCertificate

RESIDUE_LIMIT = 256
"""The largest modulus that a case split over residues goes through."""


@dataclass(frozen=True, eq=False)
class Derivation:
    """`rule` names an entry of RULES, `data` its parameters; the premises are relations of the same table."""

    rule: str
    premises: tuple[Bool, ...] = ()
    data: tuple[Any, ...] = ()


class DerivationTable:
    """The relations that follow from `base`, each with its derivation."""

    def __init__(self, base: Iterable[Bool]) -> None:
        self.base: dict[Bool, None] = dict.fromkeys(base)
        self.steps: dict[Bool, Derivation] = {}

    def __contains__(self, relation: Bool) -> bool:
        return relation in self.base or relation in self.steps

    def add(self, conclusion: Bool, derivation: Derivation) -> None:
        """Record how a relation follows. The first way stays: later ones could go in circles."""
        if conclusion not in self:
            self.steps[conclusion] = derivation

    def trace(self, relation: Bool, known: Collection[Bool] = ()) -> Iterator[tuple[Bool, Derivation | None]]:
        """The relations that `relation` depends on, premises first; None for those of the base. `known` relations are
        assumed. BadCertificate if there is a gap or a circle."""
        done: dict[Bool, bool] = {}
        stack: list[tuple[Bool, bool]] = [(relation, False)]
        while stack:
            goal, expanded = stack.pop()
            if expanded:
                done[goal] = True
                yield goal, self.steps.get(goal) if goal not in self.base else None
            elif goal in known:
                continue
            elif goal in self.base:
                if goal not in done:
                    stack.append((goal, True))
                    done[goal] = True
            elif goal not in done:
                if goal not in self.steps:
                    raise BadCertificate(f"no reason is recorded {goal} holds")
                done[goal] = False
                stack.append((goal, True))
                for premise in self.steps[goal].premises:
                    if done.get(premise) is False:
                        raise BadCertificate(f"{premise} rests on itself")
                    stack.append((premise, False))

    def leaves(self, relation: Bool) -> list[Bool]:
        """The base relations that a relation depends on."""
        return [r for r, derivation in self.trace(relation) if derivation is None]

    def check(self, relation: Bool, absent: frozenset[Symbol] = frozenset(), checked: set[Bool] | None = None) -> None:
        """Re-check every step from the base to `relation`; BadCertificate if one does not follow.

        `absent` symbols are only known through equalities: their declared ranges may not be used. `checked` are the
        relations that were checked before, with as many absent or more: no step is done twice."""
        checked = set() if checked is None else checked
        for goal, derivation in self.trace(relation, checked):
            if derivation is not None:
                _check_step(goal, derivation, absent)
            checked.add(goal)


def _check_step(goal: Bool, step: Derivation, absent: frozenset[Symbol]) -> None:
    rule = RULES.get(step.rule)
    if rule is None:
        raise BadCertificate(f"no rule {step.rule!r}")
    try:
        rule(goal, step, absent)
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        raise BadCertificate(f"the derivation of {goal} by {step.rule!r} is malformed: {error}") from error


# -- the rules: each raises BadCertificate unless the goal follows from the premises ---------------------------
# (Messages are only made for a failure: printing expressions would be most of the work.)
def _declared(goal: Bool, step: Derivation, absent: frozenset[Symbol]) -> None:
    """symbol, side: an end of its declared range."""
    symbol, side = step.data
    if symbol in absent or goal is not declared_end(symbol, side):
        raise BadCertificate(f"{goal} is not declared")


def _conjunct(goal: Bool, step: Derivation, absent: frozenset[Symbol]) -> None:
    """A and B gives A."""
    whole, = step.premises
    if not isinstance(whole, Junction) or whole.kind != "and" or goal not in whole.args:
        raise BadCertificate(f"{goal} is not part of {whole}")


def _weaker(goal: Bool, step: Derivation, absent: frozenset[Symbol]) -> None:
    """p + k <= 0 with k >= 0 gives p <= 0."""
    if not is_weaker(step.premises[0], goal):
        raise BadCertificate(f"{goal} is not weaker than {step.premises[0]}")


def _under_a_max(goal: Bool, step: Derivation, absent: frozenset[Symbol]) -> None:
    """k*max(x, y) + z <= 0 with k > 0 gives k*x + z <= 0."""
    if goal not in under_a_max(step.premises[0]):
        raise BadCertificate(f"{goal} is not under the maximum of {step.premises[0]}")


def _rewrite(goal: Bool, step: Derivation, absent: frozenset[Symbol]) -> None:
    """Premise and goal become the same by substituting equals. data: (symbol, expression) for each equality."""
    start, *equalities = step.premises
    said = [eq(symbol.as_int(), image) for symbol, image in step.data]
    if said != equalities:
        raise BadCertificate(f"{step.data} are not the equalities {equalities}")
    mapping = dict(step.data)
    if substitute(start, mapping) is not substitute(goal, mapping):
        raise BadCertificate(f"{start} does not become {goal}")


def _residues(goal: Bool, step: Derivation, absent: frozenset[Symbol]) -> None:
    """symbol, m: for symbol == m*k + r, each r, the goal folds to true or a premise to false."""
    symbol, modulus = step.data
    if symbol in absent or not follows_by_residues(step.premises, goal, symbol, modulus):
        raise BadCertificate(f"some residue of {symbol} modulo {modulus} leaves {goal} open")


def _decided(goal: Bool, step: Derivation, absent: frozenset[Symbol]) -> None:
    """certificate: the core's proof from the premises."""
    certificate, = step.data
    if certificate.conclusion is not goal:
        raise BadCertificate(f"the certificate is about {certificate.conclusion}, not {goal}")
    if not {f.relation for f in certificate.facts} <= set(step.premises):
        raise BadCertificate(f"the certificate of {goal} uses more than its premises")
    if absent and not all(absent.isdisjoint(symbols_of(relation)) for relation in (goal, *step.premises)):
        raise BadCertificate(f"the certificate of {goal} is about a symbol that was replaced")
    checker.verify(certificate)


RULES: dict[str, Callable[[Bool, Derivation, frozenset[Symbol]], None]] = {
    "declared": _declared,
    "conjunct": _conjunct,
    "weaker": _weaker,
    "under a max": _under_a_max,
    "rewrite": _rewrite,
    "residues": _residues,
    "decided": _decided,
}


# -- computations of the rules -------------------------------------------------------------------------------
def declared_end(symbol: Symbol, side: str) -> Bool:
    """`symbol >= lo` or `symbol <= hi` of the declared range; TRUE for an infinite end."""
    end = symbol.lo if side == "lo" else symbol.hi
    if not isinstance(end, int):
        return TRUE
    return symbol.as_int() >= end if side == "lo" else symbol.as_int() <= end


def declared_ends(symbol: Symbol) -> dict[Bool, str]:
    """The finite ends of the declared range, each with its side."""
    ends = {declared_end(symbol, side): side for side in ("lo", "hi")}
    return {end: side for end, side in ends.items() if end is not TRUE}


def is_weaker(premise: Bool, goal: Bool) -> bool:
    """Whether goal is p <= 0 and premise is p + k <= 0 or p + k == 0 (either sign of the equation), k >= 0."""
    if not (isinstance(premise, Rel) and isinstance(goal, Rel) and goal.kind == "le" and premise.kind in ("le", "eq")):
        return False
    for sign in (1,) if premise.kind == "le" else (1, -1):
        slack = (premise.poly * sign - goal.poly).as_constant()
        if slack is not None and slack >= 0:
            return True
    return False


def under_a_max(relation: Bool) -> list[Bool]:
    """For k*max(x, y) + z <= 0 with k > 0: k*x + z <= 0 and k*y + z <= 0. They are equivalent to it together."""
    if not isinstance(relation, Rel) or relation.kind != "le":
        return []
    for mono, coef in relation.poly.terms.items():
        atom = mono[0]
        if len(mono) == 1 and isinstance(atom, Apply) and atom.op == "max" and coef > 0:
            rest = relation.poly - atom.as_int() * coef
            return [le_zero(as_int(arg) * coef + rest) for arg in atom.args]  # type: ignore[arg-type]
    return []


def follows_by_residues(premises: Sequence[Bool], goal: Bool, symbol: Symbol, modulus: int) -> bool:
    """Whether in each residue class of the symbol the goal folds to true or a premise to false."""
    for case in residue_classes(symbol, modulus):
        if case is not None and substitute(goal, case) is not TRUE \
                and not any(substitute(p, case) is FALSE for p in premises):
            return False
    return True


def residue_classes(symbol: Symbol, modulus: int) -> Iterator[dict[Any, Int] | None]:
    """For r in 0..m-1 the substitution symbol -> m*k + r, k fresh within the declared range; None if empty."""
    for r in range(modulus):
        lo = -((r - symbol.lo) // modulus) if isinstance(symbol.lo, int) else symbol.lo
        hi = (symbol.hi - r) // modulus if isinstance(symbol.hi, int) else symbol.hi
        yield {symbol: Symbol("k", lo, hi).as_int() * modulus + r} if lo <= hi else None


def period(node: Node, memo: dict[Node, int] | None = None) -> int:
    """The least common multiple of the divisors in an expression (nested divisors multiplied); 1 for none.

    A symbolic divisor counts as 1: then the case split just proves nothing."""
    memo = {} if memo is None else memo
    found = memo.get(node)
    if found is None:
        parts = (node.poly,) if isinstance(node, Rel) else children(node)
        found = math.lcm(*(period(part, memo) for part in parts))
        if isinstance(node, Apply) and node.op == "floordiv":
            divisor = as_int(node.args[1]).as_constant()  # type: ignore[arg-type]
            found *= abs(divisor) if divisor else 1
        memo[node] = found
    return found


# -- finding a derivation --------------------------------------------------------------------------------------
def derive(premises: Sequence[Bool], goal: Bool) -> Derivation | None:
    """A derivation of the goal, if one is found: cheap rules first, then the core's `decide`."""
    for premise in premises:
        if isinstance(premise, Junction) and premise.kind == "and" and goal in premise.args:
            return Derivation("conjunct", (premise,))
        if goal in under_a_max(premise):
            return Derivation("under a max", (premise,))
        if is_weaker(premise, goal):
            return Derivation("weaker", (premise,))
    return _by_deciding(premises, goal) or _by_residues(premises, goal)


def environment_of(relations: Iterable[Bool]) -> ShapeEnv:
    """An environment with these facts. ContradictoryFacts if that is seen to be impossible."""
    env = ShapeEnv()
    for relation in relations:
        env.add_fact(relation)
    return env


def _by_deciding(premises: Sequence[Bool], goal: Bool) -> Derivation | None:
    try:
        env = environment_of(premises)
    except ContradictoryFacts:
        return None  # nothing follows from contradictory premises
    return derive_in(env, goal)


def derive_in(env: ShapeEnv, goal: Bool) -> Derivation | None:
    """A derivation of the goal from the facts of an environment."""
    answer = env.decide(goal)
    if answer.verdict is not True or answer.certificate is None:
        return None
    return Derivation("decided", tuple(f.relation for f in answer.certificate.facts), (answer.certificate,))


def _by_residues(premises: Sequence[Bool], goal: Bool) -> Derivation | None:
    about = symbols_of(goal)
    if len(about) != 1:
        return None
    symbol, = about
    used = tuple(p for p in premises if symbols_of(p) == about)
    modulus = math.lcm(period(goal), *(period(p) for p in used))
    if 1 < modulus <= RESIDUE_LIMIT and follows_by_residues(used, goal, symbol, modulus):
        return Derivation("residues", used, (symbol, modulus))
    return None
