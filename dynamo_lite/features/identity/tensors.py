"""`left is right` of tensors, and tensors that the program identifies by their addresses."""

from __future__ import annotations

import weakref
from typing import Any

from dynamo_lite.tracing.assumptions.input_guards import are_one
from dynamo_lite.tracing.interfaces import FeatureState, TracerView
from dynamo_lite.tracing.vocabulary.type_tests import is_fake, is_tensor


def identical(tracer: TracerView, left: Any, right: Any) -> bool:
    """`left is right` of tensors that are two objects in the trace. Two inputs may be one tensor in the example, in
    another call, or in neither: the answer is a guard."""
    if not (is_tensor(left) and is_tensor(right)) or tracer.in_library():
        return False  # torch.nn asks only to save work
    one, other = (tracer.recorder.input_number(t) for t in (left, right))
    if one is not None and other is not None:
        return are_one(tracer, one, other)
    known = one if other is None else other
    if known is not None and not (is_fake(left) and is_fake(right)):
        tracer.refuse("input-identity", left=tracer.inputs.names[known], right="a tensor of the model")
    return False


class TensorAddresses(FeatureState):
    """The tensors that the program has identified by their addresses where branches on data are captured, by id."""

    stays = "they are looked at while they are alive"

    def __init__(self, tracer: TracerView) -> None:
        self.queried: dict[int, weakref.ref[Any]] = {}


def check_address(tracer: TracerView, tensor: Any) -> None:
    """The program identifies a tensor by its address (`id(x)`, a key). Refused where it may be another such tensor, as
    a branch on data went; a parameter or a buffer may have been one unseen."""
    recorder = tracer.recorder
    if recorder.may_share is None:
        return
    queried, fake = tracer.own(TensorAddresses).queried, recorder.known_fake(tensor)
    living = [other for other in (ref() for ref in queried.values()) if other is not None and other is not tensor]
    others = [*map(recorder.known_fake, living)]
    others += [one for one in recorder.from_outside() if one is not fake and recorder.input_number(one) is None]
    if any(recorder.may_share.may_be(one, fake) for one in others):
        tracer.refuse("branch-unsupported", why="whether two tensors are one depends on which side was taken")
    queried[id(tensor)] = weakref.ref(tensor)
