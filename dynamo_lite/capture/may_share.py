"""Tensors that are one tensor in eager, or two, as a branch on data went: in the program they are two.

    y = a if x.sum() > 0 else a + 1     # the result of a torch.cond, a tensor of its own
    y.add_(1)                           # changes `a` in eager, if the left side was taken

Nothing can tell the two apart until one of them is changed in place, or `is` compares them. So the pairs are
remembered, and such a write is refused while the program, or its caller, can still get at the other one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch

from dynamo_lite.capture.errors import CaptureError
from dynamo_lite.capture.fakes.fake_tensors import storage_key


class MayShare:
    """Pairs of memory, transitive. `reaches(keys)`: whether the program can still get at memory with these keys."""

    def __init__(self, reaches: Callable[[set[int]], bool]) -> None:
        self._reaches = reaches
        self._pairs: dict[int, set[int]] = {}
        self._kept: list[torch.Tensor] = []  # keys are those of living tensors

    def note(self, result: torch.Tensor, others: Iterable[torch.Tensor]) -> None:
        """`result` has memory of its own, and would be one of these (stand-ins) in eager."""
        key = storage_key(result)
        for other in others:
            if (of := storage_key(other)) != key:
                self._kept += (result, other)
                self._pairs.setdefault(key, set()).add(of)
                self._pairs.setdefault(of, set()).add(key)

    def others(self, tensor: torch.Tensor) -> set[int]:
        """The keys of what may be `tensor`, beside its own."""
        if not self._pairs:
            return set()
        key = storage_key(tensor)
        found, todo = {key}, [key]
        while todo:
            for other in self._pairs.get(todo.pop(), ()):
                if other not in found:
                    found.add(other)
                    todo.append(other)
        return found - {key}

    def may_be(self, one: torch.Tensor, other: torch.Tensor) -> bool:
        """Whether two tensors of different memory may be one in eager."""
        return storage_key(one) != storage_key(other) and storage_key(other) in self.others(one)

    def check_write(self, tensor: torch.Tensor) -> None:
        """Refuses to change `tensor` in place if what it may be can still be seen."""
        others = self.others(tensor)
        if others and self._reaches(others):
            raise CaptureError(
                "branch-unsupported",
                "a tensor is changed in place that is another one, or not, as a branch went",
                "clone() it before",
                {"why": "a tensor is changed in place that is another tensor too, or not, as the branch went"},
            )
