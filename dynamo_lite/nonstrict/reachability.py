"""The objects that a program may change, compared before and after a run without an observer.

Before the run a journal takes a snapshot of every reachable object. After the run it yields the changes and undoes
them, as after a run in the interpreter. An object is reachable from the callable through attributes, containers and
closures and, once a function has begun to run, through the names in its code (referenced_names.py). Objects of torch
and the standard library are not followed.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Iterable, Iterator
from types import (
    BuiltinMethodType,
    CellType,
    FunctionType,
    MemberDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any

import torch
from torch import nn

from dynamo_lite.interpreter.code.type_flags import is_changeable
from dynamo_lite.nonstrict.caches import Cache
from dynamo_lite.nonstrict.opaque_state import HiddenState, Row, row_of
from dynamo_lite.tracing.heap.iterator_types import ITERATORS
from dynamo_lite.tracing.heap.journal import Journal
from dynamo_lite.tracing.policy.native_modules import in_library
from dynamo_lite.tracing.vocabulary.type_tests import LruCacheWrapper
from dynamo_lite.value_types import HOLD_NO_FUNCTIONS, TORCH_CONSTANTS

LIMIT = 200_000
"""Objects that are looked at, at most."""
_TORCHS = {*TORCH_CONSTANTS, torch.Size, torch.Generator}
_NO_LEAVES = {CellType, bytearray, BuiltinMethodType, MethodWrapperType, ModuleType}
_LEAVES = (HOLD_NO_FUNCTIONS | _TORCHS) - ITERATORS - _NO_LEAVES
_OF_IMPORT = frozenset({"__builtins__", "__loader__", "__spec__"})
"""Globals that are the import system's: a loader can hold the whole of a test runner or a notebook."""
_RUNNERS = frozenset({"IPython", "_pytest", "hypothesis", "ipykernel", "pluggy", "pytest", "xdist"})
"""Packages that run programs: a mark on a test leads to every test of the session, none of which is the program's."""
_TRACER = __name__.partition(".")[0]
_PROGRAMS_OF_OURS = f"{_TRACER}.exportdb.cases."
_OF_ERRORS = ("args", "__suppress_context__", "__cause__", "__context__")
"""Put back from the last to the first: setting `__cause__` sets `__suppress_context__`."""
_LOOKED_INTO = frozenset({dict, list, set, deque, LruCacheWrapper, *ITERATORS})


