"""Constructors and `apply` methods that torch._export.wrappers marks: it calls them, and its other work is for
torch.export's own tracer."""

from __future__ import annotations

import sys
from types import FunctionType
from typing import Any

import torch

from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.interfaces import Step, TracerView

WRAPPERS = "torch._export.wrappers"
_MODULES = ("torch._compile", "torch._dynamo.eval_frame", WRAPPERS)


def wrapping_globals() -> frozenset[int]:
    """The ids of the globals of the functions that a marked constructor may be wrapped in."""
    return frozenset(id(vars(sys.modules[name])) for name in _MODULES if name in sys.modules)


def own(fn: FunctionType) -> Any:
    """Return the class's own function, if `fn` is a marked one, wrapped by torch._disable_dynamo or not; else None."""
    inside: Any = fn
    while type(inside) is FunctionType:
        cells = dict(zip(inside.__code__.co_freevars, inside.__closure__ or ()))
        if inside.__module__ == WRAPPERS and "constructor_subclass" in cells:
            return cells["constructor_subclass"].cell_contents
        if inside.__code__.co_qualname == "allow_in_pre_dispatch_graph.<locals>.wrapper" and "func" in cells:
            return cells["func"].cell_contents
        if "_torchdynamo_orig_callable" in inside.__dict__:
            inside = inside.__dict__["_torchdynamo_orig_callable"]
        elif inside.__globals__ is vars(sys.modules["torch._compile"]) and "fn" in cells:
            inside = cells["fn"].cell_contents
        else:
            return None
    return None


def plan(tracer: TracerView, fn: Any) -> Step | None:
    """The step of a call plan for a function that a marked one may be wrapped in."""
    module = fn.__globals__.get("__name__")
    return call_own if module in _MODULES and id(fn.__globals__) in wrapping_globals() else None


def call_own(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """Calls the class's own function in the place of a marked one."""
    constructor = own(fn)
    return NOT_HANDLED if constructor is None else tracer.vm.call(constructor, args, kwargs)


def is_export_query() -> bool:
    """Whether a marked function queries, natively, if this is an export: it puts a call of itself into the graph of
    torch.export then. The operators of the wrapped function are recorded instead."""
    frame: Any = sys._getframe(2)
    asked = vars(torch.compiler)
    while frame is not None and (frame.f_globals is asked or frame.f_globals["__name__"].startswith("dynamo_lite.")):
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__") == WRAPPERS
