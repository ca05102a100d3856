"""Calls of TorchScript: methods of modules (scripted, traced, loaded), and functions (scripted, traced).

TorchScript runs code of its own, whose operators are recorded as they run. Its other effects are not observed: its
graph is read beforehand, and one that changes attributes, lists or dicts that are older than the call, prints, or calls
back into Python is refused. So is a call of TorchScript's own tracer. Lists and dicts among the arguments are copied,
by TorchScript as well.

Given sizes that vary, TorchScript would take their numbers. A scripted function then runs as the Python function that
it was made from, where `torch.jit.is_scripting()` is true as in the compiled one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import torch

from dynamo_lite.errors import GraphBreak
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.torch_internals._torch_dispatch import (
    DisableTorchFunction,
    class_in_cpp,
    scripted_from,
    uncompiled,
    uncompiled_function,
)
from dynamo_lite.torch_internals._torch_pytree import pytree
from dynamo_lite.tracing.feature import Feature
from dynamo_lite.tracing.findings import DtypeReads
from dynamo_lite.tracing.interfaces import FeatureState, Step, TracerView
from dynamo_lite.tracing.vocabulary.symbolic_numbers import SYMBOLIC

_EFFECTS = {
    "prim::SetAttr": "sets an attribute of its module",
    "prim::Print": "prints",
    "prim::PythonOp": "calls a Python function",
    "prim::CallMethod": "calls a method that only run time knows",
    "prim::CallFunction": "calls a function that only run time knows",
}
"""Kind of a node → its effect that no operator shows."""

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


class CompiledCalls(FeatureState):
    """scripting: how many scripted functions are running as the Python functions that they were made from."""

    stays = "`scripting` counts calls that have not returned"

    def __init__(self, tracer: TracerView) -> None:
        self.scripting = 0


def plan(tracer: TracerView, fn: Any) -> Step | None:
    """The step of a call plan for a method or a function of TorchScript."""
    return _STEPS.get(type(fn))


def call_method(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a compiled method. Refuses ("script-module") one with effects.

    It runs as if for the first time: after some calls TorchScript puts the operators of a method together, and gives
    them gradients of its own. Refuses ("script-object") a method of an object of C++ (torch.classes).
    """
    kind = class_in_cpp(fn)
    if kind is not None:
        tracer.refuse("script-object", kind=kind)
    _check_effects(tracer, fn, f"{fn.name}() of a ScriptModule", pytree.tree_leaves((args, kwargs)))
    tracer.own(DtypeReads).are_hidden = True
    tracer.note("the attributes of a ScriptModule that are not tensors are taken as they were at the export")
    called = f"{fn.name}() of a ScriptModule"
    with _named_as_compiled(tracer, called), uncompiled(fn) as method, DisableTorchFunction():
        return method(*args, **kwargs)


def call_function(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a compiled function, which has no state. Refuses ("script-module") one that prints or calls Python."""
    leaves = pytree.tree_leaves((args, kwargs))
    _check_effects(tracer, fn, f"{fn.name}()", leaves)
    original = scripted_from(fn)
    if original is not None and any(map(_varies, leaves)):
        tracer.note(f"{fn.name}() is given sizes that vary: the Python function that it was scripted from is recorded")
        return _call_original(tracer, original, *_own_containers(args, kwargs))
    given = _by_position(fn.schema, args, kwargs)
    if given is None:
        return fn(*args, **kwargs)  # TorchScript's own error
    with _named_as_compiled(tracer, f"{fn.name}()"), uncompiled_function(fn) as function, DisableTorchFunction():
        return function(*given)


@contextmanager
def _named_as_compiled(tracer: TracerView, called: str) -> Iterator[None]:
    """Within, a refusal says that compiled code asks, whose lines are not in the program's stack."""
    before = tracer.broken
    try:
        yield
    finally:
        error = tracer.broken
        if isinstance(error, GraphBreak) and error is not before:
            error.add(f"This is decided within {called}, which TorchScript has compiled.")
            error.suggest("call the Python function or module that it was made from, whose branches are captured")


def call_is_scripting(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """torch.jit.is_scripting()."""
    return True if tracer.own(CompiledCalls).scripting else NOT_HANDLED


def _call_original(tracer: TracerView, original: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    state = tracer.own(CompiledCalls)
    state.scripting += 1
    try:
        return tracer.vm.call(original, args, kwargs)
    finally:
        state.scripting -= 1


def _varies(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return value._has_symbolic_sizes_strides
    return type(value) in SYMBOLIC


def _own_containers(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The arguments in lists and dicts of their own, as TorchScript gets them."""
    leaves, spec = pytree.tree_flatten((args, kwargs))
    return pytree.tree_unflatten(leaves, spec)


def _by_position(schema: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any] | None:
    """All arguments in the order of the schema; None if they do not fit."""
    given = dict(zip((argument.name for argument in schema.arguments), args))
    if len(args) > len(schema.arguments) or given.keys() & kwargs.keys():
        return None
    given |= kwargs
    for argument in schema.arguments:
        if argument.name not in given and argument.has_default_value():
            given[argument.name] = argument.default_value
    names = [argument.name for argument in schema.arguments]
    return [given[name] for name in names] if given.keys() == set(names) else None


def _check_effects(tracer: TracerView, fn: Any, called: str, leaves: list[Any]) -> None:
    """leaves: the arguments, without lists and dicts. (A list of TorchScript's own is not copied.)"""
    copied = all(isinstance(leaf, torch.Tensor) or type(leaf) in _PLAIN for leaf in leaves)
    what = next(_effects(fn.inlined_graph, copied), None)
    if what is not None:
        tracer.refuse("script-module", function=called, what=what)


def _effects(graph: Any, copied: bool) -> Iterator[str]:
    for kind, what in _EFFECTS.items():
        if graph.findAllNodes(kind):
            yield what
    for kind in _CHANGES:
        for node in graph.findAllNodes(kind):
            value = next(iter(node.inputs()))
            if value.type().kind() != "TensorType" and not _is_made_here(value, copied):
                yield "changes a list or a dict that is older than the call"


def _is_made_here(value: Any, copied: bool) -> bool:
    """Whether a list or a dict is new: made by this call, or a copy of an argument."""
    kind = value.node().kind()
    return kind in _MAKES or (copied and kind == "prim::Param" and value.type().kind() in _COPIED)


def refuse_trace(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> NoReturn:
    """torch.jit.trace and trace_module run the program again, with TorchScript's own tracer."""
    tracer.refuse("script-trace", function=f"torch.jit.{fn.__name__}")


_PLAIN = frozenset({bool, int, float, complex, str, type(None), torch.dtype, torch.device, *SYMBOLIC})
_COPIED = frozenset({"ListType", "DictType"})
_STEPS: dict[type, Step] = {torch.ScriptMethod: call_method, torch.jit.ScriptFunction: call_function}


def _rules() -> dict[int, Step]:
    """By the functions that are there now: TorchDynamo puts others in the place of `trace` and `trace_module` when it
    first compiles (TorchPatcher in torch/_dynamo/eval_frame.py, torch 2.13.0)."""
    now = {id(torch.jit.trace): refuse_trace, id(torch.jit.trace_module): refuse_trace}
    return {id(torch.jit.is_scripting): call_is_scripting, **now}


FEATURE = Feature(
    name="torchscript",
    state=(CompiledCalls,),
    rules=_rules,
    c_steps=(plan,),
    graph_breaks=("script-module", "script-object", "script-trace"),
)
