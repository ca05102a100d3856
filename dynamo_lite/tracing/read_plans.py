"""Listeners for reads of the program: attributes, by the type of the object and by the name; items; looks.

A reader is `(tracer, owner, key, value) -> the value that the program sees, or NOT_HANDLED to continue` to the access
log. The table is used once per type and run. A read that has no reader, and that the log has already, costs one look-up
(`Reads.seen`). A listener for a look (`in`, iteration, `is`, an attribute that is not there) is `(tracer, owner, key)`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import AsyncGeneratorType, CoroutineType, FrameType, GeneratorType
from typing import Any

import torch

from dynamo_lite.interpreter.frames.generators import driven_frame, is_driver
from dynamo_lite.interpreter.frames.tracebacks import is_stub
from dynamo_lite.interpreter.lookasides.frame_queries import program_frame
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing import assemble
from dynamo_lite.tracing.heap import instance_dicts, shared_buffers
from dynamo_lite.tracing.heap.accesses import STANDING_FOR_OTHERS
from dynamo_lite.tracing.heap.instance_dicts import OwnedDicts
from dynamo_lite.tracing.interfaces import Reader, TracerView
from dynamo_lite.tracing.strings.deferred_str import UnreadText
from dynamo_lite.tracing.vocabulary.symbolic_numbers import SYMBOLIC, real_type
from dynamo_lite.tracing.vocabulary.type_tests import is_fake


def _of_size(tracer: TracerView, owner: Any, key: str, value: Any) -> Any:
    """A symbolic size has attributes that no number has (`node`, `__dict__`); torch's own code needs them."""
    kind = real_type(owner)
    if key == "__class__":
        return kind
    if tracer.in_library():
        return NOT_HANDLED
    if not hasattr(kind(), key):  # of a number: its class has a `__dict__`, too
        raise AttributeError(f"{kind.__name__!r} object has no attribute {key!r}", name=key, obj=owner)
    return kind.__doc__ if key == "__doc__" else NOT_HANDLED


def _class_of_text(tracer: TracerView, owner: Any, key: str, value: Any) -> Any:
    return str if key == "__class__" else NOT_HANDLED


def _of_frame(tracer: TracerView, owner: Any, key: str, value: Any) -> Any:
    """The frames of a traceback have names and lines, and no variables (interpreter/frames/tracebacks.py)."""
    if key in ("f_locals", "f_back") and is_stub(owner.f_code):
        tracer.refuse("unrecordable-value", function=f"frame.{key} of a traceback's frame")
    return NOT_HANDLED


def _of_generator(tracer: TracerView, owner: Any, key: str, value: Any) -> Any:
    """Return the program's frame and code of a generator or coroutine, in place of those of its native driver."""
    if value is None or key not in _OF_GENERATORS or not is_driver(getattr(value, "f_code", value)):
        return NOT_HANDLED
    native = getattr(owner, f"{key[:2]}_frame")
    if native is None:
        tracer.refuse("unrecordable-value", function=f"{key} of a generator that has ended")
    frame = driven_frame(native)
    return frame.code if key.endswith("code") else program_frame(frame)


_OF_GENERATORS = frozenset({"gi_frame", "gi_code", "cr_frame", "cr_code", "ag_frame", "ag_code"})


def _of_another(tracer: TracerView, owner: Any, key: str, value: Any) -> Any:
    """A read of `super()`, of a bound method, of a view is one of the underlying object."""
    return NOT_HANDLED


def _note_dict(tracer: TracerView, owner: Any, key: str, value: Any) -> None:
    tracer.own(OwnedDicts).note(owner, key, value)


def _note_part(tracer: TracerView, owner: Any, key: str, value: Any) -> None:
    tracer.writes.note_part(owner, value)


_BY_TYPE: dict[type, Reader] = {
    **dict.fromkeys(SYMBOLIC, _of_size),
    **dict.fromkeys(STANDING_FOR_OTHERS, _of_another),
    UnreadText: _class_of_text,
    **dict.fromkeys((GeneratorType, CoroutineType, AsyncGeneratorType), _of_generator),
    FrameType: _of_frame,
}

BY_NAME: dict[str, Callable[[TracerView, Any, str, Any], None]] = {
    **dict.fromkeys(instance_dicts.NAMES, _note_dict),
    **dict.fromkeys(shared_buffers.PARTS, _note_part),
}
"""Attribute name → listener for reads of attributes that are made on first access, and belong to the object."""


Look = Callable[[TracerView, Any, Any], None]


def _identity(tracer: TracerView, owner: Any, key: Any) -> None:
    """Something is compared with a tensor by `is`. Two tensors of the program's: are they still two?"""
    tracer.recorder.layout.matters(key, "compared")
    tracer.recorder.layout.matters(owner, "compared")
    if issubclass(type(owner), torch.Tensor) and not is_fake(key) and not is_fake(owner):
        tracer.reads.read("is", owner, id(key))


class IdentityPlans(dict[type, Look | None]):
    """Type of the right operand of `is` → listener for the comparison."""

    def __missing__(self, kind: type) -> Look | None:
        look = self[kind] = _identity if issubclass(kind, torch.Tensor) else None
        return look


class ReadPlans(dict[type, Reader | None]):
    """Type of an object → who answers the reads of its attributes in this run; None: the access log alone."""

    def __missing__(self, kind: type) -> Reader | None:
        reader = self[kind] = _BY_TYPE.get(kind) or assemble.assembly().listener("attribute", kind)
        return reader
