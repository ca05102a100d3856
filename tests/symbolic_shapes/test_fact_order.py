"""In which order facts are recorded changes no verdict.

In a small box, whatever the facts are: there enumeration has the last word. Without ends, for what sizes are mostly
about (sums, comparisons, residues); beyond that the search has budgets, and two orders may find different things: about
one question in 400, never opposite answers (`test_proofs.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from random import Random

import pytest

from dynamo_lite.symbolic_shapes import ContradictoryFacts, Origin, ShapeEnv, as_bool
from tests.symbolic_shapes.oracle import COMPARE, Term, our_node
from tests.symbolic_shapes.test_proofs import _random_relation, truths

HERE = Origin("user line", "model.py", 1)


def plain(rng: Random) -> Term:
    """A comparison of sums, or a residue."""
    def term() -> Term:
        if rng.random() < 0.6:
            return rng.choice("xyz")
        other = rng.choice(("x", "y", "z", rng.randint(-4, 8)))
        return ("+", ("*", rng.choice((1, 2, 3, -1)), rng.choice("xyz")), other)

    if rng.random() < 0.2:
        return ("==", ("%", term(), rng.choice((2, 3, 4, 6))), rng.randint(0, 2))
    return (rng.choice(COMPARE), term(), term() if rng.random() < 0.5 else rng.randint(-4, 8))


def any_relation(rng: Random) -> Term:
    return _random_relation(rng, 1)


def verdicts(facts: list[Term], goals: list[Term], bounded: bool) -> tuple[bool | None, ...] | None:
    """The answers after these facts; None if they contradict each other."""
    env = ShapeEnv()
    symbols = {n: env.unbacked(name=n, lo=-3, hi=4) if bounded else env.unbacked(name=n) for n in "xyz"}
    try:
        for fact in facts:
            env.assume(as_bool(our_node(fact, symbols)), HERE)
    except ContradictoryFacts:
        return None
    return tuple(env.decide(as_bool(our_node(goal, symbols))).verdict for goal in goals)


@pytest.mark.parametrize("kind, bounded, seed", [(any_relation, True, 1), (any_relation, True, 2),
                                                 (plain, False, 3), (plain, False, 4)])
def test_each_order_gives_the_same_answers(kind: Callable[[Random], Term], bounded: bool, seed: int) -> None:
    rng, decided = Random(seed), 0
    for _ in range(25):
        relations = [kind(rng) for _ in range(6)]
        facts, goals = relations[:3], relations[3:]
        try:
            answers = {verdicts(list(order), goals, bounded) for order in permutations(facts)}
        except ZeroDivisionError:
            continue
        if None in answers:  # a contradiction; that one order finds it and not another is no wrong answer
            assert not bounded or not truths(facts, ("==", 0, 0))
            continue
        assert len(answers) == 1, (facts, goals, answers)
        decided += sum(verdict is not None for verdict in answers.pop() or ())
    assert decided >= 10


def test_what_is_decided_stays_so_when_an_equation_changes_the_form_of_the_facts() -> None:
    """z > max(x, y) and max(x, z) > 0 give z > 0; not found any more once y was x // 2."""
    env = ShapeEnv()
    x, y, z = (env.unbacked(lo=-3, hi=4) for _ in range(3))
    for fact in (("<", 0, ("max", "x", "z")), (">", "z", ("max", "x", "y")), ("==", "y", ("//", "x", 2))):
        env.assume(as_bool(our_node(fact, {"x": x, "y": y, "z": z})), HERE)
    assert env.decide(z <= 0).verdict is False
