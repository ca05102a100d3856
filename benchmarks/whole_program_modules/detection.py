"""Detectors: suppression of boxes as libraries write it, proposals, regions of several levels."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import Dim

from benchmarks.whole_program_modules.table import whole

Boxes = tuple[Tensor, Tensor]


def _detections(count: int, seed: int = 0, classes: int = 3) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    corner = torch.rand(count, 2, generator=generator) * 4
    sides = torch.rand(count, 2, generator=generator) * 3 + 0.1
    scores = torch.rand(count, generator=generator)
    return torch.cat([corner, corner + sides], 1), scores, torch.randint(0, classes, (count,), generator=generator)


def _iou(boxes: Tensor, others: Tensor) -> Tensor:
    def area(b: Tensor) -> Tensor:
        return (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])

    low = torch.max(boxes[:, None, :2], others[:, :2])
    high = torch.min(boxes[:, None, 2:], others[:, 2:])
    inner = (high - low).clamp(min=0).prod(-1)
    return inner / (area(boxes)[:, None] + area(others) - inner)


def _nms(boxes: Tensor, scores: Tensor, threshold: float) -> Tensor:
    order = scores.argsort(descending=True)
    keep = []
    while order.numel() > 0:
        best = order[0]
        keep.append(best)
        if order.numel() == 1:
            break
        overlap = _iou(boxes[best].unsqueeze(0), boxes[order[1:]]).squeeze(0)
        order = order[1:][overlap <= threshold]
    return torch.stack(keep) if keep else torch.empty(0, dtype=torch.long)


def _varying(count: int) -> tuple[dict[int, Dim], ...]:
    boxes = Dim("boxes", min=0, max=64)
    return ({0: boxes},) * count


_TO_MASK = "a fixed number of boxes, and a mask of those that are kept in place of a set that shrinks"


@whole(*(_detections(n, n)[:2] for n in (8, 0, 1, 2, 20)), shapes=_varying(2), rewrite=_TO_MASK)
class ShrinkingNMS(nn.Module):
    """NMS over the boxes that are left, until there is none"""

    def forward(self, boxes: Tensor, scores: Tensor) -> Boxes:
        keep = _nms(boxes, scores, 0.5)
        return boxes[keep], scores[keep]


@whole(*(_detections(n, n) for n in (8, 0, 1, 5, 20)), shapes=_varying(3), rewrite=_TO_MASK + "; one pass per class")
class NMSPerClass(nn.Module):
    """NMS of each class that has a box, then the best of all"""

    def forward(self, boxes: Tensor, scores: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        kept = []
        for number in range(3):
            inside = torch.where((labels == number) & (scores > 0.1))[0]
            if inside.numel() == 0:
                continue
            kept.append(inside[_nms(boxes[inside], scores[inside], 0.5)])
        keep = torch.cat(kept) if kept else torch.empty(0, dtype=torch.long)
        keep = keep[scores[keep].argsort(descending=True)][:10]
        return boxes[keep], scores[keep], labels[keep]


@whole(*(_detections(n, n) for n in (8, 1, 5, 20)), shapes=_varying(3), rewrite=_TO_MASK)
class NMSByOffsets(nn.Module):
    """NMS of all classes at once: the boxes of each class are moved elsewhere"""

    def forward(self, boxes: Tensor, scores: Tensor, labels: Tensor) -> Tensor:
        if boxes.numel() == 0:
            return torch.empty(0, dtype=torch.long)
        offsets = labels.to(boxes) * (boxes.max() + 1)
        return _nms(boxes + offsets[:, None], scores, 0.5)


def _predictions(seed: int, level: float) -> Tensor:
    torch.manual_seed(seed)
    centre, size = torch.rand(2, 12, 2) * 8, torch.rand(2, 12, 2) * 3 + 0.5
    return torch.cat([centre, size, torch.rand(2, 12, 1) * level, torch.rand(2, 12, 3)], -1)


@whole(
    *((_predictions(seed, level),) for seed, level in enumerate((1.0, 0.5, 0.2, 0.9))),
    rewrite="padded outputs of `max_det` rows with a count; a mask in place of `x[keep]` and of `continue`",
)
class YoloPostprocessing(nn.Module):
    """per image: candidates over a threshold, the best class of each, NMS by class, at most ten"""

    def forward(self, prediction: Tensor) -> list[Tensor]:
        candidates = prediction[..., 4] > 0.25
        output = [torch.zeros((0, 6))] * prediction.shape[0]
        for i, x in enumerate(prediction):
            x = x[candidates[i]]
            if not x.shape[0]:
                continue
            half = x[:, 2:4] / 2
            box = torch.cat([x[:, :2] - half, x[:, :2] + half], 1)
            confidence, j = (x[:, 5:] * x[:, 4:5]).max(1, keepdim=True)
            x = torch.cat((box, confidence, j.float()), 1)[confidence.view(-1) > 0.25]
            n = x.shape[0]
            if not n:
                continue
            x = x[x[:, 4].argsort(descending=True)[:30]]
            keep = _nms(x[:, :4] + x[:, 5:6] * 100, x[:, 4], 0.45)
            output[i] = x[keep[:10]]
        return output


@whole(
    *((_detections(n, n)[0], torch.randn(n) * scale) for n, scale in ((8, 1.0), (3, 2.0), (20, 1.0), (6, 0.1))),
    shapes=_varying(2),
    rewrite="`topk` of a fixed number in place of the boxes that pass, and a mask",
)
class Proposals(nn.Module):
    """proposals of a region network: clipped, small and unlikely ones left out, NMS, the best few"""

    def forward(self, boxes: Tensor, objectness: Tensor) -> Boxes:
        scores = objectness.sigmoid()
        boxes = boxes.clamp(min=0, max=5)
        ws, hs = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
        keep = torch.where((ws >= 0.2) & (hs >= 0.2))[0]
        boxes, scores = boxes[keep], scores[keep]
        keep = torch.where(scores >= 0.3)[0]
        boxes, scores = boxes[keep], scores[keep]
        keep = _nms(boxes, scores, 0.7)[:5]
        return boxes[keep], scores[keep]


@whole(
    *(_detections(n, n)[:1] for n in (8, 1, 3, 20)),
    shapes=({0: Dim("boxes", min=1, max=64)},),
    rewrite="all levels for all regions, and torch.where",
)
class RegionsOfLevels(nn.Module):
    """features of each region from the level of the pyramid that fits its size"""

    def __init__(self) -> None:
        super().__init__()
        self.levels = nn.ModuleList(nn.Linear(4, 6) for _ in range(4))

    def forward(self, boxes: Tensor) -> Tensor:
        sides = ((boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])).sqrt()
        levels = torch.floor(sides + 0.5).clamp(0, 3).long()
        result = boxes.new_zeros(boxes.shape[0], 6)
        for number, level in enumerate(self.levels):
            inside = torch.where(levels == number)[0]
            if inside.numel() > 0:
                result[inside] = level(boxes[inside])
        return result


@whole(
    *((torch.rand(2, 5, 4, generator=torch.Generator().manual_seed(s)), torch.tensor([[480, 640], [300, 400]]))
      for s in range(4)),
    rewrite="padded outputs with a count per image",
)  # fmt: skip
class ObjectsOverThreshold(nn.Module):
    """per image a dict of the scores, labels and boxes over a threshold (DETR)"""

    def forward(self, logits: Tensor, sizes: Tensor) -> list[dict[str, Tensor]]:
        scores, labels = logits.softmax(-1)[..., :-1].max(-1)
        boxes = torch.cat([logits[..., :2], logits[..., :2] + logits[..., 2:]], -1)
        height, width = sizes.unbind(1)
        boxes = boxes * torch.stack([width, height, width, height], 1)[:, None, :]
        results = []
        for s, label, b in zip(scores, labels, boxes):
            over = s > 0.3
            results.append({"scores": s[over], "labels": label[over], "boxes": b[over]})
        return results


@whole(*(_detections(n, n)[:2] for n in (8, 1, 3, 20)), shapes=_varying(2), rewrite="a loop over all boxes with a mask")
class SoftNMS(nn.Module):
    """soft NMS: scores of boxes that overlap the best one are lowered, those under a threshold leave"""

    def forward(self, boxes: Tensor, scores: Tensor) -> Boxes:
        kept_boxes, kept_scores = [], []
        while scores.numel() > 0:
            top = scores.argmax()
            kept_boxes.append(boxes[top])
            kept_scores.append(scores[top])
            overlap = _iou(boxes[top][None], boxes)[0]
            scores = scores * torch.exp(-(overlap**2) / 0.5)
            left = torch.arange(scores.numel()) != top
            left = left & (scores > 0.2)
            boxes, scores = boxes[left], scores[left]
        if not kept_boxes:
            return boxes, scores
        return torch.stack(kept_boxes), torch.stack(kept_scores)
