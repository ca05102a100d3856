"""Whether a text that is being made is only for print(), a warning, a log or an assertion that holds: it is discarded.

`logger.info(f"got {n} rows")` would otherwise fix `n`, for a text that the program never sees. The text is dropped if
the instructions after the current one hand it, and nothing else that they make of it but a longer text, to such a call.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch

from dynamo_lite.interpreter.code.handler_table import HANDLERS
from dynamo_lite.interpreter.code.sentinels import NULL
from dynamo_lite.interpreter.code.stack_effects import STACK_EFFECTS
from dynamo_lite.tracing import assemble
from dynamo_lite.tracing.interfaces import FeatureState, TracerView
from dynamo_lite.tracing.output_streams import OutputStreams
from dynamo_lite.tracing.policy import named_callables

_NAMES = {handler: name for name, handler in HANDLERS.items()}
TEXT_CALLS = frozenset(map(id, (str, repr, ascii, format, str.format)))
"""The ids of the functions that make a text of their arguments."""


class NativeOutput(FeatureState):
    """is_printing: whether print() and the like are making a text, where CPython runs the program (nonstrict)."""

    stays = "no branch is captured where CPython runs the program"

    def __init__(self, tracer: TracerView) -> None:
        self.is_printing: Callable[[], bool] = bool


def is_dropped(tracer: TracerView) -> bool:
    """Whether the string that the current instruction makes is discarded."""
    if not tracer.sees_python:
        return tracer.own(NativeOutput).is_printing()
    place = text_at_work(tracer)
    return place is not None and _goes_to_a_skipped_call(tracer, tracer.vm.frame, place)


def text_at_work(tracer: TracerView) -> int | None:
    """Return the stack position of the text that the current instruction is making; None if it makes none."""
    frame = tracer.vm.frame if tracer.sees_python else None
    if frame is None:
        return None
    at_work = _NAMES.get(frame.info.ops[frame.pc - 1][0])
    percent = at_work == "BINARY_OP" and type(frame.stack[-1]) is str
    if percent or at_work in ("FORMAT_VALUE", "CONVERT_VALUE"):
        return len(frame.stack) - 1
    makes_text = at_work in ("CALL", "CALL_KW") and id(tracer.native_call.function) in TEXT_CALLS
    return len(frame.stack) if makes_text else None


def _goes_to_a_skipped_call(tracer: TracerView, frame: Any, place: int) -> bool:
    """Follow the instructions with the number of values above the text, which is at `place` of the stack."""
    above = 0
    for handler, arg in frame.info.ops[frame.pc :]:
        name = _NAMES.get(handler, "")
        takes, leaves = STACK_EFFECTS.get(name, (0, 0))
        if name == "CONVERT_VALUE":
            continue
        if name == "FORMAT_VALUE":
            takes, leaves = 1 + bool(arg[1]), 1
            if above < takes - 1:  # the text is the format of another value
                return False
        elif name == "BUILD_STRING":
            takes, leaves = arg, 1
            if above < arg:
                place -= arg - 1 - above
        elif name in ("CALL", "CALL_KW"):
            names = name == "CALL_KW"  # are on top
            takes, leaves = arg + 2 + names, 1
            if above < takes:
                return names <= above < arg + names and _skips(tracer, frame.stack, place - (arg - 1 - (above - names)))
        elif name in ("BUILD_TUPLE", "BUILD_LIST", "BUILD_MAP") and above >= arg * (1 + (name == "BUILD_MAP")):
            takes, leaves = arg * (1 + (name == "BUILD_MAP")), 1
        elif name == "POP_TOP" and above == 0:
            return True
        elif takes > above or not (takes or leaves):
            return False
        above = above - takes + leaves if above >= takes else 0
    return False


def _skips(tracer: TracerView, stack: list[Any], first: int) -> bool:
    """Whether the call whose arguments begin at `first` is one that a trace skips, or whose text is for a failure."""
    second, callee = stack[first - 1], stack[first - 2]
    fn = second if callee is NULL else callee
    fn = getattr(fn, "__func__", fn)
    if fn is torch._assert:  # (condition, message)
        condition = stack[first]
        return condition is True or type(condition) is torch.SymBool or isinstance(condition, torch.Tensor)
    skipped = named_callables.skipped_always(assemble.assembly().skipped)
    return id(fn) in skipped or (_is_log_call(fn) and _has_no_listener(tracer))


def _is_log_call(fn: Any) -> bool:
    return fn is print or fn is warnings.warn


def _has_no_listener(tracer: TracerView) -> bool:
    """print() and warnings.warn() are skipped unless the program reads them (features/output)."""
    streams = tracer.own(OutputStreams)
    if streams.warnings_are_caught() or not streams.is_stream(None):
        return False
    return not any(row[0] == "error" for row in warnings.filters)
