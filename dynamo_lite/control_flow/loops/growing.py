"""Tensors that each round of a loop makes longer by the same: `ids = torch.cat([ids, new], 1)`.

The operator carries a tensor with room for all rounds. A round sees as much of it as there is by then, and so does the
program behind the loop.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from dynamo_lite.capture.graph.unrecorded import unrecorded
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.loops.counted import Counter
from dynamo_lite.control_flow.merge import Pair
from dynamo_lite.control_flow.states import cannot_merge
from dynamo_lite.tracing.vocabulary.symbolic_numbers import shape_text
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor


class Growing(NamedTuple):
    """How one tensor grows. before: the tensor before the loop; step: by how much it is longer, along `dim`, after each
    round; start: the number of the first round; room: how many rounds there may be."""

    before: torch.Tensor
    dim: int
    step: int
    start: Any
    room: Any

    def length(self, at: Any) -> Any:
        """How long it is before round number `at`."""
        return self.before.shape[self.dim] + self.step * (at - self.start)

    def _whole(self) -> list[Any]:
        shape = list(self.before.shape)
        shape[self.dim] = shape[self.dim] + self.step * self.room
        return shape

    def example(self, tracer: Forking) -> torch.Tensor:
        """A stand-in for what the operator carries."""
        with unrecorded(), tracer.recorder.fake_mode:
            return torch.empty(self._whole(), dtype=self.before.dtype, device=self.before.device)

    def seen(self, whole: torch.Tensor, at: Any) -> torch.Tensor:
        """What the program has before round number `at`, of what is carried."""
        return whole.narrow(self.dim, 0, self.length(at)).clone(memory_format=torch.contiguous_format)

    def carried(self, value: torch.Tensor) -> torch.Tensor:
        """What is carried of the program's tensor."""
        shape = self._whole()
        shape[self.dim] = shape[self.dim] - value.shape[self.dim]
        return torch.cat([value, torch.zeros(shape, dtype=value.dtype, device=value.device)], self.dim)

    def check(self, tracer: Forking, value: torch.Tensor, at: Any) -> None:
        """The tensor after round number `at` is as long as it has to be. Raises CannotMerge."""
        due = list(self.before.shape)
        due[self.dim] = self.length(at + 1)
        if len(value.shape) != len(due) or not all(_are_equal(tracer, *sizes) for sizes in zip(value.shape, due)):
            why = f"{shape_text(self.before.shape)} before, {shape_text(value.shape)} after"
            cannot_merge("branch-differs", what="a tensor of another shape after each round of a loop", why=why)

    def at_end(self, tracer: Forking, result: torch.Tensor, end: Any) -> torch.Tensor:
        """What the program has behind the loop. end: the number of the round that did not begin."""
        check = tracer.recorder.guarded
        check(torch._check, end >= self.start)
        check(torch._check, end <= self.start + self.room)
        return self.seen(result, end)


def growing_of(pair: Pair, counter: Counter | None) -> Growing | None:
    """How a tensor grows in the first round, which is run on the program's own values; None if it does not."""
    before, after = pair.left, pair.right
    if counter is None or pair.kind != "tensor" or not is_tensor(before) or before.layout is not torch.strided:
        return None
    unlike = [dim for dim, sizes in enumerate(zip(before.shape, after.shape)) if sizes[0] is not sizes[1]]
    unlike = [dim for dim in unlike if not _is_same(before.shape[dim], after.shape[dim])]
    if len(unlike) != 1 or not before.is_contiguous():
        return None
    step = after.shape[unlike[0]] - before.shape[unlike[0]]
    step = step if type(step) is int else step.node.maybe_as_int()
    if step is None or step <= 0:
        return None
    return Growing(before, unlike[0], step, counter.at, counter.of.count - counter.at)


def _is_same(one: Any, other: Any) -> bool:
    answer = one == other
    return answer if type(answer) is bool else answer.node.maybe_as_bool() is True


def _are_equal(tracer: Forking, one: Any, other: Any) -> bool:
    answer = one == other
    env = tracer.recorder.env
    return answer if type(answer) is bool else env is not None and env.decide_node(answer.node) is True
