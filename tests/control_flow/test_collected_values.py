"""Values that only C code holds, or an unpacking, while a tensor which they may be is changed in place."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import dynamo_lite
from tests.control_flow.harness import differences

CALLS = ((torch.ones(2),), (-torch.ones(2),), (-9 * torch.ones(2),))


def unpacked(items: Iterator[Tensor]) -> Any:
    first, *rest = items
    return first, rest


def unpacked_two(items: Iterator[Tensor]) -> Any:
    first, second = items
    return first, second


def assigned_to_a_slice(items: Iterator[Tensor]) -> Any:
    found: list[Any] = [0]
    found[0:1] = items
    return found


COLLECT: dict[str, Callable[[Iterator[Tensor]], Any]] = {
    "unpacked": unpacked,
    "unpacked_two": unpacked_two,
    "assigned_to_a_slice": assigned_to_a_slice,
    "list": list,
    "tuple": tuple,
    "starred": lambda items: [*items],
    "dict": lambda items: [*dict(enumerate(items)).values()],
    "zip": lambda items: list(zip(items, range(2))),
    "map": lambda items: list(map(lambda item: item, items)),  # noqa: C417
    "deque": lambda items: [*collections.deque(items)],
    "arguments": lambda items: (lambda *values: values)(*items),
    "sorted": lambda items: sorted(items, key=lambda item: 0),
    "for": lambda items: [item for item in items],  # noqa: C416
}


class Changes(nn.Module):
    """An item is the tensor that is changed behind it, or a new one, as a branch goes."""

    def __init__(self, collect: Callable[[Iterator[Tensor]], Any]) -> None:
        super().__init__()
        self.collect = collect

    def forward(self, x: Tensor) -> Any:
        value = x * 1

        def steps() -> Iterator[Tensor]:
            for _ in range(2):
                yield value
                value.add_(10)

        return self.collect(step if step.sum() > 0 else step + 1 for step in steps())


class OfFunctions(nn.Module):
    def forward(self, x: Tensor) -> Any:
        value = x * 1

        def step(i: int) -> Tensor:
            value.add_(10)
            return value if value.sum() > i else value + 1

        return list(map(step, range(3)))


@pytest.mark.parametrize("example", range(3))
@pytest.mark.parametrize("name", [*COLLECT, "functions"])
def test_equals_eager(name: str, example: int) -> None:
    module = OfFunctions() if name == "functions" else Changes(COLLECT[name])
    program = dynamo_lite.export(module, CALLS[example])
    assert differences(program.module, module, CALLS) == []
