"""Dynamic programs for the tests of what comes after export. The oracle of each is eager, at every call of `calls`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.export import Dim
from torch.utils import _pytree as pytree

import dynamo_lite

AUTO = Dim.AUTO


class Case(NamedTuple):
    """A module, its `dynamic_shapes`, and calls; the first one is the example."""

    module: nn.Module
    dynamic_shapes: Any
    calls: list[tuple[Any, ...]]

    def export(self) -> torch.export.ExportedProgram:
        return dynamo_lite.export(self.module, self.calls[0], dynamic_shapes=self.dynamic_shapes)


def _tensors(*shapes: tuple[int, ...]) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(sum(map(sum, shapes)))
    return tuple(torch.randn(shape, generator=generator) for shape in shapes)


class Attention(nn.Module):
    """Views, transposes and matmuls over batch and length; a no_grad region."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.norm = nn.Linear(8, 24), nn.LayerNorm(8)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, int]:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, 2, 4).permute(2, 0, 3, 1, 4)
        with torch.no_grad():
            mask = torch.ones(length, length).tril() == 0
        weights = (q @ k.transpose(-1, -2) / 2).masked_fill(mask, -torch.inf).softmax(-1)
        return self.norm(x + (weights @ v).transpose(1, 2).reshape(batch, length, width)), length


class Convolution(nn.Module):
    """Padding, pooling and floor division of lengths; a buffer changed in place."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(3, 4, 3, stride=2, padding=1)
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen.add_(x.shape[0])
        y = nn.functional.pad(self.conv(x), (1, x.shape[-1] % 3))
        return y[..., : x.shape[-1] // 2].cumsum(-1)


class Tutorial(nn.Module):
    """The model of the torch.export tutorial: w:[s0, 5], x:[s2], y:[s3, s2], z:[s2*s3]."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(5, 3)

    def forward(self, w: torch.Tensor, x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> Any:
        return self.linear(w), x + y, y.reshape(-1) * z


class Derived(nn.Module):
    """Shared and derived dimensions, an integer argument, nested inputs."""

    def forward(self, pair: dict[str, torch.Tensor], n: int) -> Any:
        left, right = pair["left"], pair["right"]
        return {"sum": left + right[1:] * n, "sizes": (n + left.shape[0], left.shape[0] // 2)}


class Item(nn.Module):
    """A value that only run time knows, bounded by a size."""

    def forward(self, x: torch.Tensor, n: torch.Tensor) -> Any:
        count = n.item()
        torch._check(count >= 1)
        torch._check(count <= x.shape[0])
        return x[:count].sum(0), torch.arange(count) + count


class Nonzero(nn.Module):
    """Sizes that depend on data."""

    def forward(self, x: torch.Tensor) -> Any:
        rows = x.nonzero()
        chosen = x[x > 0]
        return rows, chosen * 2, rows.shape[0] + chosen.shape[0]


class Scalars(nn.Module):
    """Sizes, floats and truth values as outputs."""

    def forward(self, x: torch.Tensor) -> Any:
        n = x.shape[0]
        return n, n * 2 + 1, n / 4, x.mean(0) * (n // 3)


def cases() -> dict[str, Callable[[], Case]]:
    """By name; each call builds it again."""
    n = Dim("n", min=1, max=64)
    return {
        "attention": lambda: _case(Attention, {"x": {0: AUTO, 1: AUTO}}, (2, 5, 8), (3, 9, 8), (1, 4, 8)),
        "convolution": lambda: _case(Convolution, {"x": {0: AUTO, 2: AUTO}}, (2, 3, 10), (1, 3, 13), (5, 3, 6)),
        "tutorial": _tutorial,
        "derived": lambda: Case(
            Derived(), {"pair": {"left": {0: n}, "right": {0: n + 1}}, "n": Dim.DYNAMIC}, [*map(_derived, (4, 1, 9))]),
        "item": lambda: Case(
            Item(), {"x": {0: AUTO}, "n": None},
            [(*_tensors((rows, 3)), torch.tensor(count)) for rows, count in ((5, 3), (8, 8), (4, 1))]),
        "nonzero": lambda: _case(Nonzero, {"x": {0: AUTO}}, (6, 2), (3, 2), (1, 2)),
        "scalars": lambda: _case(Scalars, {"x": {0: AUTO}}, (6, 2), (3, 2), (13, 2)),
    }  # fmt: skip


def _case(module: type[nn.Module], dynamic_shapes: Any, *shapes: tuple[int, ...]) -> Case:
    torch.manual_seed(0)
    return Case(module().eval(), dynamic_shapes, [_tensors(shape) for shape in shapes])


def _tutorial() -> Case:
    torch.manual_seed(0)
    calls = [_tensors((a, 5), (b,), (c, b), (b * c,)) for a, b, c in ((8, 4, 3), (2, 7, 2), (1, 3, 5))]
    return Case(Tutorial(), {"w": {0: AUTO}, "x": {0: AUTO}, "y": {0: AUTO, 1: AUTO}, "z": {0: AUTO}}, calls)


def _derived(size: int) -> tuple[Any, ...]:
    left, right = _tensors((size, 2), (size + 1, 2))
    return {"left": left, "right": right}, size * 3 - 5


CASES = cases()


@dataclass
class Oracle:
    """Runs eager on copies, so that calls do not see each other's changes."""

    module: nn.Module

    def agrees(self, run: Callable[..., Any], call: tuple[Any, ...], *, numbers_as_tensors: bool = False) -> None:
        """AssertionError unless `run` returns what eager returns, with the same structure and types."""
        expected = run_alone(self.module, call)
        given = run(*pytree.tree_map(_copied, call))
        assert same_structure(given, expected)
        for got, want in zip(pytree.tree_leaves(given), pytree.tree_leaves(expected)):
            if isinstance(want, torch.Tensor):
                torch.testing.assert_close(got, want)
            elif numbers_as_tensors and isinstance(got, torch.Tensor):
                assert got.item() == want
            else:
                assert type(got) is type(want) and got == want


def run_alone(module: nn.Module, call: tuple[Any, ...]) -> Any:
    """Eager, with the module's buffers as before afterwards."""
    before = {name: buffer.clone() for name, buffer in module.named_buffers()}
    result = module(*pytree.tree_map(_copied, call))
    for name, buffer in module.named_buffers():
        buffer.copy_(before[name])
    return result


def same_structure(a: Any, b: Any) -> bool:
    return pytree.tree_structure(a) == pytree.tree_structure(b)


def _copied(leaf: Any) -> Any:
    return leaf.clone() if isinstance(leaf, torch.Tensor) else leaf
