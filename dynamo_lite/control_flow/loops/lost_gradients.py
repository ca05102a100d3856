"""Loops whose gradient prevents their capture as operators: that of while_loop is wrong, many scans have none.

Greedy decoding is such a loop; its results are integers, so it needs no gradient. The loop is therefore captured on
detached tensors, and the end of the run determines whether eager's gradient would reach anything
(tracing/effects/requires_grad.py). If so, the program is traced again (attempts.py): loops are unrolled where data or
a constant end them soon; others become a scan whose gradient `program.module()` has, which runs the iterations one by
one, and torch's own operator raises an error for (program/modules/scans.py). A program with any other can only be
called without gradients.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from dynamo_lite.control_flow.loops.bounded import Before, Bounded, NotByData
from dynamo_lite.control_flow.notes import line_of
from dynamo_lite.control_flow.path_counter import MOST
from dynamo_lite.control_flow.states import DEPTH, CannotMerge, FewIterations, FirstIterationDiffers
from dynamo_lite.errors import GraphBreak
from dynamo_lite.tracing.diagnostics import Abort


def captured(loop: Any) -> Any:
    """Capture a DataLoop as an operator: with torch's gradient, that of `program.module()`, or none, in this order,
    unless it is to be unrolled. Raises CannotMerge."""
    tracer = loop.tracer
    before = Before(tracer, loop.frame)
    try:
        return loop.as_operator()
    except (FirstIterationDiffers, NotByData, FewIterations):
        raise
    except (CannotMerge, Abort) as error:
        if isinstance(error, Abort) and not isinstance(error.error, GraphBreak):
            raise
        if not loop.had_gradient or loop.is_recorded:
            raise
        if tracer.unrolls_for_gradients and _may_unroll(loop) and not _is_of_sizes(loop):
            raise
        problem = error
    why = str(problem.error if isinstance(problem, Abort) else problem.names["why"]).splitlines()[0]
    kinds = [{"in_module": why}] if tracer.unrolls_for_gradients else []
    if not kinds or not _may_unroll(loop):
        kinds.append({"loses": why})
    for kind in kinds:
        before.put()
        try:
            result = replace(loop, number=None, **kind).as_operator()
        except CannotMerge:
            continue
        tracer.has_lost_gradients |= "loses" in kind
        if "in_module" in kind:
            line = line_of(loop.frame, loop.at)
            tracer.note(f"the gradient of the loop at line {line} is in program.module(), not in torch's scan: {why}")
        return result
    raise problem


def _is_of_sizes(loop: Any) -> bool:
    """Whether sizes of the inputs say how many iterations it has: unrolled, it would fix them."""
    if loop.counter is None:
        return loop.is_of_sizes
    return type(loop.counter.of.count) is torch.SymInt and loop.counter.of.count.node.has_hint()


def _may_unroll(loop: Any) -> bool:
    """Whether it may terminate if it is unrolled: an iteration that data may end is nested in the one before."""
    if type(loop.counter) is Bounded and not loop.counter.rest.may_be_left:
        return loop.counter.rest.branches <= MOST  # one behind the other
    if type(loop.counter) is Bounded:
        return bool(loop.counter.of.count - loop.counter.at <= DEPTH)
    return loop.may_end if loop.counter is None else _is_of_sizes(loop) or type(loop.counter.of.count) is int
