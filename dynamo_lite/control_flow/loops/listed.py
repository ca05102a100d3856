"""`tensor.tolist()` where the tensor's length is a symbolic size: numbers of the data, or lists of them."""

from __future__ import annotations

from typing import Any

import torch

from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.loops.counted import BackwardIterations, Iterations, is_open_size
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor


class ListedIterations(Iterations):
    """The items of `tensor.tolist()`, of which the first dimension alone has a size that varies. They are what the
    tensor held at the call: later changes in place are not seen."""

    def __init__(self, tracer: Forking, tensor: torch.Tensor) -> None:
        super().__init__(tracer, tensor.shape[0])
        self.tensor = tensor.detach().clone()

    def item(self, at: Any) -> Any:
        row = self.tensor.select(0, at)
        return self.tracer.vm.call(torch.Tensor.tolist, (row,)) if row.dim() else self.tracer.predicates.item(row)

    @property
    def kind(self) -> Any:
        if self.tensor.dim() > 1 or self.tensor.dtype is torch.bool or self.tensor.is_complex():
            return "other"
        return float if self.tensor.is_floating_point() else int

    def rows(self) -> torch.Tensor:
        return self.tensor.to(torch.float64 if self.kind is float else torch.int64)

    def backwards(self) -> Iterations:
        return BackwardIterations(self)


def listed(tracer: Forking, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterations | None:
    """tensor.tolist(); None where its length does not vary, or that of its items does."""
    if len(args) != 1 or kwargs or not is_tensor(args[0]) or not args[0].dim():
        return None
    length, *others = args[0].shape
    return ListedIterations(tracer, args[0]) if is_open_size(length) and not any(map(is_open_size, others)) else None
