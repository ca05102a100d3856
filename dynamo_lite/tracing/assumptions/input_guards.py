"""Guards on whole inputs, as texts that torch checks: which of them are one tensor, and the autograd state of one."""

from __future__ import annotations

from dynamo_lite.program.shapes.size_check import ambiguous
from dynamo_lite.torch_internals._torch_pytree import pytree
from dynamo_lite.tracing.interfaces import FeatureState, TracerView


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
