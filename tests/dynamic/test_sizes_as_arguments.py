"""Sizes where torch's C code takes a plain int, compares them or resizes by them: eager at each size is the oracle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.export import Dim

import dynamo_lite

SIZES = (1, 2, 3, 4, 5, 8, 30)
Program = Callable[..., Any]


class Interpolates(nn.Module):
    """A table of positions for images of another size."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(1, 3, 4, 4))

    def forward(self, x: Tensor) -> Tensor:
        table = self.table
        if x.shape[-2:] != table.shape[-2:]:
            table = F.interpolate(table, size=(x.shape[2], x.shape[3]), mode="bicubic")
        return x + table


class Filters(nn.Module):
    """The first frequencies, in a buffer of complex numbers."""

    def forward(self, x: Tensor) -> Tensor:
        found = torch.fft.rfft(x, dim=2)
        kept = torch.zeros(*found.shape[:2], x.shape[2] // 2 + 1, x.shape[3], dtype=torch.complex64)
        kept[:, :, :2] = found[:, :, :2] * 0.5
        return torch.fft.irfft(kept, n=x.shape[2], dim=2)


def triangle(x: Tensor) -> Tensor:
    rows, columns = torch.triu_indices(x.shape[2], x.shape[2], 1)
    products = x[:, 0] @ x[:, 0].mT
    return products[:, rows, columns]


def below(x: Tensor) -> tuple[Tensor, Tensor]:
    return torch.tril_indices(x.shape[2], x.shape[2]), torch.triu_indices(x.shape[2], x.shape[2], -1)


def grid(x: Tensor) -> Tensor:
    rows, columns = torch.linspace(-1, 1, x.shape[2]), torch.linspace(0, x.shape[3] - 1, x.shape[3])
    return x + rows[:, None] * columns


PROGRAMS: dict[str, Program] = {
    "max pool": lambda x: F.max_pool2d(x, x.shape[2:]).flatten(1),
    "max pool 1d": lambda x: F.max_pool1d(x[..., 0], kernel_size=x.shape[2]).squeeze(2),
    "average pool": lambda x: F.avg_pool2d(x, kernel_size=(x.shape[2], x.shape[3])),
    "average pool 1d": lambda x: F.avg_pool1d(x[..., 0].contiguous(), x.shape[2]),
    "one hot": lambda x: F.one_hot(torch.arange(x.shape[2]) % 2 * 0, x.shape[2]) + x.sum(),
    "triangle": triangle,
    "triangles": below,
    "linspace": grid,
    "interpolated table": Interpolates(),
    "half as large": lambda x: F.interpolate(F.pad(x, (0, 1, 0, 1)), scale_factor=0.5, mode="bilinear"),
    "antialiased": lambda x: F.interpolate(x, size=(x.shape[2] // 2 + 1, 3), mode="bilinear", antialias=True),
    "distances": lambda x: torch.cdist(x[:, 0], x[:, 0]),
    "fft": lambda x: torch.fft.fft(x, dim=2),
    "fft of two": lambda x: torch.fft.rfft2(x, dim=(0, 2)).abs(),
    "filter": Filters(),
    "frequencies": lambda x: torch.fft.rfft(x[..., 0])[..., :3],
    "parts": lambda x: torch.cat([part.mean(2, keepdim=True) for part in x.tensor_split(2, dim=3)], 3),
    "uneven parts": lambda x: torch.cat([part * i for i, part in enumerate(x.tensor_split(4, dim=2))], 2),
    "one of a branch": lambda x: x + (x.mean(2, keepdim=True) if x.shape[2] > 4 else x * 2),
    "share": lambda x: x.topk(max(1, int(x.shape[2] * 0.3)), dim=2).values,
    "crop": lambda x: x[:, :, (x.shape[2] - min(x.shape[2:])) // 2 :][:, :, : min(x.shape[2:])],
}


def rows_with_constants(x: Tensor, y: Tensor) -> Tensor:
    return torch.stack([a * b for a, b in zip(x, y)])


def rows_of_constants(x: Tensor, y: Tensor) -> Tensor:
    state = torch.zeros(4)
    for number, (b, a) in enumerate(zip(y, x)):
        state = state * 0.5 + a * b + number
    return state


@pytest.mark.parametrize("spec", [Dim.AUTO, Dim("n", min=1)], ids=["auto", "named"])
@pytest.mark.parametrize("program", [rows_with_constants, rows_of_constants])
def test_zip_ends_with_the_shorter(program: Program, spec: Any) -> None:
    """One of the two lengths is a constant: there are as many rounds as the lesser."""
    y = torch.randn(7, 4)
    run = dynamo_lite.export(program, (torch.randn(6, 4), y), dynamic_shapes=({0: spec}, None)).module()
    for size in (1, 2, 6, 7, 8, 12):
        x = torch.randn(size, 4)
        torch.testing.assert_close(run(x, y), program(x, y))


def called(run: Program, x: Tensor) -> Any:
    torch.manual_seed(1)
    return run(x)


@pytest.mark.parametrize("spec", ["auto", "named"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_size_is_taken(name: str, spec: str) -> None:
    program = PROGRAMS[name]
    batch, height = (Dim.AUTO, Dim.AUTO) if spec == "auto" else (Dim("batch", min=1), Dim("height", min=1))
    shapes = ({0: batch, 2: height},)
    with torch.no_grad():
        exported = dynamo_lite.export(program, (torch.randn(2, 3, 6, 4),), dynamic_shapes=shapes)
        run = exported.module()
        for size in SIZES:
            for count in (1, 3):
                x = torch.randn(count, 3, size, 4)
                got, want = called(run, x), called(program, x)
                torch.testing.assert_close(got, want)
                for a, b in zip(*(t if type(t) is tuple else (t,) for t in (got, want)), strict=True):
                    assert a.stride() == b.stride()


@pytest.mark.parametrize("name", ["max pool", "max pool 1d", "average pool", "linspace", "triangle"])
def test_gradients_and_decompositions_are_eagers(name: str) -> None:
    program = PROGRAMS[name]
    exported = dynamo_lite.export(
        program, (torch.randn(2, 3, 6, 4),), dynamic_shapes=({0: Dim("batch", min=1), 2: Dim("height", min=1)},)
    )
    for run in (exported.module(), exported.run_decompositions().module()):
        for size in (1, 3, 8):
            x = torch.randn(1, 3, size, 4).round().requires_grad_()  # ties among them
            same = x.detach().clone().requires_grad_()
            want, got = program(x), run(same)
            torch.testing.assert_close(got, want)
            if want.numel():
                want.sum().backward()
                got.sum().backward()
                torch.testing.assert_close(same.grad, x.grad)


def test_a_class_that_there_is_not_is_an_error() -> None:
    def forward(x: Tensor, i: Tensor) -> Tensor:
        return F.one_hot(i, x.shape[0])

    run = dynamo_lite.export(
        forward, (torch.ones(4), torch.tensor([0, 3])), dynamic_shapes=({0: Dim("n", min=1)}, None)
    ).module()
    for size in (4, 7):
        assert torch.equal(run(torch.ones(size), torch.tensor([0, 3])), F.one_hot(torch.tensor([0, 3]), size))
    with pytest.raises(RuntimeError):
        run(torch.ones(2), torch.tensor([0, 3]))


class Cache(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros(1, 16, 3))

    def forward(self, x: Tensor) -> Tensor:
        self.rows[:, : x.shape[1]] = x
        return self.rows * 2


@pytest.mark.parametrize("spec", [Dim.AUTO, Dim("n", min=1)], ids=["auto", "named"])
def test_a_slice_is_written_up_to_its_end(spec: Any) -> None:
    """The whole buffer is a slice as any other; beyond it eager raises."""
    program = dynamo_lite.export(Cache(), (torch.randn(1, 6, 3),), dynamic_shapes=({1: spec},))
    for size in (1, 2, 15, 16):
        x = torch.randn(1, size, 3)
        torch.testing.assert_close(program.module()(x), Cache()(x))
    with pytest.raises(RuntimeError):
        Cache()(torch.randn(1, 17, 3))
    with pytest.raises(dynamo_lite.InputMismatch):
        program.module()(torch.randn(1, 17, 3))


def test_a_value_that_is_expanded_is_written() -> None:
    def forward(x: Tensor, y: Tensor) -> Tensor:
        x = x.clone()
        x[:, : y.shape[1]] = y[:1]
        return x

    shapes = ({0: Dim("a", min=1), 1: Dim("b", min=8)}, {1: Dim("c", min=1, max=8)})
    run = dynamo_lite.export(forward, (torch.randn(3, 9), torch.randn(2, 4)), dynamic_shapes=shapes).module()
    for a, b, c in ((1, 8, 8), (3, 9, 1), (2, 8, 3)):
        x, y = torch.randn(a, b), torch.randn(2, c)
        torch.testing.assert_close(run(x, y), forward(x, y))


@pytest.mark.parametrize("spec", ["auto", "named"])
def test_shapes_that_are_compared_as_a_whole(spec: str) -> None:
    module = Interpolates()
    height, width = (Dim.AUTO, Dim.AUTO) if spec == "auto" else (Dim("height", min=1), Dim("width", min=1))
    program = dynamo_lite.export(module, (torch.randn(1, 3, 6, 7),), dynamic_shapes=({2: height, 3: width},)).module()
    for sizes in ((4, 4), (4, 5), (5, 4), (1, 1), (8, 8)):
        x = torch.randn(1, 3, *sizes)
        torch.testing.assert_close(program(x), module(x))
