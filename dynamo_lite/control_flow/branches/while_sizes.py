"""`while` loops over sizes of inputs: `while i < n: ...; i += 4`, `while n > 1: n = n // 2`.

They become torch's while_loop, like those that data end: a size computed in iterations is known at run time only.
"""

from __future__ import annotations

from typing import Any

import torch

from dynamo_lite.capture.kernels import functorch
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.loops.bounded import Before
from dynamo_lite.control_flow.loops.data_loop import DataLoop
from dynamo_lite.control_flow.states import CannotMerge, LeftFromWithin
from dynamo_lite.errors import InternalError
from dynamo_lite.interpreter.flow import flow_of
from dynamo_lite.interpreter.flow.loops import loop_at
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.diagnostics import Abort
from dynamo_lite.tracing.interfaces import FeatureState, TracerView


class UnrolledLoops(FeatureState):
    """The tests, as (code, instruction), of such loops that are not an operator: the example decides them."""

    stays = "a loop that is unrolled on one side is unrolled on the other"

    def __init__(self, tracer: TracerView) -> None:
        self.places: set[tuple[Any, int]] = set()


def on_branch(tracer: Forking, frame: Any, value: Any) -> Any:
    """As `Observer.on_branch`, for a jump that a size of the inputs decides."""
    if type(value) not in (torch.SymBool, torch.SymInt) or not value.node.has_hint() or not tracer.makes_lists:
        return NOT_HANDLED
    if value.node.maybe_as_int() is not None or functorch.active():
        return NOT_HANDLED
    at, around, flow = frame.pc - 1, tracer.loop_of(frame), flow_of(frame.info)
    loop = loop_at(flow, at, around.stops if around is not None else set())
    unrolled = tracer.own(UnrolledLoops).places
    if loop is None or (frame.code, at) in unrolled:
        return NOT_HANDLED
    condition = value if type(value) is torch.SymBool else value != 0
    before, broken = Before(tracer, frame), tracer.broken
    try:
        test = torch.full((), torch.sym_ite(condition, 1, 0), dtype=torch.int64) > 0  # a SymBool would be a guard
        return DataLoop(tracer, frame, test, loop, may_end=True, is_of_sizes=True).capture()
    except LeftFromWithin:
        before.put()
    except (CannotMerge, Abort) as error:
        if isinstance(error, Abort) and (broken is not None or isinstance(error.error, InternalError)):
            raise
        before.put()
    tracer.broken, tracer.vm.frame = broken, frame
    unrolled.update((frame.code, test) for test in loop.tests)
    return NOT_HANDLED
