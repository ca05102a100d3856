"""Conditions on sizes left to `Dim.AUTO` that hold for no range of sizes, `n % 4` or `n == 8`, are captured."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.export import Dim

import dynamo_lite
from tests.dynamic.test_size_branches import Forward, compare, exported

SIZES = tuple(range(1, 10))


def pads(x: Tensor) -> Tensor:
    if x.shape[0] % 4:
        x = F.pad(x, (0, 0, 0, -x.shape[0] % 4))
    return x.view(-1, 4, 4).softmax(1).flatten(0, 1)


def pads_by_a_number(x: Tensor) -> Tensor:
    length = x.shape[0]
    pad = (4 - length % 4) % 4
    if pad > 0:
        x = torch.cat([x, x.new_zeros(pad, 4)])
    return x.view(-1, 4, 4).sum(1)


def divides(x: Tensor) -> Tensor:
    whole, left = divmod(x.shape[0], 3)
    if left:
        whole += 1
        x = F.pad(x, (0, 0, 0, 3 - left))
    return x.view(whole, 3, 4).mean(1)


def repeats_the_last(x: Tensor) -> Tensor:
    length = x.shape[0]
    if length != length // 4 * 4:
        x = torch.cat([x, x[-1:].expand(4 - length % 4, 4)])
    return x.view(-1, 4, 4).amax(1)


def is_odd(x: Tensor) -> Tensor:
    if x.shape[0] & 1:
        return x.sin()
    return x.cos()


def twice(x: Tensor) -> Tensor:
    length = x.shape[0]
    if length % 4:
        x = F.pad(x, (0, 0, 0, -length % 4))
    x = x * 2 if length % 3 == 0 else x + 1
    return x[:length]


def has_one_size(x: Tensor) -> Tensor:
    return x.sin() * 2 if x.shape[0] == 6 else x.cos()


def avoids_one_size(x: Tensor) -> Tensor:
    if x.shape[0] != 6:
        x = x * 3
    return x + 1


PROGRAMS: list[Forward] = [
    pads, pads_by_a_number, divides, repeats_the_last, is_odd, twice, has_one_size, avoids_one_size,
]  # fmt: skip


@pytest.mark.parametrize("rows", [4, 6, 7])
@pytest.mark.parametrize("spec", [Dim.AUTO, Dim("n", min=1)], ids=["auto", "named"])
@pytest.mark.parametrize("forward", PROGRAMS, ids=lambda fn: fn.__name__)
def test_each_size_is_taken(forward: Forward, spec: Any, rows: int) -> None:
    compare(forward, exported(forward, spec, rows).module(), SIZES)


def windows(x: Tensor) -> Tensor:
    height, width = x.shape
    pads = (-height % 2, -width % 3)
    if pads[0] or pads[1]:
        x = F.pad(x, (0, pads[1], 0, pads[0]))
    cells = x.view(x.shape[0] // 2, 2, x.shape[1] // 3, 3).transpose(1, 2).softmax(-1)
    return cells.transpose(1, 2).reshape(x.shape)[:height, :width].contiguous()


def test_two_sizes() -> None:
    program = dynamo_lite.export(windows, (torch.randn(4, 6),), dynamic_shapes=({0: Dim.AUTO, 1: Dim.AUTO},))
    module = program.module()
    for height, width in itertools.product(range(1, 6), range(1, 8)):
        x = torch.randn(height, width, requires_grad=True)
        same = x.detach().clone().requires_grad_()
        got, want = module(same), windows(x)
        torch.testing.assert_close(got, want)
        assert got.stride() == want.stride()
        (got * got).sum().backward()
        (want * want).sum().backward()
        torch.testing.assert_close(same.grad, x.grad)


def test_a_range_is_narrowed_as_before() -> None:
    """The sizes up to a limit are a range: the example's side is taken, unless a size of 1 takes the other."""

    def forward(x: Tensor) -> Tensor:
        return x[:6] * 3 if x.shape[0] > 6 else x * 2

    module = exported(forward, Dim.AUTO).module()
    compare(forward, module, (1, 4, 6))
    with pytest.raises(dynamo_lite.InputMismatch):
        module(torch.randn(7, 4))


def test_sizes_that_are_equal_stay_equal() -> None:
    """Two sizes of the example that a branch finds equal are one size of the program."""

    def forward(x: Tensor, y: Tensor) -> Tensor:
        return x + y if x.shape[0] == y.shape[0] else x + y.sum(0)

    shapes = ({0: Dim.AUTO}, {0: Dim.AUTO})
    program = dynamo_lite.export(forward, (torch.ones(4, 2), torch.ones(4, 2)), dynamic_shapes=shapes)
    assert all(node.target is not torch.ops.higher_order.cond for node in program.graph.nodes)
