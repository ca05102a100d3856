"""Rules of proofs: substitution of equals, and propositional logic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dynamo_lite.symbolic_shapes.expressions.expr import Atom, Int
from dynamo_lite.symbolic_shapes.expressions.relations import (
    FALSE,
    TRUE,
    Bool,
    Junction,
    Rel,
    and_,
    eq_zero,
    le_zero,
    ne_zero,
    not_,
    or_,
)
from dynamo_lite.symbolic_shapes.expressions.substitution import substitute
from dynamo_lite.symbolic_shapes.proofs.inference import Claim, Premises, Rule, require


def mapping_from(equations: Premises, atoms: Sequence[Atom], images: Sequence[Int]) -> dict[Atom, Int]:
    """{atom: image}, each shown by an equation  atom - image == 0."""
    mapping = dict(zip(atoms, images))
    for atom, image, claim in zip(atoms, images, equations, strict=True):
        require(claim is eq_zero(atom.as_int() - image), "not the equation's", atom, image, claim)
    return mapping


def _replace(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """p, atoms, images: p equals itself with the atoms in it replaced."""
    p, atoms, images = data
    return eq_zero(p - substitute(p, mapping_from(premises, atoms, images)))


def _rewrite(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """relation, atoms, images: the last premise is the relation with atoms replaced, so the relation holds."""
    relation, atoms, images = data
    mapping = mapping_from(premises[:-1], atoms, images)
    require(substitute(relation, mapping) is premises[-1] or premises[-1] is FALSE, "not what it becomes")
    return relation


def _modulo(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """relation, multipliers, truth: the first premise decides the relation's p minus multiples of equations."""
    relation, multipliers, truth = data
    p = relation.poly
    for k, claim in zip(multipliers, premises[1:], strict=True):
        require(isinstance(claim, Rel) and claim.kind == "eq", "not an equation")
        p = p - claim.poly * k
    changed = {"le": le_zero, "eq": eq_zero, "ne": ne_zero}[relation.kind](p)
    require(premises[0] is (changed if truth else not_(changed)) or _trivial(changed, truth), "another relation")
    return relation if truth else not_(relation)


def _trivial(relation: Bool, truth: bool) -> bool:
    return relation is (TRUE if truth else FALSE)


def _rewritten(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """atoms, images: the last premise with the atoms replaced."""
    return substitute(premises[-1], mapping_from(premises[:-1], *data))


def _all(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    return and_(*premises)


def _either(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """relation: a disjunction with the premise among its parts."""
    require(isinstance(data[0], Junction) and data[0].kind == "or" and premises[0] in data[0].args, "not one of them")
    return data[0]


def _remaining(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """A disjunction and the negations of some of its parts leave the others."""
    whole, *refuted = premises
    require(isinstance(whole, Junction) and whole.kind == "or", "not a disjunction")
    return or_(*(a for a in whole.args if not_(a) not in refuted))


def _clash(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """A claim and its negation."""
    require(not_(premises[0]) is premises[1], "no contradiction")
    return FALSE


def _normal_form(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    return TRUE


RULES: dict[str, Rule] = {
    "modulo": _modulo,
    "replace": _replace,
    "rewrite": _rewrite,
    "rewritten": _rewritten,
    "all": _all,
    "either": _either,
    "remaining": _remaining,
    "clash": _clash,
    "normal form": _normal_form,
}


# -- rules that discharge assumptions -----------------------------------------------------------------------------
Done = list[tuple[Claim, frozenset[Bool]]]


def _refute(done: Done, data: tuple[Any, ...]) -> tuple[Claim, frozenset[Bool]]:
    """relation: assuming it leads to FALSE, so its negation holds."""
    (claim, hypotheses), = done
    require(claim is FALSE, "the assumption leads to no contradiction")
    return not_(data[0]), hypotheses - {data[0]}


def _cases(done: Done, data: tuple[Any, ...]) -> tuple[Claim, frozenset[Bool]]:
    """One conclusion from each case. With data (relation,): the cases are it and its negation; else the first premise
    is a disjunction, and each of its parts, in order, is a case."""
    if data:
        alternatives, branches, first = (data[0], not_(data[0])), done, frozenset[Bool]()
    else:
        (whole, first), *branches = done
        require(isinstance(whole, Junction) and whole.kind == "or", "not a disjunction")
        alternatives = whole.args  # type: ignore[union-attr, assignment]
    require(len(alternatives) == len(branches), "a case is missing")
    conclusions = {claim for claim, _ in branches if claim is not FALSE}
    require(len(conclusions) <= 1, "the cases conclude different things")
    hypotheses = frozenset().union(first, *(h - {a} for (_, h), a in zip(branches, alternatives)))
    return (conclusions.pop() if conclusions else FALSE), hypotheses


DISCHARGING: dict[str, Callable[[Done, tuple[Any, ...]], tuple[Claim, frozenset[Bool]]]] = {
    "refute": _refute, "cases": _cases,
}
