"""The record of the feature: checks of a run whose effects are known, after those of the other features."""

from dynamo_lite.features.gradients import passes
from dynamo_lite.tracing.feature import Feature

FEATURE = Feature(
    name="gradients",
    on={"judged": passes.judge},
    graph_breaks=("gradient-hook", "tensor-subclass", "constant-gradient", "made-leaf", "loop-gradient"),
)
