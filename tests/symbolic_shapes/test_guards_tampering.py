"""`verify` against a forger: whatever is changed in a guard set is noticed, or changes nothing that the set means."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from dynamo_lite.symbolic_shapes import Int, as_int
from dynamo_lite.symbolic_shapes.expressions.expr import Symbol
from dynamo_lite.symbolic_shapes.expressions.relations import FALSE, TRUE, Bool, Rel, eq_zero, le_zero, ne_zero
from dynamo_lite.symbolic_shapes.proofs.checker import BadCertificate
from dynamo_lite.symbolic_shapes.size_guards.derivations import RULES, Derivation, DerivationTable
from dynamo_lite.symbolic_shapes.size_guards.guard import SizeGuard
from dynamo_lite.symbolic_shapes.size_guards.guard_set import SizeGuardSet
from dynamo_lite.symbolic_shapes.size_guards.reformulations import truth_at
from tests.symbolic_shapes.test_simplify import TABLE, simplified

MAKERS = {"le": le_zero, "eq": eq_zero, "ne": ne_zero}
BOX = range(10)

SETS = {row[0]: row[1:3] for row in TABLE if max(row[1]) < 10}
"""Facts with small example values: their meaning is enumerated on sizes up to 9."""


def noticed(guards: SizeGuardSet) -> bool:
    try:
        guards.verify()
    except BadCertificate:
        return True
    return False


def changed(guards: SizeGuardSet, /, **parts: Any) -> SizeGuardSet:
    names = ("facts", "symbols", "guards", "images", "forward", "backward")
    return SizeGuardSet(**{name: parts.get(name, getattr(guards, name)) for name in names})


def meaning(relations: tuple[Bool, ...], symbols: tuple[Symbol, ...]) -> list[bool]:
    """Where the relations hold, on every small assignment."""
    points = (dict(zip(symbols, values)) for values in itertools.product(BOX, repeat=len(symbols)))
    return [all(truth_at(relation, point) for relation in relations) for point in points]


def copied(table: DerivationTable) -> DerivationTable:
    new = DerivationTable(table.base)
    new.steps = dict(table.steps)
    return new


def other_steps(goal: Bool, step: Derivation, guards: SizeGuardSet) -> Iterator[Derivation]:
    """A step with its rule, one of its premises, or a part of its data changed."""
    yield from (replace(step, rule=rule) for rule in [*RULES, "magic"] if rule != step.rule)
    for i, j in itertools.product(range(len(step.premises)), range(len(guards.guards) + 3)):
        new = ((), (TRUE,), (goal,), *((r,) for r in guards.relations))[j]
        yield replace(step, premises=step.premises[:i] + new + step.premises[i + 1:])
    yield replace(step, data=())
    for i, part in enumerate(step.data):
        for new in other_data(part, guards):
            yield replace(step, data=(*step.data[:i], new, *step.data[i + 1:]))


def other_data(part: Any, guards: SizeGuardSet) -> list[Any]:
    if isinstance(part, int):
        return [part + 1, part - 1, 0, -part]
    if isinstance(part, str):
        return ["lo", "hi", "elsewhere"]
    if isinstance(part, Symbol):
        return [*guards.symbols, None]
    return [(part[0], part[1] + 1), part[:1], None] if isinstance(part, tuple) else [None]


@pytest.mark.parametrize("name", SETS)
def test_a_changed_step_is_noticed_or_right(name: str) -> None:
    """A changed step that passes is a right one: where its premises hold, its goal does. Nothing else is raised."""
    hints, facts = SETS[name]
    guards = simplified(*hints, facts=facts)
    seen = not (guards.forward.steps or guards.backward.steps)
    for side in ("forward", "backward"):
        table: DerivationTable = getattr(guards, side)
        for goal, step in table.steps.items():
            for new in other_steps(goal, step, guards):
                forged = copied(table)
                forged.steps[goal] = new
                if noticed(changed(guards, **{side: forged})):
                    seen = True
                else:
                    premises, conclusion = (meaning(r, guards.symbols) for r in (new.premises, (goal,)))
                    assert all(map(operator.le, premises, conclusion)), (str(goal), new)
            gap = copied(table)
            del gap.steps[goal]
            noticed(changed(guards, **{side: gap}))
    assert seen


def other_guards(guards: SizeGuardSet, i: int) -> Iterator[tuple[SizeGuard, ...]]:
    """The guards without the i-th, and with another in its place: moved by one, turned round, or a fact."""
    relation = guards.guards[i].relation
    assert isinstance(relation, Rel)
    others: list[Bool] = [MAKERS[relation.kind](p) for p in (relation.poly + 1, relation.poly - 1, -relation.poly)]
    yield guards.guards[:i] + guards.guards[i + 1:]
    for other in dict.fromkeys([*others, *(f.relation for f in guards.facts)]):
        if other not in (relation, TRUE, FALSE):
            yield (*guards.guards[:i], SizeGuard.of(other), *guards.guards[i + 1:])


@pytest.mark.parametrize("name", SETS)
def test_another_guard_is_noticed_where_it_means_something_else(name: str) -> None:
    """The forger leaves the old derivations in place and calls what remains the base."""
    hints, facts = SETS[name]
    guards = simplified(*hints, facts=facts)
    expected = meaning(guards.relations, guards.symbols)
    for i, guard in enumerate(guards.guards):
        images = {s: image for s, image in guards.images.items() if s is not guard.symbol or guard.kind != "equality"}
        for forged in other_guards(guards, i):
            forward, backward = copied(guards.forward), copied(guards.backward)
            backward.base = dict.fromkeys([TRUE, *(g.relation for g in forged)])
            for new in forged:
                if new.relation not in forward and guard.relation in forward.steps:
                    forward.steps[new.relation] = forward.steps[guard.relation]
            new_set = changed(guards, guards=forged, images=images, forward=forward, backward=backward)
            if meaning(tuple(g.relation for g in forged), guards.symbols) != expected:
                assert noticed(new_set), (str(guard), [str(g) for g in forged])


@pytest.mark.parametrize("name", SETS)
def test_another_kind_or_image_is_noticed(name: str) -> None:
    hints, facts = SETS[name]
    guards = simplified(*hints, facts=facts)
    for symbol, image in guards.images.items():
        wrong: list[Int] = [image + 1, as_int(symbol)]  # type: ignore[arg-type]
        assert all(noticed(changed(guards, images={**guards.images, symbol: new})) for new in wrong)
        assert noticed(changed(guards, images={s: i for s, i in guards.images.items() if s is not symbol}))
    for i, guard in enumerate(guards.guards):
        for kind in {"equality", "range", "divisibility", "other"} - {guard.kind}:
            forged = (*guards.guards[:i], replace(guard, kind=kind), *guards.guards[i + 1:])
            assert noticed(changed(guards, guards=forged)), kind
    assert not guards.symbols or not guards.guards or noticed(changed(guards, symbols=()))
