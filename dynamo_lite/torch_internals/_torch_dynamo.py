"""The private torch API for what TorchDynamo registers and marks.

Checked with torch 2.13.0, 2.14.1 and 2.15.0.
"""

from __future__ import annotations

from torch._C._dynamo.eval_frame import set_eval_frame as set_eval_frame
from torch._dynamo import exc as exc
from torch._dynamo.types import ConvertFrameReturn as ConvertFrameReturn

from dynamo_lite.symbolic_shapes.torch_versions import Symbol

DISABLES = "interpret(fn, sentry=True)"
"""The features that fail if one of these is missing."""

SYMBOLS = (
    Symbol(
        "torch._C._dynamo.eval_frame:set_eval_frame",
        "interpret(fn, sentry=True): frames that CPython evaluates itself are listed",
    ),
    Symbol("torch._dynamo:exc", "exceptions of TorchDynamo that the program may name"),
    Symbol(
        "torch._dynamo.types:ConvertFrameReturn",
        "interpret(fn, sentry=True): what the callback of PEP 523 returns",
    ),
)

__all__ = [
    "ConvertFrameReturn",
    "exc",
    "set_eval_frame",
]
