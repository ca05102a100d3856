"""Errors about numbers of data say them in the program's own words, and the line that they come from."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import dynamo_lite
from dynamo_lite.errors import DataDependent


def looked_up(x: Tensor, n: Tensor) -> Any:
    return x * {1: 2}[int(x.sum().item())]


def looked_up_by_a_name(x: Tensor, n: Tensor) -> Any:
    total = x.sum().item()
    return x * {6.0: 1}[total]


def repeated(x: Tensor, n: Tensor) -> Any:
    return "a" * n.item(), n


def read_as_text(x: Tensor, n: Tensor) -> Any:
    return x * float(f"{x.sum().item():.2f}")


def divisor(x: Tensor, n: Tensor) -> Any:
    return x * math.gcd(int(x.sum().item()), 4)


def scaled(x: Tensor, n: Tensor) -> Any:
    return torch.nn.functional.interpolate(x[None, None], scale_factor=x.mean().item())


def ratio(x: Tensor, n: Tensor) -> Any:
    return x * x.sum().item().as_integer_ratio()[0]


def packed(x: Tensor, n: Tensor) -> Any:
    return x * struct.unpack("f", struct.pack("f", x.sum().item()))[0]


def sliced(x: Tensor, n: Tensor) -> Any:
    return [1, 2, 3, 4][n.item() :]


def ordered(x: Tensor, n: Tensor) -> Any:
    return sorted([n.item(), *range(13)])


def hashed(x: Tensor, n: Tensor) -> Any:
    return x * hash(x.max().item())


def of_a_helper(x: Tensor, n: Tensor) -> Any:
    def total() -> Any:
        return x.sum().item()

    return x * {6.0: 1}[total()]


def two(x: Tensor, n: Tensor) -> Any:
    return x * {6.0: 1}[x[0].item() * n.item()]


SAYS: dict[Callable[..., Any], str] = {
    looked_up: "The number math.trunc(x.sum().item())",
    looked_up_by_a_name: "The number total",
    repeated: "The number n.item()",
    read_as_text: "The number x.sum().item()",
    divisor: "The number math.trunc(x.sum().item())",
    scaled: "The number x.mean().item()",
    ratio: "The number x.sum().item()",
    packed: "The number x.sum().item()",
    sliced: "The number n.item()",
    ordered: "Whether n.item() >= 1 holds",
    hashed: "The number x.max().item()",
    of_a_helper: "The number x.sum().item()",
    two: "x[0].item()",
}


@pytest.mark.parametrize("function", SAYS, ids=lambda function: function.__name__)
def test_numbers_are_in_the_programs_words(function: Callable[..., Any]) -> None:
    with pytest.raises(DataDependent) as caught:
        dynamo_lite.export(function, (torch.tensor([1.0, 2.0, 3.0]), torch.tensor(3)))
    said = str(caught.value).split("The program was here")[0]
    assert SAYS[function] in said
    assert "zuf" not in said
    assert not re.search(r"(?<! is )\bu\d", said)  # `n.item() is u0: ...` says which one it is in the graph
    assert "method()" not in said
    assert re.search(rf"from user line {re.escape(__file__)}:\d+ `.*item\(\)", said)
