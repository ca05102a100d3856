"""Methods of TorchScript modules.

A traced module (torch.jit.trace) is a list of operators, which are recorded as they run. Compiled code may change
attributes of its module, which live in C++ where no journal sees them.
"""

from __future__ import annotations

from typing import Any

from dynamo_lite.tracing.interfaces import Trace


def check(tracer: Trace, method: Any) -> None:
    """Refuse a method compiled from Python (torch.jit.script), and one that sets attributes (a module loaded)."""
    if hasattr(method, "__wrapped__") or "prim::SetAttr" in str(method.inlined_graph):
        tracer.refuse("script-module", function=f"{method.name}() of a ScriptModule")
