"""A branch on the sizes of inputs, for a tracer that captures branches.

It is not captured if its sides compute the same values (tracing/size_branches/), and becomes an operator if calls may
take either side. Otherwise the example's answer becomes a guard.
"""

from __future__ import annotations

from typing import Any

import torch

from dynamo_lite.capture.kernels import functorch
from dynamo_lite.control_flow.branches.branch import Branch
from dynamo_lite.control_flow.branches.whole_program import is_before_program
from dynamo_lite.control_flow.facts import FactsOfSides
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.states import CannotMerge
from dynamo_lite.errors import InternalError
from dynamo_lite.interpreter.flow import flow_of
from dynamo_lite.interpreter.flow.loops import loop_at
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.symbolic_shapes.expressions.relations import Bool
from dynamo_lite.tracing.diagnostics import Abort
from dynamo_lite.tracing.size_branches.compared_sides import ComparedSides
from dynamo_lite.tracing.sizes import runtime_values


def on_branch(
    tracer: Forking, compared: ComparedSides, frame: Any, value: Any, relation: Bool, jump: tuple[bool, int, bool]
) -> Any:
    """As `Observer.on_branch`, with its `jumps_if`, `target` and `keeps` as `jump`. The facts do not decide `relation`,
    which is that `value` is true."""
    jumps_if, target, keeps = jump
    if not is_before_program(frame):
        answer = compared.on_branch(frame, value, jumps_if, target, keeps)
        if answer is not NOT_HANDLED or not compared.forks or not compared.is_wanted(relation):
            return answer
        if compared.undecided(value) is None:  # its other side raises
            return answer
    at, around, flow = frame.pc - 1, tracer.loop_of(frame), flow_of(frame.info)
    place = frame.code, at
    if place in tracer.left_to_example or functorch.active() or runtime_values.is_assertion(frame):
        compared.note_left(relation)
        return NOT_HANDLED
    if loop_at(flow, at, around.stops if around is not None else set()) is not None:
        return NOT_HANDLED
    starts = {jumps_if: target, not jumps_if: at + 1}
    predicate = value if type(value) is torch.SymBool else value != 0
    branch = Branch(tracer, frame, predicate, starts, (jumps_if, value) if keeps else None, of_sizes=True)
    broken, facts = tracer.broken, FactsOfSides(tracer)
    tracer.of_sizes += 1
    try:
        return branch.capture()
    except (CannotMerge, Abort) as error:
        if isinstance(error, Abort) and (broken is not None or isinstance(error.error, InternalError)):
            raise
        tracer.broken = None
        facts.forget()
        tracer.left_to_example.add(place)
        compared.note_left(relation)
        tracer.vm.frame = frame
        branch.base.put(frame)
        return NOT_HANDLED
    finally:
        branch.let_go()
