"""The private torch API for the structured trace log (TORCH_TRACE), which tlparse reads.

Checked with torch 2.13.0, 2.14.1 and 2.15.0.
"""

from __future__ import annotations

from torch._logging import trace_structured as trace_structured

from dynamo_lite.symbolic_shapes.torch_versions import Symbol

DISABLES = "reports in TORCH_TRACE"
"""The feature that does not work if one of these is missing."""

SYMBOLS = (Symbol("torch._logging:trace_structured", "an artifact of a trace, for tlparse"),)

__all__ = ["trace_structured"]
