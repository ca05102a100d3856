"""The private torch API for symbolic tracing by torch.fx.

Checked with torch 2.13.0, 2.14.1 and 2.15.0.
"""

from __future__ import annotations

from torch.fx._symbolic_trace import is_fx_symbolic_tracing as is_fx_symbolic_tracing

from dynamo_lite.symbolic_shapes.torch_versions import Symbol

DISABLES = "the import of the tracer"
"""What does not work if one of these is missing."""

SYMBOLS = (
    Symbol("torch.fx._symbolic_trace:is_fx_symbolic_tracing", "a question of the program that eager answers"),
)

__all__ = [
    "is_fx_symbolic_tracing",
]
