"""Which modules the program is in: the stack that becomes `nn_module_stack` in a node's metadata."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Any, NamedTuple

from torch import nn


class Leaf(NamedTuple):
    """The innermost call of one of torch.nn's own modules: a number of its own, and the module's class."""

    serial: int
    cls: type


_State = tuple[dict[str, tuple[str, str]], Leaf | None, nn.Module | None, str, Any]


class ModuleStack:
    """The modules being called, outermost first, named by their path from the root.

    `current` is in torch.export's form: key → (path, "package.Class"), outermost first. The dict is shared until the
    stack changes: copy it before changing it. `signatures` (program.call_signatures) records the calls of some modules,
    if export has to preserve their signatures.
    """

    def __init__(self, root: Any) -> None:
        self.current: dict[str, tuple[str, str]] = {}
        self.leaf: Leaf | None = None
        self.signatures: Any = None
        self._serial = 0
        self._root = root
        self._calls: dict[str, int] = {}
        self._caller: nn.Module | None = None  # the innermost module being called, and its path
        self._caller_path = ""
        self._outer: _State | None = None  # the state around the innermost call
        self._below: dict[tuple[str, int], str | None] = {}  # by the caller's path and a module's id
        self._outside_root: list[weakref.ref[nn.Module]] = []

    @cached_property
    def _paths(self) -> dict[int, str]:
        """id of a module → its first path from the root: made when the first module is called."""
        if not isinstance(self._root, nn.Module):
            return {}
        return _first_paths(self._root)

    def path(self, module: nn.Module) -> str | None:
        """The first path of `module` from the root; None for a module that the root does not hold."""
        return self._paths.get(id(module))

    @contextmanager
    def entered(self, module: nn.Module) -> Iterator[None]:
        """While `module` is being called."""
        outer = self.state()
        path = self._path_of_call(module)
        self._caller, self._caller_path = module, path
        cls = type(module)
        key = f"L__self__{path}"
        calls = self._calls.get(key, 0)
        self._calls[key] = calls + 1
        if calls:
            key = f"{key}@{calls}"
        self.current = {**self.current, key: (path, f"{cls.__module__}.{cls.__qualname__}")}
        if cls.__module__.startswith("torch.nn.modules."):
            self._serial += 1
            self.leaf = Leaf(self._serial, cls)
        else:
            self.leaf = None
        self._outer = outer
        try:
            yield
        finally:
            self.put(outer)

    def state(self) -> _State:
        """For `put`: the modules that are being called now."""
        return self.current, self.leaf, self._caller, self._caller_path, self._outer

    def put(self, state: _State) -> None:
        """Be in the modules of `state`."""
        self.current, self.leaf, self._caller, self._caller_path, self._outer = state

    def leave(self, count: int) -> None:
        """Be outside of the innermost `count` modules."""
        for _ in range(count):
            assert self._outer is not None
            self.put(self._outer)

    @property
    def called(self) -> str:
        """The path of the innermost module being called."""
        return self._caller_path

    def _path_of_call(self, module: nn.Module) -> str:
        """The path of a module that is about to be called: of several, the one below the module that calls it."""
        path = self._paths.get(id(module))
        if path is None:
            path = self._paths[id(module)] = self._path_outside_root(module)
        if self._caller is None or not self._caller_path or path.startswith(f"{self._caller_path}."):
            return path
        place = self._caller_path, id(module)
        if place not in self._below:
            self._below[place] = _first_paths(self._caller).get(id(module))
        below = self._below[place]
        return f"{self._caller_path}.{below}" if below else path

    def _path_outside_root(self, module: nn.Module) -> str:
        """A name for a module that is not below the root: its class, below the path of the calling module."""
        forget = partial(self._paths.pop, id(module))
        self._outside_root.append(weakref.ref(module, lambda _: forget(None)))
        prefix = next(reversed(self.current.values()))[0] if self.current else ""
        name = f"{type(module).__name__}_{len(self._outside_root)}"
        return f"{prefix}.{name}" if prefix else name


def _first_paths(root: nn.Module) -> dict[int, str]:
    """id of a module → the path under which `named_modules` lists it.

    A walk of our own: it takes place while the program runs, and calls neither the program's code nor torch's.
    """
    paths: dict[int, str] = {}
    rest = [("", root)]
    while rest:
        path, module = rest.pop()
        if id(module) not in paths:
            paths[id(module)] = path
            prefix = path and path + "."
            children = module.__dict__.get("_modules", {})
            rest += [(prefix + name, child) for name, child in reversed(children.items()) if child is not None]
    return paths


def has_hooks(module: nn.Module) -> bool:
    """Whether a call of `module` runs hooks: its own, or those of all modules."""
    everywhere = nn.modules.module
    return bool(
        module._backward_hooks
        or module._backward_pre_hooks
        or module._forward_hooks
        or module._forward_pre_hooks
        or everywhere._global_backward_pre_hooks
        or everywhere._global_backward_hooks
        or everywhere._global_forward_hooks
        or everywhere._global_forward_pre_hooks
    )
