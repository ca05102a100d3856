"""The joins of one branch: where both sides are run to, from the nearest on, until they can be merged."""

from __future__ import annotations

import itertools
from typing import Final

import torch

from dynamo_lite.control_flow.branches.calls import caller_of
from dynamo_lite.control_flow.branches.side_ends import Merged, merge_sides
from dynamo_lite.control_flow.gradients import requires_grad
from dynamo_lite.control_flow.interfaces import Forked
from dynamo_lite.control_flow.states import CannotMerge, HeldElsewhere, JoinsLater, Side, SizesDiffer, StateDiffers
from dynamo_lite.interpreter.flow import END, FlowGraph
from dynamo_lite.tracing.tensors.side_differences import SideDifferences

_CARRIED_ON = 100
"""Up to so many runs of sides a choice is carried on past a join that leaves a variable unmerged."""
_ATTEMPTS = 7
"""Joins that are tried for one branch."""
IN_CALLER: Final = -2
"""A join in the caller of the branch's frame."""


class Joins:
    """The joins of one branch, tried from the nearest on until the sides can be merged.

    If none succeeds, the nearest is used: variables that cannot be merged there raise an error when they are read.
    `problem` is a conflict there other than in variables. `difference`: why the results that both sides return cannot
    be merged, if the sides may continue in the caller; None again once they did.

    The branches within a side are run again whenever an enclosing branch tries another join. The join at which each of
    them was merged is therefore saved (`tracer.merged_at`, by the point of the program) and tried first.
    """

    def __init__(self, branch: Forked) -> None:
        self.branch = branch
        self.key = branch.tracer.mark(), len(branch.callees)
        self.first = branch.first_join()
        self.last_time = branch.tracer.merged_at.get(self.key)
        self.at = self.first if self.last_time in (None, IN_CALLER) else self.last_time
        self.problem: CannotMerge | None = None
        self.difference: CannotMerge | None = None
        self.number = 0
        self.is_last = False
        self.stays = False
        self._is_around = False

    def merged(self, left: Side, right: Side) -> Merged | None:
        """The merge of two sides that have run to `at`; None if they are to be run to another join, or in the
        caller."""
        on_stack, unmergeable = False, []
        is_final = self.is_last or self.first == END or self.is_enough()
        try:
            merged = merge_sides(self.branch, left, right, carries_sizes=not is_final)
            if merged.unmergeable and self._begins():
                return None
        except CannotMerge as error:
            if self._begins():
                return None
            if self.number == 0 and not isinstance(error, SizesDiffer):
                self.problem = error
            may_help = error.id == "branch-differs" or isinstance(error, HeldElsewhere)
            if left.pc == right.pc == END and may_help and not (self.stays or self.is_enough()):
                self.difference = error
                return None
            if self.is_last or self.first == END:
                self._refuse(self.problem or error)
            on_stack = error.on_stack
        else:
            unmergeable = merged.unmergeable
            difference = merged.difference or self._gradient(merged)
            if difference and not unmergeable and self._may_go_on():
                if self.at == END:
                    why = "it is set on one side only"
                    self.difference = StateDiffers("branch-differs", what=f"{difference} different", why=why)
                else:
                    self.at = END
                return None
            if not unmergeable or is_final:
                return merged
        self._later(unmergeable, on_stack)
        return None

    def _gradient(self, merged: Merged) -> str:
        """A result with a gradient, if the autograd engine asks for it: no operator has an autograd graph in a trace;
        each side has its own."""
        differences = self.branch.tracer.own(SideDifferences)
        results = (value for pair in merged.merge.pairs for value in (pair.left, pair.right))
        joined = torch.is_grad_enabled() and requires_grad(results)
        differences.joined |= joined
        return "a gradient" if joined and differences.carries_gradients else ""

    def _may_go_on(self) -> bool:
        """Whether the state of a feature that cannot be merged may be carried on: to the end of the function, or in the
        caller."""
        if self.is_last or self.stays or self.is_enough():
            return False
        return self.at != END or caller_of(self.branch.tracer, self.branch.frame) is not None

    def _begins(self) -> bool:
        """Whether the nearest join is to be tried, after that of the last time."""
        if self.last_time is None:
            return False
        self.last_time, self.at = None, self.first
        return True

    def move(self, later: JoinsLater) -> None:
        """Move the join: a branch within a side joins after `at`."""
        if later.in_caller:
            self.difference, self._is_around = CannotMerge("branch-differs"), True
        else:
            self.last_time, self.at = None, later.at

    def note_merged(self, at: int) -> None:
        """The sides were merged at this join, or are where `at` is IN_CALLER."""
        if at != self.first:
            self.branch.tracer.merged_at[self.key] = at

    def stay(self) -> None:
        """The sides cannot be run on in the caller, or that does not help."""
        assert self.difference is not None
        error, self.difference, self.stays = self.difference, None, True
        if self._is_around:
            self._is_around = False
            return
        if isinstance(error, StateDiffers):
            return
        if self.is_last or self.first == END:
            self._refuse(self.problem or error)
        self._later([], False)

    def check_around(self) -> None:
        """A branch around that runs this one to a join before `at` would miss it. Raises JoinsLater for that one."""
        joins, frame = self.branch.tracer.joins, self.branch.frame
        if not joins or joins[-1].frame is not frame:
            return
        passed = itertools.takewhile(lambda at: at != self.at, self.branch.flow.joins_after(self.branch.at))
        if joins[-1].at in passed:
            raise JoinsLater(frame, self.at)

    def is_enough(self) -> bool:
        """Whether sides were run so often that no choice is carried on any more."""
        return self.branch.tracer.path_counter.runs > _CARRIED_ON

    def _later(self, unmergeable: list[int], on_stack: bool) -> None:
        """Join where the values that differ are dead; if that does not help, at the first join again."""
        self.number += 1
        if self.at == END or self.number == _ATTEMPTS or self.is_enough():
            if self.problem is not None:
                self._refuse(self.problem)
            self.at, self.is_last = self.first, True
            return
        flow, at = self.branch.flow, self.at
        if not unmergeable and not on_stack:
            self.at = END
            return
        for later in flow.joins_after(at):
            stored = on_stack and takes_value(flow, at)
            at = later
            dead = not on_stack and at != END and not any(flow.live(at) >> index & 1 for index in unmergeable)
            if stored or dead or at == END:
                break
        self.at = at

    def _refuse(self, problem: CannotMerge) -> None:
        names = problem.names
        if "(the branch at line" not in str(names["why"]):
            names = {**names, "why": f"{names['why']}{self.branch.where()}"}
        self.branch.refuse(CannotMerge(problem.id, **names))


def takes_value(flow: FlowGraph, at: int) -> bool:
    """Whether an instruction takes the value of an expression from the stack, as the end of a statement does."""
    return flow.names[at] in ("STORE_FAST", "POP_TOP")
