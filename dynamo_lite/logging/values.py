"""Values of the traced program in a few characters. Nothing of the program runs, and no tensor's data is looked at."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch

from dynamo_lite.tracing.torch_state import modes_off

_ATOMS = (int, float, complex, str, bytes, type(None), type(...), torch.dtype, torch.device, torch.layout)
_LONGEST = 60
_MOST = 4


def short(value: Any, depth: int = 2) -> str:
    """`value` as text: tensors by dtype and shape, sizes by their expression, containers by their first items."""
    kind = type(value)
    if isinstance(value, torch.Tensor):
        with modes_off():
            dtype = str(value.dtype).removeprefix("torch.")
            return f"{kind.__name__}({dtype}[{', '.join(map(short, value.shape))}])"
    if kind in (torch.SymInt, torch.SymFloat, torch.SymBool):
        return str(value.node)
    if kind in (list, tuple, set, dict, torch.Size):
        return _container(value, kind, depth)
    if kind in _ATOMS or kind is bool:
        text = repr(value)
        return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
    if kind is ModuleType:
        return str(value.__name__)
    if isinstance(value, type) or kind.__name__ in _FUNCTIONS:
        return _name(value)
    return f"<{kind.__name__}>"


def _container(value: Any, kind: type, depth: int) -> str:
    if not depth:
        return f"<{kind.__name__} of {len(value)}>"
    items = [*value.items()][:_MOST] if kind is dict else [*value][:_MOST]
    texts = [f"{short(i[0], 0)}: {short(i[1], depth - 1)}" if kind is dict else short(i, depth - 1) for i in items]
    more = [] if len(value) <= _MOST else [f"... {len(value)} in all"]
    opening, closing = {list: "[]", dict: "{}", set: "{}"}.get(kind, "()")
    return opening + ", ".join(texts + more) + closing


def _name(value: Any) -> str:
    """The name of a function or class, with its module."""
    name = getattr(value, "__qualname__", type(value).__name__)
    module = getattr(value, "__module__", None) or ""
    return f"{module}.{name}" if module and module != "builtins" else str(name)


_FUNCTIONS = frozenset({
    "function", "builtin_function_or_method", "method", "method_descriptor", "wrapper_descriptor", "method-wrapper",
    "OpOverload", "OpOverloadPacket",
})  # fmt: skip
