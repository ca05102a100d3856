"""The private torch API for symbolic tracing by torch.fx, in one place. Checked with torch 2.13.0."""

from __future__ import annotations

from torch.fx._symbolic_trace import is_fx_symbolic_tracing as is_fx_symbolic_tracing

__all__ = [
    "is_fx_symbolic_tracing",
]
