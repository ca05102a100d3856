"""torch.from_numpy() and its like while CPython runs the program: no torch function mode sees these.

They are replaced in the module torch for the time of the run. Memory that a tensor shows is looked at again at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.nonstrict.interfaces import NativeTrace
from dynamo_lite.tracing.heap import snapshots
from dynamo_lite.undoing import attributes, changed

_NAMES = ("from_numpy", "frombuffer", "asarray", "as_tensor")


@contextmanager
def shared_memory_seen(tracer: NativeTrace) -> Iterator[None]:
    """While inside, the program cannot change a tensor on memory of an array; changes of the array are noted."""
    plain = {name: getattr(torch, name) for name in _NAMES}
    shown: dict[int, snapshots.Snapshot] = {}

    def wrapped(fn: Callable[..., Any]) -> Callable[..., Any]:
        def function(*args: Any, **kwargs: Any) -> Any:
            answer = tracer.rules[id(fn)](tracer, fn, args, kwargs)  # the rule knows arrays that represent tensors
            for owner in tracer.writes.observed_at.values():
                snapshot = snapshots.container(owner) if id(owner) not in shown else None
                if snapshot is not None:
                    shown[id(owner)] = snapshot
            return fn(*args, **kwargs) if answer is NOT_HANDLED else answer

        return function

    try:
        with changed(attributes(torch, *_NAMES)):
            for name, fn in plain.items():
                setattr(torch, name, wrapped(fn))
            yield
    finally:
        for snapshot in shown.values():
            if snapshot.current() != snapshot.contents:
                kind = type(snapshot.owner).__name__
                tracer.unsound(f"a {kind} changes after a tensor shows its memory: the program holds what it was")
