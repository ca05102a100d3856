"""What the tracer holds while a side runs is not seen by C code that looks at how often an object is referred to."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

import dynamo_lite


def shifted(x: Tensor) -> Tensor:
    numbers = iter([1.0, 2.0])
    return x + next(numbers) + sum(a for a, _ in zip([1.0], numbers))


def half_made_tuple(x: Tensor) -> Any:
    """`tuple(generator)` cuts its tuple to length at the end, which raises a SystemError if anybody else holds it."""
    pair = tuple(shifted(v) for v in (x, x * 2)) if x.sum() > 0 else (x, x)
    return pair[0] + pair[1]


def test_a_tuple_that_is_being_made() -> None:
    program = dynamo_lite.export(half_made_tuple, (torch.ones(3),)).module()
    for x in (torch.ones(3), -torch.ones(3)):
        assert torch.equal(program(x), half_made_tuple(x))
