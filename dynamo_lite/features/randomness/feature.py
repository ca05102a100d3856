"""The record of `randomness`."""

from __future__ import annotations

import _random
import random

from dynamo_lite.features.randomness import rules, seeded_draws, seeded_generators
from dynamo_lite.tracing.feature import Feature, NamedRules
from dynamo_lite.tracing.policy import skipped_calls

_RULES = {
    id(random.Random.seed): seeded_generators.seeding(rules.changer("random.Random.seed")),
    id(_random.Random.seed): seeded_generators.seeded_in_c,
}

FEATURE = Feature(
    name="randomness",
    needs=("identity",),
    state=(seeded_generators.SeededGenerators,),
    rules=lambda: _RULES,
    named=(
        NamedRules(skipped_calls.UNRECORDABLE, rules.unrecordable_call),
        NamedRules(skipped_calls.SEEDED, rules.maker),
        NamedRules(skipped_calls.GLOBAL_RNG, rules.changer),
        NamedRules(skipped_calls.OF_GENERATORS, rules.of_generator),
    ),
    on={"unrecordable": rules.call_unrecordable, "drawn": seeded_draws.drawn},
    graph_breaks=("global-rng", "unrecordable-value"),
)
