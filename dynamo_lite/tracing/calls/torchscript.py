"""Methods of TorchScript modules.

A traced module (torch.jit.trace) is a list of operators, which are recorded as they run. Compiled code may change
attributes of its module, which live in C++ where no journal sees them.
"""

from __future__ import annotations

from typing import Any

import torch

from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.interfaces import Step, Trace


def plan(tracer: Trace, fn: Any) -> Step | None:
    """The step of a call plan for a method of a TorchScript module."""
    return check if type(fn) is torch.ScriptMethod else None


def check(tracer: Trace, method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Refuse a method compiled from Python (torch.jit.script), and one that sets attributes (a module loaded)."""
    if hasattr(method, "__wrapped__") or "prim::SetAttr" in str(method.inlined_graph):
        tracer.refuse("script-module", function=f"{method.name}() of a ScriptModule")
    return NOT_HANDLED
