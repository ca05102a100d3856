"""Tensors that each iteration makes longer by a constant, `ids = torch.cat([ids, new], 1)`, or shorter.

The operator carries a tensor with room for all iterations. An iteration sees the part that exists by then, and so does
the program after the loop.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch

from dynamo_lite.capture.fakes.cond_outputs import is_dense
from dynamo_lite.capture.graph.unrecorded import unrecorded
from dynamo_lite.control_flow.emission import is_unknown
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.loops.counted import Counter
from dynamo_lite.control_flow.merge import Pair
from dynamo_lite.control_flow.states import cannot_merge
from dynamo_lite.torch_internals._torch_dispatch import DisableTorchFunction
from dynamo_lite.tracing.vocabulary.symbolic_numbers import shape_text
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

_MOST = 2**24
"""Elements that a tensor may have room for, if the facts give no other bound than a number."""
Going = Mapping[Any, Any]
"""Numbers that depend on whether a loop is left → their values if it is not."""


class Growing(NamedTuple):
    """How one tensor grows, or gets shorter.

    before: the tensor before the loop; step: by how much it is longer, along `dim`, after each iteration, or by how
    much it may be (is_exact False: a side that leaves the loop has not made it longer); goes_exact: whether the latter
    is so only if the loop is left; start: the number of the first iteration; room: how many iterations there may be,
    None if that is not known yet. A tensor that gets shorter (`order = order[far]`) has step 0; so has one that gets
    shorter and longer, up to a size that the facts prove (`front = near.nonzero()`), which is `bound`.
    """

    before: torch.Tensor
    dim: int
    step: int
    is_exact: bool
    goes_exact: bool
    start: Any
    room: Any
    bound: Any = None

    def most(self, at: Any) -> Any:
        """Return the length, or the greatest length, before iteration number `at`."""
        if not self.step:
            return self.before.shape[self.dim] if self.bound is None else self.bound
        return self.before.shape[self.dim] + self.step * (at - self.start)

    def after(self, at: Any) -> Any:
        """Return the same after iteration number `at`."""
        return self.most(at + 1 if self.step else at)

    def _whole(self) -> list[Any]:
        shape = list(self.before.shape)
        if self.step:
            shape[self.dim] = shape[self.dim] + self.step * self.room
        elif self.bound is not None:
            shape[self.dim] = self.bound
        return shape

    def example(self, tracer: Forking) -> torch.Tensor:
        """Return a fake tensor for the carried one."""
        if self.step and self.room is None:
            return torch.empty_like(self.before)
        with unrecorded(), tracer.recorder.fake_mode:
            return torch.empty(self._whole(), dtype=self.before.dtype, device=self.before.device)

    def assume(self, tracer: Forking, length: Any, at: Any) -> None:
        """Assume the facts about the length in an iteration, and assert them: the operator runs the iteration again."""
        recorder = tracer.recorder
        least = self.before.shape[self.dim] if self.step else 0
        relations = [length >= least, length <= self.most(at)]
        for holds in [length == self.most(at)] if self.goes_exact else relations:
            recorder.guarded(torch._check, holds)
            args = recorder.lower_symbolic(holds), "the length of a tensor that a loop makes longer"
            recorder.call_node(torch.ops.aten._assert_scalar.default, args, {}, "_assert_scalar")

    def seen(self, whole: torch.Tensor, length: Any) -> torch.Tensor:
        """Return the part of the carried tensor that the program sees."""
        if self.step and self.room is None:
            shape = [*self.before.shape]
            shape[self.dim] = length
            return torch.zeros(shape, dtype=self.before.dtype, device=self.before.device)
        return whole.narrow(self.dim, 0, length).clone(memory_format=torch.contiguous_format)

    def carried(self, value: torch.Tensor) -> torch.Tensor:
        """Return the carried form of the program's tensor."""
        shape = self._whole()
        shape[self.dim] = shape[self.dim] - value.shape[self.dim]
        return torch.cat([value, torch.zeros(shape, dtype=value.dtype, device=value.device)], self.dim)

    def check(self, tracer: Forking, value: torch.Tensor, at: Any) -> None:
        """Check that the tensor after iteration `at` has the required length, and the layout of its fake tensor. Raises
        CannotMerge."""
        due, dim = list(self.before.shape), self.dim
        due[dim] = self.after(at) if self.is_exact else value.shape[dim]
        fits = len(value.shape) == len(due) and all(_holds(tracer, a == b) for a, b in zip(value.shape, due))
        if fits and not self.is_exact:
            size = value.shape[dim]
            least = self.before.shape[dim] if self.step else 0
            fits = _holds(tracer, size >= least) and _holds(tracer, size <= self.after(at))
        if not is_dense(tracer.recorder.known_fake(value)):
            cannot_merge("branch-unsupported", why="a tensor whose length iterations change is not contiguous")
        if not fits:
            why = f"{shape_text(self.before.shape)} before, {shape_text(value.shape)} after"
            cannot_merge("branch-differs", what="a tensor of another shape after each iteration", why=why)

    def is_kept(self, tracer: Forking, going: Going, value: torch.Tensor, at: Any) -> bool:
        """Whether the tensor after iteration `at` has the length that is assumed for all iterations."""
        size, due = value.shape[self.dim], self.after(at)
        if self.is_exact:
            return _holds(tracer, size == due)
        return not self.goes_exact or _holds(tracer, if_it_goes(tracer, going, size) == due)

    def looser(self) -> Growing:
        """Return the same with a weaker assumption about the length."""
        return self._replace(is_exact=False, goes_exact=self.is_exact)

    def at_end(self, tracer: Forking, result: torch.Tensor, length: Any) -> torch.Tensor:
        """Return the tensor that the program has after the loop."""
        check = tracer.recorder.guarded
        check(torch._check, length >= (self.before.shape[self.dim] if self.step else 0))
        check(torch._check, length <= result.shape[self.dim])
        return self.seen(result, length)


