"""pickle.loads: C makes the objects that the bytes describe, tensors too, which no operator shows."""

from __future__ import annotations

import pickle
import pickletools
from typing import Any

from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.feature import Feature
from dynamo_lite.tracing.interfaces import Step, TracerView


def call_loads(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """Refuses bytes with a tensor of torch in them; the rest is constant, as the bytes are."""
    if args and type(args[0]) in (bytes, bytearray, memoryview) and _names_torch(bytes(args[0])):
        tracer.refuse("unknown-tensor")
    return NOT_HANDLED


def _names_torch(data: bytes) -> bool:
    try:
        return any(
            isinstance(argument, str) and argument.partition(" ")[0].split(".")[0] == "torch"
            for _, argument, _ in pickletools.genops(data)
        )
    except ValueError:
        return False  # no pickle: pickle's own error


_RULES: dict[int, Step] = dict.fromkeys(map(id, (pickle.loads, pickle._loads)), call_loads)  # type: ignore[attr-defined]

FEATURE = Feature(name="pickles", rules=lambda: _RULES, graph_breaks=("unknown-tensor",))
