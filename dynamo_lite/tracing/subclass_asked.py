"""Which class is this tensor? Refused where the program has tensors of a subclass, which stand-ins do not tell.

capture/subclasses.py says which subclasses a program may have, and notes them in `Recorder.subclasses`: results of
operators may then be of the class in eager, and the stand-ins are not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from dynamo_lite.tracing.kinds import is_fake

if TYPE_CHECKING:
    from dynamo_lite.tracing.tracer import Tracer


def type_of(tracer: Tracer, value: Any) -> None:
    """`type(value)`, `value.__class__`. Raises what ends the trace if the answer is not known."""
    if tracer.recorder.subclasses and is_fake(value) and not tracer.in_library():
        _refuse(tracer)


def instance(tracer: Tracer, value: Any, classes: Any) -> None:
    """`isinstance(value, classes)`. Raises what ends the trace if a tensor of a subclass would answer otherwise."""
    if is_fake(value) and any(_tells(cls, classes) for cls in tracer.recorder.subclasses):
        _refuse(tracer)


def _tells(cls: type, classes: Any) -> bool:
    try:
        return issubclass(cls, classes) != issubclass(torch.Tensor, classes)
    except TypeError:
        return False  # no class: isinstance itself raises


def _refuse(tracer: Tracer) -> None:
    names = ", ".join(sorted(cls.__qualname__ for cls in tracer.recorder.subclasses))
    tracer.refuse("tensor-subclass", name=names)