def growing_of(tracer: Forking, pair: Pair, counter: Counter | None, going: Going) -> Growing | None:
    """Return how a tensor grows in the first iteration, which runs on the program's own values; None if it does not."""
    before, after, env = pair.left, pair.right, tracer.recorder.env
    if env is None or pair.kind != "tensor" or not is_tensor(before):
        return None
    with DisableTorchFunction():  # it is not the program that asks
        if before.layout is not torch.strided or not before.is_contiguous():
            return None
    unlike = [
        dim for dim, sizes in enumerate(zip(before.shape, after.shape)) if not _holds(tracer, sizes[0] == sizes[1])
    ]
    if len(unlike) != 1:
        return None
    varies = not isinstance(before.shape[unlike[0]], int) or is_unknown(after.shape[unlike[0]])
    if varies and _holds(tracer, after.shape[unlike[0]] <= before.shape[unlike[0]]):
        return Growing(before, unlike[0], 0, False, False, 0, None)
    by = after.shape[unlike[0]] - before.shape[unlike[0]]
    least, most = (by, by) if type(by) is int else env.core.bounds(env.unwrap(by))
    if counter is None or least < 0 or not 0 < most < math.inf:
        bound = _bound(tracer, before.shape[unlike[0]], after.shape[unlike[0]])
        return None if bound is None else Growing(before, unlike[0], 0, False, False, 0, None, bound)
    room = counter.of.count - counter.at if counter.of.count is not None else None
    goes = if_it_goes(tracer, going, after.shape[unlike[0]]) - before.shape[unlike[0]]
    is_exact, goes_exact = least == most, _holds(tracer, goes == int(most))
    return Growing(before, unlike[0], int(most), is_exact, goes_exact, counter.at, room)


def _bound(tracer: Forking, before: Any, after: Any) -> Any:
    """Return a size that neither length exceeds, a number or that of an input; None if the facts prove none."""
    env: Any = tracer.recorder.env
    if not is_unknown(after):
        return None
    most = max(size if type(size) is int else env.core.bounds(env.unwrap(size))[1] for size in (before, after))
    if most < _MOST:
        return int(most)
    for symbol in [symbol for symbol in env.core.symbols.values() if symbol.hint is not None]:
        size = env.wrap(symbol.as_int())
        if _holds(tracer, after <= size) and (type(before) is int or _holds(tracer, before <= size)):
            return torch.sym_max(size, before) if type(before) is int else size
    return None


def if_it_goes(tracer: Forking, going: Going, size: Any) -> Any:
    """Return the value of a number after an iteration, if the loop continues."""
    env = tracer.recorder.env
    while type(size) is torch.SymInt and env is not None and env.unwrap(size) in going:
        size = going[env.unwrap(size)]
    return size


def _holds(tracer: Forking, answer: Any) -> bool:
    env = tracer.recorder.env
    return answer if type(answer) is bool else env is not None and env.decide_node(answer.node) is True
