"""Each public attribute of a tensor that a program reads: what a tensor gives, not the class of stand-ins."""

from __future__ import annotations

import warnings
from typing import Any

import torch

import dynamo_lite

X = torch.ones(2, 3)
REFUSED = {"name", "names", "imag", "data_ptr"}
"""Not asked here: they raise on this tensor, or end the trace by themselves."""
PLAIN = (bool, int, str, torch.dtype, torch.device, torch.layout, type(None))
NAMES = sorted(name for name in dir(torch.Tensor) if not name.startswith("_") and name not in REFUSED)


def _kinds(x: torch.Tensor) -> tuple[torch.Tensor, str]:
    said = []
    for name in NAMES:
        value = getattr(x, name)
        said.append(f"{name}: {value if isinstance(value, PLAIN) else type(value).__name__}")
    return x + 1, "\n".join(said)


def test_each_public_attribute_is_a_tensors() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (_, expected), (_, said) = _kinds(X), dynamo_lite.export(_kinds, (X,)).module()(X)
    assert said == expected


def test_decisions_by_layout() -> None:
    def forward(x: torch.Tensor) -> Any:
        dense = (x.to_sparse() * 2).to_dense()
        return dense + (1 if x.layout == torch.strided else 2), x.to_sparse().layout == torch.sparse_coo, x.is_mkldnn

    torch.testing.assert_close(dynamo_lite.export(forward, (X,)).module()(X), forward(X))
