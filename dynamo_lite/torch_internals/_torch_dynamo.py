"""The private torch API for what TorchDynamo registers and marks, in one place. Checked with torch 2.13.0."""

from __future__ import annotations

from torch._C._dynamo.eval_frame import set_eval_frame as set_eval_frame
from torch._dynamo import exc as exc
from torch._dynamo.types import ConvertFrameReturn as ConvertFrameReturn

__all__ = [
    "ConvertFrameReturn",
    "exc",
    "set_eval_frame",
]
