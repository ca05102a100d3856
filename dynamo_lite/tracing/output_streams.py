"""The streams that the output of the process goes to when a run begins."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from dynamo_lite.tracing.interfaces import FeatureState, TracerView


class OutputStreams(FeatureState):
    """Whether prints and warnings go where they went when the run began, or to something of the program's."""

    stays = "it is what the process had when the run began"

    def __init__(self, tracer: TracerView) -> None:
        self._streams = (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)
        self._warnings = _shown_by()

    def is_stream(self, stream: Any) -> bool:
        """Whether `stream` is one of the process's own (None: wherever print() writes)."""
        stream = sys.stdout if stream is None else stream
        return any(stream is known for known in self._streams)

    def warnings_are_caught(self) -> bool:
        """Whether the program itself has taken over what becomes of warnings."""
        return self._warnings != _shown_by() or not self.is_stream(sys.stderr)


def _shown_by() -> tuple[Any, ...]:
    return warnings.showwarning, getattr(warnings, "_showwarnmsg_impl", None)