class Reachable:
    """The objects reachable from a callable. `take` takes their snapshots.

    `follows_globals`: functions lead to all globals of their module, because no hook reports which functions run.
    """

    follows_globals = False

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._seen: set[int] = set()
        self._globals: dict[int, dict[str, Any]] = {}
        self._todo: deque[Any] = deque()
        self.caches: list[Cache] = []  # functions under lru_cache
        self.hidden: list[HiddenState] = []  # state that no snapshot shows
        self.pinned: set[int] = set()  # ids of iterators in places that cannot be set
        self._rows: dict[type, Row | None] = {}
        self.gradients: list[tuple[torch.Tensor, Any]] = []  # tensors that require grad, with their .grad
        self.complete = True

    def take(self, start: Any) -> None:
        """Take a snapshot of everything reachable from `start`. `complete` is False if there were too many objects."""
        self._todo.append(start)
        while self._todo:
            if len(self._seen) > LIMIT:
                self.complete = False
                return
            value = self._todo.popleft()
            kind = type(value)
            if id(value) in self._seen or kind in _LEAVES:
                continue
            self._seen.add(id(value))
            if issubclass(kind, torch.Tensor):
                self._tensor(value)
            elif not is_tools(kind.__module__) or issubclass(kind, nn.Module):
                self._look(value, kind)

    def holds(self, value: Any) -> bool:
        """Whether an object is one of those within reach."""
        return id(value) in self._seen

    def _tensor(self, tensor: torch.Tensor) -> None:
        if tensor.is_leaf and tensor.requires_grad:
            self.gradients.append((tensor, tensor.grad))
        self._journal.touch(vars(tensor), "items")

    def _look(self, value: Any, kind: type) -> None:
        if kind is FunctionType:
            self._function(value)
        elif kind is MethodType:
            self._todo += (value.__func__, value.__self__)
        elif kind is CellType:
            self._journal.touch(value, "cell")
            self._todo.extend(_contents(value))
        elif kind is LruCacheWrapper:
            self.caches.append(Cache(value))
            self._todo.append(getattr(value, "__wrapped__", None))
        elif kind in ITERATORS:
            self._keep(value, kind)
        elif issubclass(kind, type):
            self._class(value)
        elif kind in (property, staticmethod, classmethod):
            self._todo += (getattr(value, name, None) for name in ("fget", "fset", "__func__"))
        elif kind is BuiltinMethodType or kind is MethodWrapperType:
            self._follow_pinned((value.__self__,))
        elif kind is functools.partial:
            self._keep(value, kind)
            self._todo += (value.func, value.args, value.keywords, vars(value))
        elif kind is ModuleType:
            if not is_outside_program(value.__name__):
                self._journal.touch(vars(value), "items")
        else:
            self._object(value, kind)

    def _follow_pinned(self, values: Iterable[Any]) -> None:
        """Follow values held in a place that cannot be set."""
        for value in values:
            self._todo.append(value)
            if type(value) in ITERATORS:
                self.pinned.add(id(value))

    def _keep(self, value: Any, kind: type) -> None:
        """Read the state that no snapshot shows, if the object has any."""
        if kind not in self._rows:
            self._rows[kind] = row_of(kind)
        row = self._rows[kind]
        if row is not None:
            self.hidden.append(HiddenState(value, row[0](value), *row))

    def _object(self, value: Any, kind: type) -> None:
        self._keep(value, kind)
        if issubclass(kind, (tuple, frozenset)):
            self._follow_pinned(tuple.__iter__(value) if issubclass(kind, tuple) else frozenset.__iter__(value))
        elif self._journal.touch(value, "items"):
            if issubclass(kind, dict):
                self._todo.extend(dict.values(value))
            elif issubclass(kind, (list, deque)):
                self._todo.extend(list.__iter__(value) if issubclass(kind, list) else deque.__iter__(value))
        if issubclass(kind, BaseException):
            for name in _OF_ERRORS:
                self._journal.touch_member(value, name, vars(BaseException)[name])
        elif kind.__module__ == "builtins":
            return
        descriptor = _dict_descriptor(kind)
        if descriptor is not None:
            self._journal.touch_member(value, "__dict__", descriptor)
        namespace = _namespace(value)
        if _has_c_members(kind):  # some cannot be put back
            self._todo.append(namespace)
        elif self._journal.touch(value, "attributes"):
            if namespace is not None:
                self._seen.add(id(namespace))  # its contents are in the snapshot of the attributes
                self._todo.extend(namespace.values())
            self._todo.extend(_slot_values(value))
        self._todo.append(kind)

    def _function(self, fn: FunctionType) -> None:
        if not is_outside_program(fn.__globals__.get("__name__", "")):
            self._journal.touch(fn, "attributes")
            self._journal.touch_member(fn, "__code__", vars(FunctionType)["__code__"])
            self._todo.append(fn.__annotations__)
        self._held_by(fn)

    def _held_by(self, fn: FunctionType) -> None:
        self._todo += fn.__closure__ or ()
        self._follow_pinned(fn.__defaults__ or ())
        self._todo += (fn.__kwdefaults__, *vars(fn).values())
        if self.follows_globals:
            self._all_globals(fn.__globals__)

    def _class(self, cls: type) -> None:
        """A class of the program's: its attributes and what its functions hold. The other classes are libraries'."""
        if is_outside_program(cls.__module__):
            return
        self._journal.touch(cls, "attributes")
        self._keep(cls, type(cls))
        for value in vars(cls).values():
            if type(value) is FunctionType:  # a library has thousands: no snapshot of the function itself
                self._held_by(value)
            elif type(value) in (staticmethod, classmethod) and type(value.__func__) is FunctionType:
                self._held_by(value.__func__)
            else:
                self._todo.append(value)
        self._todo.extend(cls.__bases__)

    def globals(self, namespace: dict[str, Any]) -> dict[str, Any]:
        """The globals of a module at the first call for it; the journal takes a snapshot of them."""
        before = self._globals.get(id(namespace))
        if before is None:
            self._seen.add(id(namespace))
            self._journal.touch(namespace, "items")
            before = {name: value for name, value in namespace.items() if name not in _OF_IMPORT}
            self._globals[id(namespace)] = before
        return before

    def _all_globals(self, namespace: dict[str, Any]) -> None:
        """Follow all globals of a module, except those that it has imported."""
        name = namespace.get("__name__", "")
        if id(namespace) in self._globals or is_outside_program(name):
            return
        for value in self.globals(namespace).values():
            is_named = type(value) is FunctionType or issubclass(type(value), type)
            if value.__module__ == name if is_named else self.is_searched(value):
                self._todo.append(value)

    def is_searched(self, value: Any) -> bool:
        """Whether the value of a global is followed: functions, classes and containers of the program."""
        kind = type(value)
        if issubclass(kind, type) or kind is FunctionType:
            return not is_outside_program(value.__module__)
        return kind in _LOOKED_INTO or issubclass(kind, nn.Module) or not is_outside_program(kind.__module__)


def is_outside_program(module_name: Any) -> bool:
    """Whether the objects of a module belong to a library, a runner or the tracer."""
    return in_library(str(module_name)) or is_tools(module_name)


def is_tools(module_name: Any) -> bool:
    """Whether a module belongs to a program that runs programs, or to this tracer (except the cases of ExportDB).

    Its objects lead to caches of its own (a guard to the code objects that are decoded), which change at any time.
    """
    name = str(module_name)
    package = name.partition(".")[0]
    return package in _RUNNERS or (package == _TRACER and not name.startswith(_PROGRAMS_OF_OURS))


def _contents(cell: CellType) -> Iterator[Any]:
    try:
        yield cell.cell_contents
    except ValueError:
        return


def _namespace(value: Any) -> dict[str, Any] | None:
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return own if type(own) is dict else None


def _slot_values(value: Any) -> Iterator[Any]:
    for base in type(value).__mro__:
        for name in _slots(base):
            try:
                yield object.__getattribute__(value, name)
            except AttributeError:
                continue


@functools.cache
def _dict_descriptor(kind: type) -> Any:
    """The descriptor of an instance's `__dict__`, if the class defines it in Python."""
    if not is_changeable(kind):
        return None
    return next((vars(base)["__dict__"] for base in kind.__mro__ if "__dict__" in vars(base)), None)


@functools.cache
def _has_c_members(kind: type) -> bool:
    """Whether instances have members that C code defines, rather than `__slots__`."""
    members = (
        (base, name) for base in kind.__mro__ for name, part in vars(base).items() if type(part) is MemberDescriptorType
    )
    return any(name not in _slots(base) and base.__module__ != "builtins" for base, name in members)


def _slots(cls: type) -> tuple[str, ...]:
    found = vars(cls).get("__slots__", ())
    names = (found,) if isinstance(found, str) else tuple(found)
    names = tuple(name for name in names if name not in ("__dict__", "__weakref__"))
    return tuple(f"_{cls.__name__.lstrip('_')}{n}" if n[:2] == "__" and n[-2:] != "__" else n for n in names)
