"""nn.Module.__getattr__: a parameter, a buffer or a submodule, looked up in the dicts of the module.

A model calls this at every layer, some ninety Python calls each time. The rule returns the same result, and reports the
same reads to the observer in the same order, without a frame; other cases are left to the interpreter (the
AttributeError included).
"""

from __future__ import annotations

from types import CodeType
from typing import Any

import torch
from torch import nn

from dynamo_lite.features.tracebacks import hidden_frames
from dynamo_lite.interpreter.datamodel.trampoline_code import original_code
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.heap.instance_dicts import OwnedDicts
from dynamo_lite.tracing.interfaces import FeatureState, Step, TracerView
from dynamo_lite.tracing.vocabulary.mro import instance_dict

_PARTS = ("_parameters", "_buffers", "_modules")
_KINDS = (nn.Module, torch.Tensor, type(None))
"""Types of values in modules: the tracer only notes where such a value is from."""
_NAMES = (*("__dict__", "AttributeError", "type", "__name__"),)


class PartsRead(FeatureState):
    """(id of a module, name) → the ids of its dict and of the dict that has the name, as they were read before.

    The rows of such a read are in the log: a second one leaves nothing new.
    """

    def __init__(self, tracer: TracerView) -> None:
        self.known: dict[tuple[int, str], tuple[int, int]] = {}

    def save(self) -> None:
        """Save nothing: repeated reads are logged again."""

    def restore(self, saved: None) -> None:
        """The log forgets the order of reads and writes on a side (control_flow/undoing/first_reads.py)."""
        self.known.clear()


def call_getattr(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """nn.Module.__getattr__(module, name)"""
    vm = tracer.vm
    if kwargs or len(args) != 2 or type(args[1]) is not str or not _is_as_torch(original_code(fn.__code__)):
        return NOT_HANDLED
    module, name = args
    kind = type(module)
    if not issubclass(kind, nn.Module) or kind.__getattribute__ is not object.__getattribute__:
        return NOT_HANDLED
    if vm.frees or vm.on_instruction is not None or hidden_frames.are_interpreted(tracer):
        return NOT_HANDLED  # a frame would be seen
    namespace = instance_dict(module)
    if type(namespace) is not dict:
        return NOT_HANDLED
    for part in _PARTS:
        held = namespace.get(part)
        if type(held) is not dict:
            return NOT_HANDLED
        if name in held:
            break
    else:
        return NOT_HANDLED
    value = held[name]
    tracer.native_call.function = fn  # as for every call that is interpreted
    tracer.native_call.serial += 1
    tracer.own(OwnedDicts).note(module, "__dict__", namespace)
    known, dicts = tracer.own(PartsRead).known, (id(namespace), id(held))
    if known.get((id(module), name)) != dicts:
        _tell(tracer, module, name, namespace, part)
        known[id(module), name] = dicts
    return value


def _tell(tracer: TracerView, module: nn.Module, name: str, namespace: dict[str, Any], last: str) -> None:
    """Report the reads on the way to the `name` that the part `last` of the module has."""
    vm = tracer.vm
    assert vm.on_look is not None and vm.on_read is not None
    tracer.reads.attribute(module, "__dict__")
    if tracer.reads.is_alone and issubclass(type(namespace[last][name]), _KINDS):
        tracer.reads.found_below(namespace, _PARTS[: _PARTS.index(last) + 1], name)
        return
    for part in _PARTS:
        held = namespace[part]
        vm.on_look("key", namespace, part)
        vm.on_read("item", namespace, part, held)
        vm.on_look("key", held, name)
        if part == last:
            vm.on_read("item", held, name, held[name])
            return


def _is_as_torch(code: CodeType) -> bool:
    return code is _CODE and _CHECKED


_CODE: CodeType = original_code(nn.Module.__getattr__.__code__)
_CHECKED = [const for const in _CODE.co_consts if const in _PARTS] == [*_PARTS] and _CODE.co_names == _NAMES
"""Whether torch's function is the one that is modelled here (torch 2.13.0 to 2.15.0)."""


def table() -> dict[int, Step]:
    return {id(nn.Module.__getattr__): call_getattr} if _CHECKED else {}
