"""The private torch API of torch.export's front, in one place.

Checked with torch 2.13.0, 2.14.1 and 2.15.0.

`torch.export.export` looks `_export` up in `torch.export._trace` when it is called (torch/export/__init__.py, export):
a function put there is called by every reference to `torch.export.export` that a library has imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dynamo_lite.symbolic_shapes.torch_versions import Symbol


def current_exporter() -> Callable[..., Any]:
    """The function that `torch.export.export` calls."""
    import torch.export._trace

    return torch.export._trace._export


def put_exporter(exporter: Callable[..., Any]) -> None:
    """Make `torch.export.export` call `exporter`, with the signature of torch/export/_trace.py's `_export`."""
    import torch.export._trace

    torch.export._trace._export = exporter


DISABLES = "as_torch_export"
"""The features that fail if one of these is missing."""

SYMBOLS = (Symbol("torch.export._trace:_export", "torch.export.export calls it: a function in its place answers"),)

__all__ = ["current_exporter", "put_exporter"]
