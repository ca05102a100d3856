"""Values of the traced program in a few characters.

This runs no code of the program (no `__repr__`, `__class__`, metaclass), reads no tensor's data, and takes no number of
a size: a log must not change what it shows.
"""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, MethodType, ModuleType, WrapperDescriptorType
from typing import Any

import torch

from dynamo_lite.capture._torch import FakeTensor
from dynamo_lite.capture.graph.lifting import modes_off
from dynamo_lite.symbolic_shapes.torch_node.symbolic_types import SYMBOLIC_TYPES
from dynamo_lite.value_types import CONSTANTS

_LONGEST = 60
_MOST = 4
_TYPE_NAME = type.__dict__["__name__"].__get__
_TYPE_QUALNAME = type.__dict__["__qualname__"].__get__
_TYPE_MODULE = type.__dict__["__module__"].__get__


def _ids(*kinds: type) -> frozenset[int]:
    """Types by identity: a metaclass may define `__eq__` and `__hash__`."""
    return frozenset(map(id, kinds))


_CONSTANTS = _ids(*CONSTANTS)
_SIZES = _ids(*SYMBOLIC_TYPES)
_BRACKETS = {id(list): "[]", id(dict): "{}", id(set): "{}", id(tuple): "()", id(torch.Size): "()"}
_FUNCTIONS = _ids(FunctionType, BuiltinFunctionType, MethodType, MethodDescriptorType, WrapperDescriptorType)


def short(value: Any, depth: int = 2) -> str:
    """`value` as text: tensors by dtype and shape, sizes by their expression, containers by their first items."""
    kind = type(value)
    if issubclass(kind, torch.Tensor):
        with modes_off():
            dtype = str(value.dtype).removeprefix("torch.")
            name = "Tensor" if kind is FakeTensor else kind.__name__  # what it is to the program
            return f"{name}({dtype}[{', '.join(map(short, value.shape))}])"
    if id(kind) in _SIZES:
        return str(value.node)
    if id(kind) in _CONSTANTS:
        text = repr(value)
        return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
    if id(kind) in _BRACKETS:
        return _container(value, depth)
    if kind is ModuleType:
        return str(value.__name__)
    if issubclass(kind, type):
        module, name = _TYPE_MODULE(value), _TYPE_QUALNAME(value)
        return str(name) if module == "builtins" else f"{module}.{name}"
    if id(kind) in _FUNCTIONS:
        module = getattr(value, "__module__", None)
        return f"{module}.{value.__qualname__}" if module not in (None, "builtins") else str(value.__qualname__)
    return f"<{_TYPE_NAME(kind)}>"


def _container(value: Any, depth: int) -> str:
    kind = type(value)
    if not depth:
        return f"<{kind.__name__} of {len(value)}>"
    if kind is dict:
        texts = [f"{short(k, 0)}: {short(v, depth - 1)}" for k, v in [*value.items()][:_MOST]]
    else:
        texts = [short(item, depth - 1) for item in [*value][:_MOST]]
    if len(value) > _MOST:
        texts.append(f"... {len(value)} in all")
    brackets = _BRACKETS[id(kind)]
    return brackets[0] + ", ".join(texts) + brackets[1]
