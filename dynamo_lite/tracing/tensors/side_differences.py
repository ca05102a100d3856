"""Queries of a result of a captured branch or loop whose answers differ from the tensor that eager has in its place.

control_flow/differences/answers.py records them where results are made. A tensor computed from a result may answer like
it: so a query is refused for all tensors except the arguments. Only its class concerns the result alone.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

from dynamo_lite.tracing.interfaces import FeatureState, TracerView
from dynamo_lite.tracing.vocabulary.program_points import Mark
from dynamo_lite.tracing.vocabulary.type_tests import is_fake


class SideDifferences(FeatureState):
    """How results of branches and loops differ from eager's tensors.

    Attributes:
        differ: whether a result requires grad on one side of a branch only, or in eager only.
        hands_on: whether a result under no_grad may be an argument in eager.
        questions: those that results answer differently.
        parameters: results that are parameters in eager, by id.
        cut: what no gradient of another call may go to: results that are detached, since in the example they require
            grad on no side, and what loops under no_grad carry.
        laid_out: results whose strides in eager depend on the side; they are contiguous here.
        is_carried: whether a loop carries such a tensor.
        contiguous: tensors that `contiguous()` was called of behind such a branch.
        lost: results whose gradient eager has in the example and the program has not, and why.
        unsure: writes to what later calls see, which requires grad on one side only.
        tangled: whether a tensor from before a branch may have the autograd graph of a side that was undone.
        carries_gradients: whether sides are run on, if possible, to where no result requires grad.
        joined: whether sides were joined with a result that does.
    """

    stays = "it is the result of the merge of the sides"

    def __init__(self, tracer: TracerView) -> None:
        self.differ = False
        self.hands_on = False
        self.questions: set[str] = set()
        self.parameters: dict[int, torch.Tensor] = {}
        self.cut: set[fx.Node] = set()
        self.laid_out: dict[fx.Node, Mark] = {}
        self.is_carried = False
        self.contiguous: set[fx.Node] = set()
        self.lost: dict[fx.Node, str] = {}
        self.unsure: set[fx.Node] = set()
        self.tangled = False
        self.carries_gradients = False
        self.joined = False
        self.needs_no_grad: tuple[str, ...] = ()  # why the program is called without gradients only


def check(tracer: TracerView, question: str) -> None:
    """Check a query of a tensor that is not an argument. Raises an error that ends the trace."""
    if question in tracer.own(SideDifferences).questions and not tracer.in_library():
        why = f"{question} of a tensor is asked for behind a branch or a loop, whose results have none of their own"
        tracer.refuse("branch-unsupported", why=why)


def check_class(tracer: TracerView, value: Any) -> None:
    """Check a query of the class of a value, or whether it is a parameter. Raises an error that ends the trace."""
    if is_fake(value) and id(value) in tracer.own(SideDifferences).parameters:
        why = "the class of a tensor is asked for that a branch or a loop gives, and that is a parameter in eager"
        tracer.refuse("branch-unsupported", why=why)
