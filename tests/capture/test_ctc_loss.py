"""ctc_loss of lengths that are tensors: eager reads them, the result's size does not depend on them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import dynamo_lite


class Loss(nn.Module):
    def __init__(self, reduction: str) -> None:
        super().__init__()
        self.loss = nn.CTCLoss(reduction=reduction)

    def forward(self, x: Tensor, targets: Tensor, lengths: Tensor, target_lengths: Tensor) -> Any:
        return self.loss(x.log_softmax(-1), targets, lengths, target_lengths)


def _call(steps: int, lengths: list[int], target_lengths: list[int]) -> tuple[Tensor, ...]:
    count = len(lengths)
    x = torch.randn(steps, count, 5, requires_grad=True)
    return x, torch.randint(1, 5, (count, 4)), torch.tensor(lengths), torch.tensor(target_lengths)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_values_and_gradients_as_in_eager(reduction: str, strict: bool) -> None:
    batch = torch.export.Dim("batch")
    shapes = {"x": {0: torch.export.Dim("steps"), 1: batch}, "targets": {0: batch}}
    shapes |= {"lengths": {0: batch}, "target_lengths": {0: batch}}
    model = Loss(reduction)
    first = _call(12, [12, 10], [4, 3])
    run = dynamo_lite.export(model, first, dynamic_shapes=shapes, strict=strict).module()
    for call in (first, _call(15, [12, 10, 15], [4, 3, 2]), _call(9, [9], [1])):
        found, expected = run(*call), model(*call)
        torch.testing.assert_close(found, expected)
        gradients = [torch.autograd.grad(loss.sum(), call[0])[0] for loss in (found, expected)]
        torch.testing.assert_close(*gradients)
