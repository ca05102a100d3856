"""Tracers that capture less than ForkingTracer, or otherwise."""

from __future__ import annotations

from dynamo_lite.control_flow.tracer import ForkingTracer


class MarkedTracer(ForkingTracer):
    """Captures the branches on what the program gives `dynamo_lite.branch`."""

    only_marked = True
    makes_lists = False
    unrolls_for_gradients = True


class FixedListsTracer(ForkingTracer):
    """Lists have the example's lengths."""

    makes_lists = False


class UnrollingTracer(ForkingTracer):
    """Keeps gradients where it can by unrolling loops."""

    unrolls_for_gradients = True
