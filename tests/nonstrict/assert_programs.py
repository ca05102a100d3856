"""Programs that assert what they find in data. No file of tests: pytest rewrites the asserts of those."""

from __future__ import annotations

from typing import Any

import torch


def asserts(x: torch.Tensor) -> Any:
    n = x.max().item()
    assert n > 0, "too small"
    return x + n


def asserts_both_bounds(x: torch.Tensor) -> Any:
    n = x.max().item()
    assert 0 < n < 9
    return x + n


def only_raises(x: torch.Tensor) -> Any:
    n = x.max().item()
    if n <= 0:
        raise ValueError("too small")
    return x + n


def handles(x: torch.Tensor) -> Any:
    try:
        return asserts(x)
    except AssertionError:
        return x


def clamps(x: torch.Tensor) -> Any:
    n = x.max().item()
    return x + min(n, 3) * max(-1, n), min(iter([n, 5])), max(len([1]), 0)
