"""Calls of methods of TorchScript modules: scripted, traced, loaded.

TorchScript runs code of its own, whose operators are recorded as they run. What else it does is not seen: its graph is
read beforehand, and one that changes attributes, lists or dicts that are older than the call, prints, or calls back
into Python is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from dynamo_lite.torch_internals._torch_dispatch import DisableTorchFunction, uncompiled
from dynamo_lite.tracing.interfaces import State, Step, Trace

_EFFECTS = {
    "prim::SetAttr": "sets an attribute of its module",
    "prim::Print": "prints",
    "prim::PythonOp": "calls a Python function",
    "prim::CallMethod": "calls a method that only run time knows",
    "prim::CallFunction": "calls a function that only run time knows",
}
"""Kind of a node → what it does that no operator shows."""

_CHANGES = frozenset(
    f"aten::{name}"
    for name in (
        "append", "extend", "insert", "pop", "popitem", "remove", "clear", "_set_item", "Delete", "sort", "reverse",
        "setdefault", "update", "add_", "mul_",
    )
)  # fmt: skip
"""Kinds of nodes that change a list or a dict, their first input."""
_MAKES = frozenset(
    {
        "prim::ListConstruct", "prim::DictConstruct",
        *(f"aten::{name}" for name in (
            "list", "dict", "copy", "keys", "values", "items", "slice", "size", "split", "split_with_sizes", "chunk",
            "tensor_split", "unbind", "unsafe_split", "unsafe_chunk",
        )),
    }
)  # fmt: skip
"""Kinds of nodes that return a list or a dict of their own. (An item of a list, or a part of a tuple, may be older.)"""


class CompiledCalls(State):
    """Whether compiled code has run: which attributes it reads (`training`, dtypes) is not seen."""

    def __init__(self, tracer: Trace) -> None:
        self.any = False


def plan(tracer: Trace, fn: Any) -> Step | None:
    """The step of a call plan for a method of a TorchScript module. (Given stand-ins, a function that torch.jit.script
    compiled runs the Python function that it was made from.)"""
    return call if type(fn) is torch.ScriptMethod else None


def call(tracer: Trace, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a compiled method. Refuses ("script-module") one with effects.

    It runs as if for the first time: after some calls TorchScript puts the operators of a method together, and gives
    them gradients of its own.
    """
    what = next(_effects(fn.inlined_graph), None)
    if what is not None:
        tracer.refuse("script-module", function=f"{fn.name}() of a ScriptModule", what=what)
    tracer.own(CompiledCalls).any = True
    tracer.note("the attributes of a ScriptModule that are no tensors are taken as they were at the export")
    with uncompiled(fn) as method, DisableTorchFunction():
        return method(*args, **kwargs)


def _effects(graph: Any) -> Iterator[str]:
    for kind, what in _EFFECTS.items():
        if graph.findAllNodes(kind):
            yield what
    for kind in _CHANGES:
        for node in graph.findAllNodes(kind):
            value = next(iter(node.inputs()))
            if value.type().kind() != "TensorType" and not _is_made_here(value):
                yield "changes a list or a dict that is older than the call"


def _is_made_here(value: Any) -> bool:
    """Whether a list or a dict is new: made by this call."""
    return value.node().kind() in _MAKES
