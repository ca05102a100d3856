"""The objects that a function can reach by the names in its code, found before it first runs."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, ModuleType
from typing import Any

from dynamo_lite.nonstrict.reachability import Reachable, is_outside_program

_STORES = frozenset(dis.opmap[name] for name in ("STORE_ATTR", "DELETE_ATTR"))
_ANY_GLOBAL = frozenset({"globals", "vars", "exec", "eval"})
"""Names by which code gets at globals that it does not mention."""
_ANY_ATTRIBUTE = frozenset({*_ANY_GLOBAL, "getattr", "setattr", "delattr", "__dict__", "attrgetter"})
"""Names by which code gets at attributes of a module that it does not mention."""
_MISSING: Any = object()
_DEPTH = 3


class Mentions:
    """Extends the reachable objects by those that the functions that run refer to by name."""

    def __init__(self, reach: Reachable) -> None:
        self._reach = reach
        self.names: set[str] = set()  # in the code of all functions that have run
        self._stored: dict[tuple[int, str], tuple[Any, str, Any]] = {}  # owner, name, value before

    def ran(self, frame: FrameType) -> None:
        """A function runs for the first time: take snapshots of the objects that it can reach by name."""
        code, namespace = frame.f_code, frame.f_globals
        self.names.update(code.co_names)
        if is_outside_program(namespace.get("__name__", "")) or _is_being_imported(namespace):
            return
        names = code.co_names
        before = self._reach.globals(namespace)
        for value in self._values(names, before):
            self._reach.take(value)
        stored = _stored_names(code)
        if stored:
            variables = {name: frame.f_locals.get(name) for name in code.co_freevars}
            self._keep_stored((*names, *variables), stored, {**before, **variables})

    def _values(self, names: tuple[str, ...], before: dict[str, Any]) -> Iterator[Any]:
        for name in names if _ANY_GLOBAL.isdisjoint(names) else {**before, **dict.fromkeys(names)}:
            value = before.get(name, _MISSING)
            if value is _MISSING:
                value = sys.modules.get(name, _MISSING)  # imported by the function itself
            if isinstance(value, ModuleType):
                yield from self._module(value, names)
            elif value is not _MISSING and self._reach.is_searched(value):
                yield value

    def _module(self, module: ModuleType, names: tuple[str, ...]) -> Iterator[Any]:
        """The values of a module of the program under these names."""
        if is_outside_program(module.__name__):
            return
        before = self._reach.globals(vars(module))
        for name in names if _ANY_ATTRIBUTE.isdisjoint(names) else before:
            if name in before and self._reach.is_searched(before[name]):
                yield before[name]

    # ---- attributes of libraries

    def _keep_stored(self, names: tuple[str, ...], stored: set[str], before: dict[str, Any]) -> None:
        """Remember attributes that a function sets by name, of modules and classes of libraries that it mentions."""
        for name in names:
            value = before.get(name, sys.modules.get(name))
            if isinstance(value, (ModuleType, type)):
                self._keep_of(value, names, stored, _DEPTH)

    def _keep_of(self, owner: Any, names: tuple[str, ...], stored: set[str], depth: int) -> None:
        if not is_outside_program(owner.__module__ if isinstance(owner, type) else owner.__name__):
            return
        namespace = vars(owner)
        for name in stored:
            self._stored.setdefault((id(owner), name), (owner, name, namespace.get(name, _MISSING)))
        for name in names if depth and isinstance(owner, ModuleType) else ():
            value = namespace.get(name)
            if isinstance(value, (ModuleType, type)) and value is not owner:
                self._keep_of(value, names, stored, depth - 1)

    def put_back(self, unsound: Callable[[str], None]) -> None:
        """Restore attributes of libraries, and report those that were changed."""
        for owner, name, before in self._stored.values():
            if vars(owner).get(name, _MISSING) is before:
                continue
            if before is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, before)
            unsound(f"{owner.__name__}.{name} is changed; the program does not change it")


def _is_being_imported(namespace: dict[str, Any]) -> bool:
    return bool(getattr(namespace.get("__spec__"), "_initializing", False))


def _stored_names(code: CodeType) -> set[str]:
    """The names of the attributes that a function sets or deletes."""
    content = code.co_code
    if _STORES.isdisjoint(content[::2]):
        return set()
    return {at.argval for at in dis.get_instructions(code) if at.opcode in _STORES}
