"""Questions that shape programs ask, some of each family: nothing wrong, nearly all of what can be known is decided."""

from __future__ import annotations

import random

import pytest

from dynamo_lite.symbolic_shapes import ContradictoryFacts, ShapeEnv, as_bool
from dynamo_lite.symbolic_shapes.proofs.checker import verify
from tests.symbolic_shapes.oracle import our_node

pytest.importorskip("z3")
pytest.importorskip("numpy")

from benchmarks.shape_queries import FAMILIES
from benchmarks.shape_terms import Query
from benchmarks.shape_truth import truths

EACH = 8


def verdict(query: Query) -> bool | None:
    """What decide says; its proof is checked."""
    env = ShapeEnv()
    sizes = {n: env.unbacked(name=n, lo=lo, hi=hi) for n, (lo, hi) in query.ranges.items()}
    for fact in query.facts:
        env.assume(as_bool(our_node(fact, sizes)))
    answer = env.decide(as_bool(our_node(query.goal, sizes)))
    if answer.certificate is not None:
        verify(answer.certificate)
    return answer.verdict


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_is_decided(name: str) -> None:
    rng = random.Random(f"a test of {name}")
    decidable = decided = 0
    for _ in range(EACH):
        query = FAMILIES[name](rng)
        seen, truth = truths(query)
        try:
            answer = verdict(query)
        except ContradictoryFacts:
            assert not seen, query
            continue
        if answer is not None:
            assert (not answer) not in seen, query
        decidable += truth is not None
        decided += truth is not None and answer is not None
    assert decided >= 0.9 * decidable - 1, f"{decided} of {decidable}"
