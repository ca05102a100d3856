"""Autocast's settings, called by the program itself: a recording shows only regions, `with torch.autocast(...)`."""

from __future__ import annotations

from typing import Any

import torch

from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.feature import Feature
from dynamo_lite.tracing.interfaces import Step, TracerView

_SWITCHES = ("set_autocast_enabled", "set_autocast_cpu_enabled", "set_autocast_xla_enabled", "set_autocast_ipu_enabled")
_DTYPES = ("set_autocast_dtype", "set_autocast_cpu_dtype", "set_autocast_gpu_dtype", "set_autocast_xla_dtype")


def call_switch(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """torch.set_autocast_enabled: refused, unless torch.amp calls it, which the recorder observes."""
    if tracer.in_library():
        return NOT_HANDLED
    tracer.refuse("process-state", function=f"torch.{fn.__name__}")


def call_dtype(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """torch.set_autocast_dtype: outside of regions it sets the dtype of a later one, which the region carries."""
    if tracer.in_library() or tracer.recorder.autocast.cache is None:
        return NOT_HANDLED
    tracer.refuse("process-state", function=f"torch.{fn.__name__} inside of an autocast region")


_RULES: dict[int, Step] = {
    **{id(getattr(torch, name)): call_switch for name in _SWITCHES if hasattr(torch, name)},
    **{id(getattr(torch, name)): call_dtype for name in _DTYPES if hasattr(torch, name)},
}

FEATURE = Feature(name="autocast", rules=lambda: _RULES, graph_breaks=("process-state",))
