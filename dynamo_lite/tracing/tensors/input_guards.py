"""Guards on whole inputs, as texts that torch checks: which of them are one tensor, and the autograd state of one."""

from __future__ import annotations

import weakref
from typing import Any

from dynamo_lite.program.shapes.size_check import ambiguous
from dynamo_lite.torch_internals._torch_pytree import pytree
from dynamo_lite.tracing.interfaces import FeatureState, TracerView
from dynamo_lite.tracing.vocabulary.type_tests import is_fake, is_tensor


class InputGuards(FeatureState):
    """The guards of one run, in the order in which they were made."""

    stays = "a guard of one side is a guard of the program"

    def __init__(self, tracer: TracerView) -> None:
        self.texts: list[str] = []

    def add(self, text: str) -> None:
        if text not in self.texts:
            self.texts.append(text)


def are_one(tracer: TracerView, left: int, right: int) -> bool:
    """Whether two flat inputs (by number) are one tensor in the example; it becomes a guard of the program."""
    inputs = tracer.inputs
    paths = inputs.key_paths
    if ambiguous(paths):  # torch cannot write a guard on these
        tracer.refuse("input-identity", left=inputs.names[left], right=inputs.names[right])
    same = inputs.leaves[left] is inputs.leaves[right]
    one, other = (f"L{pytree.keystr(paths[n])}" for n in (left, right))
    tracer.own(InputGuards).add(f"{one} {'is' if same else 'is not'} {other}")
    return same


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
        self.asked: dict[int, weakref.ref[Any]] = {}


def check_address(tracer: TracerView, tensor: Any) -> None:
    """The program identifies a tensor by its address (`id(x)`, a key). Refused where it may be another such tensor, as
    a branch on data went; a parameter or a buffer may have been one unseen."""
    recorder = tracer.recorder
    if recorder.may_share is None:
        return
    asked, fake = tracer.own(TensorAddresses).asked, recorder.known_stand_in(tensor)
    living = [other for other in (ref() for ref in asked.values()) if other is not None and other is not tensor]
    others = [*map(recorder.known_stand_in, living)]
    others += [one for one in recorder.from_outside() if one is not fake and recorder.input_number(one) is None]
    if any(recorder.may_share.may_be(one, fake) for one in others):
        tracer.refuse("branch-unsupported", why="whether two tensors are one depends on which side was taken")
    asked[id(tensor)] = weakref.ref(tensor)
