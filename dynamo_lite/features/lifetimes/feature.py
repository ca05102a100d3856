"""The record of the feature: objects that die in a run, or in eager only."""

from dynamo_lite.features.lifetimes import dying_objects
from dynamo_lite.tracing.feature import Feature
from dynamo_lite.tracing.heap.lifetimes import Lifetimes, plan

FEATURE = Feature(
    name="lifetimes",
    c_steps=(plan,),
    on={
        "fork": lambda tracer: tracer.own(Lifetimes).check_fork(),
        "left": dying_objects.check_generators,
        "judged": lambda run, call: dying_objects.check(run.tracer, run.effects),
        "later": lambda run, later: dying_objects.check(run.tracer, run.effects, later),
    },
    graph_breaks=("object-lifetime",),
)
