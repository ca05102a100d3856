"""Loops whose gradient prevents their capture as operators: that of while_loop is wrong, many scans have none.

Greedy decoding is such a loop; its results are integers, so it needs no gradient. The loop is therefore captured on
detached tensors, and the end of the run determines whether eager's gradient would reach anything
(tracing/effects/requires_grad.py). If so, the program is traced again with loops unrolled where they terminate
(attempts.py), or can only be called without gradients.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dynamo_lite.control_flow.loops.bounded import Before, Bounded, NotByData
from dynamo_lite.control_flow.path_counter import MOST
from dynamo_lite.control_flow.states import DEPTH, CannotMerge, FewIterations, FirstIterationDiffers
from dynamo_lite.errors import GraphBreak
from dynamo_lite.tracing.diagnostics import Abort


def captured(loop: Any) -> Any:
    """Capture a DataLoop as an operator: with its gradient, or without if that fails, unless it is to be unrolled then.
    Raises CannotMerge."""
    tracer = loop.tracer
    before = Before(tracer, loop.frame)
    try:
        return loop.as_operator()
    except (FirstIterationDiffers, NotByData, FewIterations):
        raise
    except (CannotMerge, Abort) as error:
        if isinstance(error, Abort) and not isinstance(error.error, GraphBreak):
            raise
        if not loop.had_gradient or loop.is_recorded or (tracer.unrolls_for_gradients and _may_unroll(loop)):
            raise
        problem = error
    before.put()
    why = str(problem.error if isinstance(problem, Abort) else problem.names["why"]).splitlines()[0]
    try:
        result = replace(loop, number=None, loses=why).as_operator()
    except CannotMerge:
        raise problem from None
    tracer.may_be_unrolled |= _may_unroll(loop)
    return result


def _may_unroll(loop: Any) -> bool:
    """Whether it may terminate if it is unrolled: an iteration that data may end is nested in the one before."""
    if type(loop.counter) is Bounded and not loop.counter.rest.may_be_left:
        return loop.counter.rest.branches <= MOST  # one behind the other
    if type(loop.counter) is Bounded:
        return bool(loop.counter.of.count - loop.counter.at <= DEPTH)
    return loop.counter is not None or loop.may_end
