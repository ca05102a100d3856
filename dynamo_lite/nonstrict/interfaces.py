"""The tracer of strict=False as its parts see it: a protocol, so that none of them imports tracer.py."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

from dynamo_lite.tracing.interfaces import TracerView


class NativeTrace(TracerView, Protocol):
    """tracer.NativeTracer."""

    def unsound(self, text: str) -> None: ...
    def watching(self) -> AbstractContextManager[None]: ...
    def questions(self, kinds: set[str]) -> Any: ...
