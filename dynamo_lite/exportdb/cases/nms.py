"""Non-maximum suppression (NMS)

Boxes are taken from the best score on; one that overlaps a box that is kept is dropped. With a mask each size is
constant, and the loop is unrolled. The indices of what is kept have a size that depends on data: take them outside, or
in a last step (`mask.nonzero()`). torchvision.ops.nms is one operator, and captured as such.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("nms", "detection", "boxes", "loops")


def overlap(boxes: Tensor) -> Tensor:
    low, high = boxes[:, None, :2].maximum(boxes[:, :2]), boxes[:, None, 2:].minimum(boxes[:, 2:])
    shared = (high - low).clamp(min=0).prod(-1)
    area = (boxes[:, 2:] - boxes[:, :2]).prod(-1)
    return shared / (area[:, None] + area - shared)


class Module(nn.Module):
    def forward(self, boxes: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
        order = scores.argsort(descending=True)
        too_near = overlap(boxes[order]) > 0.5
        keep = torch.ones_like(scores, dtype=torch.bool)
        for i in range(boxes.shape[0] - 1):
            later = torch.arange(boxes.shape[0]) > i
            keep = keep & ~(keep[i] & too_near[i] & later)
        return order, keep


def inputs() -> tuple[Tensor, ...]:
    corners = torch.tensor([[0.0, 0.0], [0.1, 0.0], [2.0, 2.0], [2.0, 2.2], [5.0, 5.0]])
    return torch.cat([corners, corners + 1], 1), torch.tensor([0.9, 0.8, 0.3, 0.7, 0.5])
