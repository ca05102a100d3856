"""The record of `modules`."""

from __future__ import annotations

from collections.abc import Mapping

from dynamo_lite.features.modules import attributes, calls, wrappers
from dynamo_lite.tracing.feature import Feature
from dynamo_lite.tracing.interfaces import Step


def _rules() -> Mapping[int, Step]:
    return calls.RULES | attributes.table() | wrappers.table()


FEATURE = Feature(
    name="modules",
    needs=("tracebacks",),
    state=(attributes.PartsRead,),
    rules=_rules,
    function_steps=(wrappers.plan_dynamo_wrapper,),
)
