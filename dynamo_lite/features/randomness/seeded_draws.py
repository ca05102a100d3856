"""Operators that draw from a torch.Generator which forward makes: each call draws the same values.

The generator is a real one, so the operator runs on it, at the place where the program draws; the values are a constant
of the program. That holds for sizes and arguments that are constant themselves. An older generator continues from call
to call, and values drawn by data (`multinomial(x, 1, generator=g)`) are not constant: both are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import torch

from dynamo_lite.capture.graph.lifting import modes_off
from dynamo_lite.torch_internals._torch_operators import OpOverload
from dynamo_lite.tracing.interfaces import TracerView

_NOT_CONSTANT: Final = object()
_MOST_ELEMENTS = 1 << 22


def drawn(tracer: TracerView, func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> torch.Tensor | None:
    """The result of an operator that is given a generator; None where its values are not known."""
    recorder = tracer.recorder
    generator = kwargs["generator"]
    if type(generator) is not torch.Generator or generator.device.type != "cpu" or "out" in kwargs:
        return None
    if not _is_own(tracer, generator):
        return None
    target = args[0] if func._schema.is_mutable else None
    given = [_real(recorder, arg, arg is target) for arg in args]
    options = {name: _real(recorder, value, False) for name, value in kwargs.items()}
    if any(value is _NOT_CONSTANT for value in (*given, *options.values())):
        return None
    with modes_off(), torch.no_grad():
        values = recorder.eagerly(lambda: func(*given, **options))
    if not isinstance(values, torch.Tensor) or not values.is_cpu or values.numel() > _MOST_ELEMENTS:
        return None
    if target is not None:
        return recorder.operator(torch.ops.aten.copy_.default, (target, values), {})
    return recorder.operator(torch.ops.aten.clone.default, (values,), {})


def _is_own(tracer: TracerView, generator: Any) -> bool:
    """Whether the run has made a generator; its state changes then."""
    address = generator._cdata  # an operator is given another Python object for it
    made: list[Any] = [one for one in tracer.writes.new_objects.values() if type(one) is torch.Generator]
    own = [one for one in made if one._cdata == address]
    for one in own:
        tracer.on_hidden_change(one)
    return bool(own)


def _real(recorder: Any, value: Any, is_written: bool) -> Any:
    """Return an argument's value for running the operator: sizes are those of the example, tensors must be constants,
    or are overwritten."""
    if type(value) in (list, tuple):
        items = [_real(recorder, item, False) for item in value]
        return _NOT_CONSTANT if any(item is _NOT_CONSTANT for item in items) else type(value)(items)
    if type(value) in (torch.SymInt, torch.SymFloat, torch.SymBool):
        return value.node.evaluate()
    if not isinstance(value, torch.Tensor):
        return value
    if not is_written:
        known = recorder.constant_values.of(recorder.fake(value))
        return _NOT_CONSTANT if known is None else known
    if value.layout is not torch.strided or not value.is_cpu:
        return _NOT_CONSTANT
    shape, strides = ([int(size) for size in sizes] for sizes in (value.shape, value.stride()))
    if not torch.Size(shape).numel() <= _MOST_ELEMENTS:
        return _NOT_CONSTANT
    with modes_off():
        return torch.empty_strided(shape, strides, dtype=value.dtype)
