"""Weak references and `__del__`: whether the program sees when objects die (`tracing/heap/lifetimes.py`)."""

from dynamo_lite.tracing.feature import Feature
from dynamo_lite.tracing.heap.lifetimes import Lifetimes, plan

FEATURE = Feature(
    name="lifetimes",
    c_steps=(plan,),
    on={"fork": lambda tracer: tracer.own(Lifetimes).check_fork()},
    graph_breaks=("object-lifetime",),
)
