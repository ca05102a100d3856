"""Runs an operator on fake tensors with symbolic sizes: by a rule of ours (composites.py), or by its own kernel."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from dynamo_lite.capture.kernels import composites
from dynamo_lite.capture.kernels.layout_questions import COPIES_OR_VIEWS
from dynamo_lite.symbolic_shapes.torch_env import larger_example
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv

_COPIES_OR_VIEWS = COPIES_OR_VIEWS - {torch.ops.aten.contiguous.default, torch.ops.aten.ravel.default}
"""Those whose result is never the very argument."""


def run(env: TorchShapeEnv, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The operator's result. Its kernel may be run twice, if it checks whether a size is 0 or 1 (larger_example.py)."""
    if func._schema.is_mutable or not composites.is_symbolic(args):
        return _once(env, func, args, kwargs)
    kernel = functools.partial(_once, env, func, args, kwargs)
    return larger_example.run(env, kernel, args, may_copy=func in _COPIES_OR_VIEWS)


def _once(env: TorchShapeEnv, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    out = composites.run(env, func, args, kwargs)
    return func(*args, **kwargs) if out is composites.MISS else out
