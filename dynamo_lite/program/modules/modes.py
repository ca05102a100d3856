"""`program.module().train()` and `.eval()`: the program of the other mode, in the very same module.

A graph does not determine the computation of the other mode (a dropout that is off leaves no node), so the model is
exported again in it (recipe.py), around the module's own parameters and buffers. Objects held by the user stay: the
module, its parts, parameters with their gradients, buffers, hooks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import fx, nn

CALL_HOOKS = ("_forward_hooks", "_forward_pre_hooks")
FLAGS = {
    "_forward_hooks": ("_forward_hooks_with_kwargs", "_forward_hooks_always_called"),
    "_forward_pre_hooks": ("_forward_pre_hooks_with_kwargs",),
}
"""Data that torch keeps beside the hooks of a module, by the hook's number."""


def put_tensors(other: nn.Module, module: nn.Module, constants: set[str]) -> None:
    """`other` takes the parameters and buffers of `module` that it has too; `constants` are its own."""
    for path, part in module.named_modules(remove_duplicate=False):
        into = _at(other, path)
        if into is None:
            continue
        for kind in ("_parameters", "_buffers"):
            have, get = getattr(part, kind), getattr(into, kind)
            get.update({name: have[name] for name in get if name in have and _joined(path, name) not in constants})


def become(module: fx.GraphModule, other: fx.GraphModule) -> None:
    """`module` computes what `other` does. Its parts that hold tensors stay the objects that they are, and so do the
    dicts of its hooks, on which the handles that `register_forward_hook` has returned rest."""
    before = dict(module.__dict__)
    for part, into in _holders(module, other):
        for kind in ("_parameters", "_buffers"):
            getattr(part, kind).clear()
            getattr(part, kind).update(getattr(into, kind))
    _keep_parts(module, other)
    hooks = {name: _with_users(module, other, name) for name in CALL_HOOKS}
    module.__class__ = type(other)
    module.__dict__.update(other.__dict__)
    for name, value in before.items():
        if name.endswith(("hooks", "hooks_with_kwargs", "hooks_always_called")):
            module.__dict__[name] = value
    for name, (rows, flags) in hooks.items():
        _refill(before[name], rows)
        for flag, marked in flags.items():
            _refill(before[flag], marked)


def _holders(module: nn.Module, other: nn.Module) -> Iterator[tuple[nn.Module, nn.Module]]:
    """Parts at the same paths that do nothing but hold tensors."""
    for path, part in module.named_modules(remove_duplicate=False):
        into = _at(other, path) if path else None
        if into is not None and _is_holder(part) and _is_holder(into):
            yield part, into


def _is_holder(part: nn.Module) -> bool:
    return type(part) is nn.Module


def _keep_parts(module: nn.Module, other: nn.Module) -> None:
    """`other` has the parts of `module` that hold tensors, as the very objects."""
    for name, part in list(other._modules.items()):
        own = module._modules.get(name)
        if own is not None and part is not None and own is not part:
            _keep_parts(own, part)
            if _is_holder(own) and _is_holder(part):
                own._modules.update(part._modules)
                other._modules[name] = own


def _with_users(module: nn.Module, other: nn.Module, name: str) -> tuple[dict[int, Any], dict[str, dict[int, Any]]]:
    """The hooks of `other`, then those that a user has added to `module`; and what torch keeps beside them."""
    rows, added = dict(getattr(other, name)), dict(getattr(module, name))
    added = {key: hook for key, hook in added.items() if not is_own(hook)}
    flags = {}
    for flag in FLAGS[name]:
        kept = {key: value for key, value in getattr(module, flag).items() if key in added}
        flags[flag] = {**getattr(other, flag), **kept}
    return {**rows, **added}, flags


def _refill(table: dict[Any, Any], rows: dict[Any, Any]) -> None:
    table.clear()
    table.update(rows)


def is_own(hook: Any) -> bool:
    """Whether a hook is one that each module of a program has, torch's or ours."""
    owner = getattr(hook, "__self__", None)
    where = getattr(hook, "__module__", "") if owner is None else type(owner).__module__
    return f"{where}.".startswith(("torch.", "dynamo_lite."))


def _at(module: nn.Module, path: str) -> nn.Module | None:
    try:
        return module.get_submodule(path)
    except AttributeError:
        return None


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
