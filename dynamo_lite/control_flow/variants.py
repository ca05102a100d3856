"""Tracers that capture differently than ForkingTracer."""

from __future__ import annotations

from typing import Any

from dynamo_lite.control_flow.tracer import ForkingTracer


class FixedListsTracer(ForkingTracer):
    """Lists have the example's lengths."""

    makes_lists = False


class UnrollingTracer(ForkingTracer):
    """Keeps gradients where it can by unrolling loops."""

    unrolls_for_gradients = True


class ExampleSizesTracer(ForkingTracer):
    """Captures branches on data; the example answers those on sizes."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._sizes.forks = False
