"""Appending to lists in a loop that data may end early.

For each item that an iteration adds, torch's while_loop carries a tensor with room for all iterations; each iteration
writes one row. After the loop the list has the rows of the iterations that were run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from dynamo_lite.capture.graph.unrecorded import unrecorded
from dynamo_lite.control_flow.emission import is_unknown
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.lists.growth import Growth
from dynamo_lite.control_flow.loops.counted import Counter
from dynamo_lite.control_flow.states import cannot_merge


class Buffers:
    """The buffers of one loop. `examples` represent them within an iteration."""

    def __init__(self, tracer: Forking, growths: Sequence[Growth], counter: Counter) -> None:
        self.tracer, self.start = tracer, counter.at
        self.room = counter.of.count - counter.at
        self.examples: list[torch.Tensor] = []
        for tensor in (tensor for growth in growths for tensor in growth.added):
            if any(map(is_unknown, tensor.shape)):
                cannot_merge("branch-unsupported", why="iterations of a loop add tensors to a list whose size is data")
            with unrecorded(), tracer.recorder.fake_mode:
                shape = (self.room, *tensor.shape)
                self.examples.append(torch.empty(shape, dtype=tensor.dtype, device=tensor.device))

    def enter(self) -> None:
        """Make the buffers arguments of the body's sub-graph, at the beginning of an iteration."""
        for index, example in enumerate(self.examples):
            self.tracer.recorder.levels.argument(example, f"grown{index}_1")

    def initial(self) -> list[torch.Tensor]:
        """Return the buffers' initial values."""
        return [torch.zeros((self.room, *e.shape[1:]), dtype=e.dtype, device=e.device) for e in self.examples]

    def written(self, growths: Sequence[Growth], at: Any) -> list[torch.Tensor]:
        """Return the buffers' values after iteration number `at`."""
        added = [tensor for growth in growths for tensor in growth.added]
        for example, tensor in zip(self.examples, added):
            if len(tensor.shape) != len(example.shape) - 1 or not _are_equal(self.tracer, tensor, example):
                cannot_merge("branch-unsupported", why="iterations of a loop add tensors of different shapes to a list")
        row = torch.full((1,), at - self.start, dtype=torch.int64)
        return [e.index_copy(0, row.to(e.device), t.unsqueeze(0)) for e, t in zip(self.examples, added)]

    def rows(self, results: Sequence[torch.Tensor], end: Any) -> list[torch.Tensor]:
        """Return the rows of the iterations that were run. end: the number of the iteration that did not begin."""
        if not results:
            return []
        count = end - self.start
        check = self.tracer.recorder.guarded
        check(torch._check, count >= 0)
        check(torch._check, count <= self.room)
        return [result.narrow(0, 0, count) for result in results]


def _are_equal(tracer: Forking, tensor: torch.Tensor, example: torch.Tensor) -> bool:
    env = tracer.recorder.env
    for one, other in zip(tensor.shape, example.shape[1:]):
        answer = one == other
        if type(answer) is not bool:
            answer = env is not None and env.decide_node(answer.node) is True
        if not answer:
            return False
    return True
