"""The record of `tracebacks`."""

from __future__ import annotations

from types import TracebackType

from dynamo_lite.features.tracebacks import hidden_frames
from dynamo_lite.tracing.feature import Feature

FEATURE = Feature(
    name="tracebacks",
    state=(hidden_frames.ModuleCalls,),
    rules=hidden_frames.rules,
    on={("attribute", TracebackType): hidden_frames.read_traceback},
)
