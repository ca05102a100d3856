"""Operators that draw from a torch.Generator which forward makes: what they draw is the same in each call.

The generator is a real one, so the operator runs on it, at the place where the program draws; the values are a constant
of the program. That holds for sizes and arguments that are constant themselves. A generator from outside goes on from
call to call, and what is drawn by data (`multinomial(x, 1, generator=g)`) is no constant: both are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import torch

from dynamo_lite.capture._torch import OpOverload
from dynamo_lite.capture.graph.lifting import modes_off

if TYPE_CHECKING:
    from dynamo_lite.capture.recorder import Recorder

NOT_CONSTANT: Final = object()
_MOST_ELEMENTS = 1 << 22


def drawn(recorder: Recorder, func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The result of an operator that is given a generator; NOT_CONSTANT where its values are not known."""
    generator = kwargs["generator"]
    if type(generator) is not torch.Generator or generator.device.type != "cpu" or "out" in kwargs:
        return NOT_CONSTANT
    if not recorder.context.draws_from(generator):
        return NOT_CONSTANT
    target = args[0] if func._schema.is_mutable else None
    given = [_real(recorder, arg, arg is target) for arg in args]
    options = {name: _real(recorder, value, False) for name, value in kwargs.items()}
    if any(value is NOT_CONSTANT for value in (*given, *options.values())):
        return NOT_CONSTANT
    with modes_off(), torch.no_grad():
        values = recorder.eagerly(lambda: func(*given, **options))
    if not isinstance(values, torch.Tensor) or not values.is_cpu or values.numel() > _MOST_ELEMENTS:
        return NOT_CONSTANT
    if target is not None:
        return recorder.operator(torch.ops.aten.copy_.default, (target, values), {})
    return recorder.operator(torch.ops.aten.clone.default, (values,), {})


def _real(recorder: Recorder, value: Any, is_written: bool) -> Any:
    """What stands for an argument when the operator runs: sizes are those of the example, tensors must be constants,
    or are written over."""
    if type(value) in (list, tuple):
        items = [_real(recorder, item, False) for item in value]
        return NOT_CONSTANT if any(item is NOT_CONSTANT for item in items) else type(value)(items)
    if type(value) in (torch.SymInt, torch.SymFloat, torch.SymBool):
        return value.node.evaluate()
    if not isinstance(value, torch.Tensor):
        return value
    if not is_written:
        known = recorder.constant_values.of(recorder.stand_in(value))
        return NOT_CONSTANT if known is None else known
    if value.layout is not torch.strided or not value.is_cpu:
        return NOT_CONSTANT
    shape, strides = ([int(size) for size in sizes] for sizes in (value.shape, value.stride()))
    if not torch.Size(shape).numel() <= _MOST_ELEMENTS:
        return NOT_CONSTANT
    with modes_off():
        return torch.empty_strided(shape, strides, dtype=value.dtype)
