"""Tensors whose length data give in each iteration: boxes that are left, worklists, what is picked. Against eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.export import Dim

import dynamo_lite
from dynamo_lite.errors import GraphBreak
from tests.control_flow.harness import same


def overlaps(boxes: Tensor, others: Tensor) -> Tensor:
    def area(b: Tensor) -> Tensor:
        return (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])

    low = torch.max(boxes[:, None, :2], others[:, :2])
    high = torch.min(boxes[:, None, 2:], others[:, 2:])
    inner = (high - low).clamp(min=0).prod(-1)
    return inner / (area(boxes)[:, None] + area(others) - inner)


def kept(boxes: Tensor, scores: Tensor) -> Tensor:
    """NMS with a test of the last box within the loop."""
    order, keep = scores.argsort(descending=True), []
    while order.numel() > 0:
        if order.numel() == 1:
            keep.append(order[0])
            break
        keep.append(order[0])
        far = overlaps(boxes[order[0]][None], boxes[order[1:]])[0]
        order = order[1:][far <= 0.5]
    return torch.stack(keep) if keep else torch.zeros(0, dtype=torch.long)


def kept_by_where(boxes: Tensor, scores: Tensor) -> Tensor:
    _, order = scores.sort(0, descending=True)
    keep = []
    while order.size(0) > 0:
        keep.append(order[0])
        inner = overlaps(boxes[order[0]][None], boxes[order[1:]])[0]
        order = order[torch.where(inner <= 0.5)[0] + 1]
    return torch.tensor(keep, dtype=torch.long)


def kept_by_class(boxes: Tensor, scores: Tensor, classes: Tensor) -> Tensor:
    """torchvision's batched_nms over the classes that there are."""
    mask = torch.zeros_like(scores, dtype=torch.bool)
    for number in torch.unique(classes):
        own = torch.where(classes == number)[0]
        mask[own[kept_by_where(boxes[own], scores[own])]] = True
    found = torch.where(mask)[0]
    return found[scores[found].sort(descending=True)[1]]


def kept_by_offsets(boxes: Tensor, scores: Tensor, classes: Tensor) -> Tensor:
    """torchvision's batched_nms by moving each class elsewhere."""
    if boxes.numel() == 0:
        return torch.empty((0,), dtype=torch.int64)
    return kept(boxes + (classes.to(boxes) * (boxes.max() + 1))[:, None], scores)


def some_boxes(count: int) -> tuple[Tensor, Tensor, Tensor]:
    corner = torch.rand(count, 2) * 4
    boxes = torch.cat([corner, corner + torch.rand(count, 2) * 3 + 0.1], 1)
    return boxes, torch.rand(count), torch.randint(0, 3, (count,))


@pytest.mark.parametrize(
    ("fn", "least"),
    [
        (kept, None),
        (kept, 0),
        (kept_by_where, None),
        (kept_by_where, 0),
        (kept_by_class, None),
        (kept_by_class, 0),
        (kept_by_offsets, None),
        (kept_by_offsets, 1),  # boxes.max() is an error for none, on the side that is not taken
    ],
)
def test_boxes_that_are_left(fn: Callable[..., Tensor], least: int | None) -> None:
    torch.manual_seed(0)
    given = fn.__code__.co_argcount
    dims = {0: Dim("boxes", min=least, max=64)} if least is not None else None
    shapes = (dims,) * given if dims is not None else None
    with torch.no_grad():
        program = dynamo_lite.export(fn, some_boxes(8)[:given], dynamic_shapes=shapes).module()
        for seed, count in enumerate((8, 8, 8) if least is None else (least, 1, 2, 7, 20)):
            torch.manual_seed(seed)
            inputs = some_boxes(count)[:given]
            assert same(program(*inputs), fn(*inputs)), count


