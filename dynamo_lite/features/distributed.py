"""Calls of torch.distributed beside collectives (capture/kernels/collectives.py).

The rank and the number of ranks are constants of the program, with notes. DTensors are tensors that wrap others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from dynamo_lite.tracing.feature import Feature
from dynamo_lite.tracing.interfaces import TracerView


def _constant(name: str) -> Callable[..., Any]:
    def rule(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
        value = fn(*args, **kwargs)
        tracer.note(f"torch.distributed.{name}() is {value} in the program: it is that of this rank, for as many ranks")
        return value

    return rule


def _wrapper(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    tracer.refuse("tensor-subclass", name="DTensor")


def table() -> dict[int, Callable[..., Any]]:
    """Return id(callable) → rule, for the modules loaded now."""
    rows: dict[int, Callable[..., Any]] = {}
    distributed, tensors = sys.modules.get("torch.distributed"), sys.modules.get("torch.distributed.tensor")
    if distributed is not None and distributed.is_available():
        rows |= {id(getattr(distributed, name)): _constant(name) for name in ("get_rank", "get_world_size")}
    if tensors is not None:
        makers = (tensors.DTensor.from_local, tensors.DTensor.__new__, tensors.distribute_tensor)
        rows |= {id(maker): _wrapper for maker in makers}
        rows |= {id(getattr(tensors, name)): _wrapper for name in ("empty", "full", "ones", "rand", "randn", "zeros")}
    return rows


FEATURE = Feature(name="distributed", rules=table, graph_breaks=("tensor-subclass",))
