"""A loop whose gradient is in the way of its operator: torch's while_loop has a wrong one, scan none of many rounds.

Greedy decoding is such a loop, and what it gives are integers: it needs no gradient. So the loop is captured on
detached tensors, and the end of the run tells whether eager's gradient goes anywhere
(tracing/effects/requires_grad.py). If it does, the program is made again with loops unrolled where they come to an end
(attempts.py), or is called without gradients only.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dynamo_lite.control_flow.loops.bounded import Before, Bounded, NotByData
from dynamo_lite.control_flow.states import DEPTH, CannotMerge, FewRounds, FirstRoundDiffers
from dynamo_lite.errors import GraphBreak
from dynamo_lite.tracing.diagnostics import Abort


def captured(loop: Any) -> Any:
    """A DataLoop as an operator: with its gradient, or without if that is in the way, unless it is to be unrolled then.
    Raises CannotMerge."""
    tracer = loop.tracer
    before, may_unroll = Before(tracer, loop.frame), _may_unroll(loop)
    try:
        return loop.as_operator()
    except (FirstRoundDiffers, NotByData, FewRounds):
        raise
    except (CannotMerge, Abort) as error:
        if isinstance(error, Abort) and not isinstance(error.error, GraphBreak):
            raise
        if not loop.had_gradient or loop.is_recorded or (may_unroll and tracer.unrolls_for_gradients):
            raise
        problem = error
    before.put()
    why = str(problem.error if isinstance(problem, Abort) else problem.names["why"]).splitlines()[0]
    try:
        result = replace(loop, number=None, loses=why).as_operator()
    except CannotMerge:
        raise problem from None
    tracer.may_be_unrolled |= may_unroll
    return result


def _may_unroll(loop: Any) -> bool:
    """Whether it may come to an end, if it is unrolled: each round of what data may end lies in the one before."""
    if type(loop.counter) is Bounded:
        return bool(loop.counter.rest.length() - loop.counter.at <= DEPTH)
    return loop.counter is not None or loop.may_end
