"""What is seen of one call from outside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy

_ATOMS = (int, float, complex, str, bytes, bool, type(None))


@dataclass
class Seen:
    """One call: what it raised or returned, its arguments afterwards, the state by name, the Python state by path."""

    raised: Exception | None
    output: Any
    arguments: Any
    state: dict[str, torch.Tensor]
    python: dict[str, Any]


def observe(fn: Callable[..., Any], owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Seen:
    """Call `fn`; `owner` holds its state. The tensors in what is returned are the call's own, not copies."""
    raised, output = None, None
    try:
        output = fn(*args, **kwargs)
    except Exception as error:
        raised = error
    return Seen(raised, output, (args, kwargs), state_of(owner), python_state(owner))


def state_of(owner: Any) -> dict[str, torch.Tensor]:
    """Copies of the parameters and buffers, under each of their names."""
    if not isinstance(owner, nn.Module):
        return {}
    rows = [*owner.named_parameters(remove_duplicate=False), *owner.named_buffers(remove_duplicate=False)]
    return {name: value.detach().clone() for name, value in rows if not is_lazy(value)}


def python_state(owner: Any) -> dict[str, Any]:
    """The plain values among the attributes of a module and its submodules, through lists, tuples and dicts."""
    found: dict[str, Any] = {}
    if isinstance(owner, nn.Module):
        for path, module in owner.named_modules():
            prefix = f"self.{path}" if path else "self"
            for name, value in vars(module).items():
                if not (name.startswith("_") and name in _REGISTRIES):
                    _collect(f"{prefix}.{name}", value, found, 4)
    return found


_REGISTRIES = frozenset(vars(nn.Module()))
"""The attributes that nn.Module keeps its parts in; their contents are in `state_of` or have a line of their own."""


def _collect(path: str, value: Any, found: dict[str, Any], depth: int) -> None:
    if isinstance(value, _ATOMS):
        found[path] = value
    elif isinstance(value, torch.Tensor):
        found[path] = f"a tensor of shape {tuple(value.shape)}"
    elif isinstance(value, (list, tuple)) and depth:
        found[path] = f"a {type(value).__name__} of {len(value)}"
        for index, item in enumerate(value):
            _collect(f"{path}[{index}]", item, found, depth - 1)
    elif isinstance(value, dict) and depth:
        found[path] = f"a dict of {len(value)}"
        for key, item in value.items():
            _collect(f"{path}[{key!r}]", item, found, depth - 1)
    elif hasattr(value, "__dict__") and not isinstance(value, (nn.Module, type)) and not callable(value) and depth:
        for name, item in vars(value).items():
            _collect(f"{path}.{name}", item, found, depth - 1)


def is_rejection(error: BaseException) -> bool:
    """Whether the program raised because it was not exported for such arguments."""
    text = str(error)
    return type(error).__name__ in ("InputMismatch",) or text.startswith(("Guard failed", "Runtime assertion failed"))