def reached(edges: Tensor) -> Tensor:
    front, seen = torch.zeros(1, dtype=torch.long), torch.zeros(edges.shape[0], dtype=torch.bool)
    seen[0] = True
    while front.numel() > 0:
        near = (edges[front] > 0).any(0) & ~seen
        seen = seen | near
        front = near.nonzero().squeeze(1)
    return seen


def distances(edges: Tensor) -> tuple[Tensor, int]:
    front, steps = torch.tensor([0]), 0
    distance = torch.full((edges.shape[0],), -1)
    while front.numel() > 0:
        distance[front] = steps
        steps += 1
        front = ((edges[front].sum(0) > 0) & (distance < 0)).nonzero().view(-1)
    return distance, steps


@pytest.mark.parametrize("fn", [reached, distances])
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_worklist_grows_and_shrinks(fn: Callable[..., Any], dynamic: bool) -> None:
    size = Dim("size", min=1)
    shapes = ({0: size, 1: size},) if dynamic else None
    program = dynamo_lite.export(fn, ((torch.rand(8, 8) > 0.7).float(),), dynamic_shapes=shapes)
    assert len([node for node in program.graph.nodes if node.name == "while_loop"]) == 1
    for seed, count in enumerate((8, 8, 8) if not dynamic else (1, 2, 8, 30)):
        torch.manual_seed(seed)
        edges = (torch.rand(count, count) > 0.8).float()
        assert same(program.module()(edges), fn(edges))


def picked(x: Tensor) -> Tensor:
    found: list[Tensor] = []
    while x.numel() > 0 and len(found) < 3:
        at = x.argmax()
        found.append(x[at])
        x = x[torch.arange(x.shape[0]) != at]
    return torch.stack(found) if found else x[:0]


def test_two_tests_one_of_them_on_the_length() -> None:
    program = dynamo_lite.export(picked, (torch.rand(6),), dynamic_shapes=({0: Dim("n", min=1, max=64)},)).module()
    for count in (1, 2, 3, 9):
        x = torch.rand(count)
        assert same(program(x), picked(x))


def test_boxes_that_parameters_made() -> None:
    class Head(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(4))

        def forward(self, boxes: Tensor, scores: Tensor) -> Tensor:
            return kept(boxes * self.scale, scores * self.scale.sum())

    module = Head()
    program = dynamo_lite.export(module, some_boxes(8)[:2]).module()  # with gradients: the indices have none
    for seed in range(3):
        torch.manual_seed(seed)
        boxes, scores, _ = some_boxes(8)
        assert same(program(boxes, scores), module(boxes, scores))


def test_a_size_without_a_bound_is_refused_by_name() -> None:
    def fn(x: Tensor) -> Tensor:
        found = (x > 0).nonzero().squeeze(1)
        while found.numel() > 1:
            found = torch.unique(found // 2)
        return found

    with pytest.raises(GraphBreak, match=r"a tensor carried by the loop changes its size .*carry a mask"):
        dynamo_lite.export(fn, (torch.randn(9),))


def left(x: Tensor) -> Tensor:
    picked = []
    while x.numel() > 0:
        picked.append(x[0])
        x = x[1:][x[1:] <= x[0]]
    return torch.stack(picked) if picked else torch.empty(0)


def asked_behind(x: Tensor) -> Tensor:
    """A round has at least one row, and no more than x: that says nothing of x where there is no round."""
    total = left(x).sum()
    return total + 100 if x.shape[0] == 0 else total + 1


def asked_in_front(x: Tensor) -> Tensor:
    return torch.empty(0) if x.numel() == 0 else left(x)


@pytest.mark.parametrize("fn", [asked_behind, asked_in_front])
def test_what_holds_in_a_round_holds_there(fn: Callable[[Tensor], Tensor]) -> None:
    shapes = ({0: Dim("n", min=0, max=64)},)
    module = dynamo_lite.export(fn, (torch.rand(8),), dynamic_shapes=shapes).module()
    for length in (0, 1, 5):
        x = torch.rand(length)
        assert same(module(x), fn(x)), length
