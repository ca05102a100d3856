"""The record of `modules`."""

from __future__ import annotations

from collections.abc import Mapping

from dynamo_lite.features.modules import attributes, calls, wrappers
from dynamo_lite.tracing.feature import Feature, Fork
from dynamo_lite.tracing.interfaces import Step, TracerView


def _rules() -> Mapping[int, Step]:
    return calls.RULES | attributes.table() | wrappers.table()


def _forget(tracer: TracerView, saved: None) -> None:
    """The access log forgets the order of reads and writes on a side (control_flow/undoing/first_reads.py)."""
    tracer.own(attributes.PartsRead).known.clear()


FEATURE = Feature(
    name="modules",
    needs=("tracebacks",),
    state=(attributes.PartsRead,),
    rules=_rules,
    function_steps=(wrappers.plan_dynamo_wrapper,),
    fork=Fork(lambda tracer: None, _forget),
)
