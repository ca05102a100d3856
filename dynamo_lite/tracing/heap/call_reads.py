"""Reads of a call, by itself or through C code: the steps of call plans (calls/plans.py) that write access-log rows.

The call of a Python function is a row, and nothing else is recorded of one that is interpreted: its instructions report
their reads. A callable in C, and a trusted function, which CPython evaluates, read their arguments.
"""

from __future__ import annotations

import builtins
import collections
import functools
import sys
import typing
import weakref
from collections.abc import Iterable
from types import FunctionType, ModuleType
from typing import Any

from dynamo_lite.errors import UnsupportedValue
from dynamo_lite.interpreter import datamodel
from dynamo_lite.interpreter.code.type_flags import is_changeable
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.program.input_check import InputCheck
from dynamo_lite.program.trees.containers import state_of
from dynamo_lite.program.trees.twins import is_container
from dynamo_lite.tracing.heap.accesses import Place
from dynamo_lite.tracing.interfaces import FeatureState, Step, TracerView
from dynamo_lite.tracing.policy.native_modules import is_trusted, is_trusted_as_a_whole, wraps_the_program
from dynamo_lite.tracing.policy.native_reads import (
    BOUNDED,
    EMPTIES,
    FORMATS,
    KEY,
    LOOKS,
    LOOKS_INTO_CLASSES,
    MEMBER,
    NAMES,
    NOTHING,
    PARTS,
    PROTOCOL,
    REFERENT,
    SHOWING,
    STATE,
    SWITCH_OF,
    SWITCHES,
)

_ONE_OBJECT = frozenset({KEY, "length", STATE, "context", NAMES, "registry", "subclasses", REFERENT})
_PROTOCOL_META: type = type(typing.Protocol)


# ---- Python functions


def of_function(tracer: TracerView, fn: FunctionType) -> Step | None:
    """Writes down that `fn` was called; the step for one that may be trusted, None for one that is interpreted."""
    reads = tracer.reads
    if id(fn) not in reads.called:
        reads.called[id(fn)] = reads.site()
        reads.functions.append(weakref.ref(fn))
    module = id(fn.__globals__)  # which decides for most (native_modules.py), and outlives the function
    if module not in reads.trusted:
        reads.trusted[module] = is_trusted_as_a_whole(fn)
    trusted = reads.trusted[module]
    if trusted and fn.__closure__ is not None and wraps_the_program(fn):
        return None
    return None if trusted is False else _of_trusted if trusted else _of_inspected


def _of_inspected(tracer: TracerView, fn: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The function's code decides, which may be set to another one."""
    return _of_trusted(tracer, fn, args, kwargs) if is_trusted(fn) else NOT_HANDLED


def _of_trusted(tracer: TracerView, fn: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Torch's own code reads its arguments. By its own object's attributes a method shows nothing."""
    reads = tracer.reads
    own = id(args[0]) if args and type(args[0]).__module__ == fn.__globals__.get("__name__") else None
    known = own in reads.observed_at
    orders = reads.key_orders
    if fn.__globals__.get("__name__") in _MATCH_KEYS and not (fn is InputCheck.hook and args[0].key_orders):
        reads.key_orders = None
    reads.deep(args, kwargs, STATE)
    reads.key_orders = orders
    if fn.__globals__.get("__name__") in LOOKS_INTO_CLASSES:
        for arg in (*args, *kwargs.values()):
            if is_changeable(kind := arg if isinstance(arg, type) else type(arg)):
                reads.read("class", kind)
    elif LOOKS.get(id(fn)) is SWITCHES:
        reads.switches.setdefault(SWITCH_OF[id(fn)], reads.site())
    if own is not None and not known:
        reads.observed_at.pop(own, None)
    return NOT_HANDLED


_MATCH_KEYS = frozenset({InputCheck.__module__, "torch.export._unlift", "torch._export.utils"})
"""Modules of the hooks that an exported program's module has: they match dicts of a call by their keys."""


# ---- callables in C


def of_other(fn: Any) -> Step | None:
    """Return the step for a callable that is not a Python function; None for one that reads nothing itself."""
    how = LOOKS.get(id(fn))
    if how is not None:
        if how is NOTHING:
            return _import if fn is builtins.__import__ else None
        return _LOOKING.get(how) or _one_by_one(how)
    if issubclass(type(fn), weakref.ref):
        return _referent
    if issubclass(type(fn), type) and is_changeable(fn):
        return None  # its __new__ and __init__ are calls of their own
    if type(datamodel.type_lookup(type(fn), "__call__")) is FunctionType:
        return None  # and so is an object's __call__
    if id(fn) in SHOWING:
        return _showing
    return _formatted if id(fn) in FORMATS else _parts


def _parts(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tracer.reads.deep(args, kwargs, PARTS)
    return NOT_HANDLED


def _formatted(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tracer.reads.deep(args, kwargs, STATE)
    return NOT_HANDLED


def _showing(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """shared_memory.py checks the function's use of the memory that is passed."""
    reads = tracer.reads
    known, reads.memory = reads.memory, {}
    reads.deep(args, kwargs, PARTS)
    reads.memory = known
    return NOT_HANDLED


def _referent(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if id(fn) in tracer.own(ReferencesInArguments).all:
        tracer.abort(UnsupportedValue(tracer.own(ReferencesInArguments).all[id(fn)], _OF_AN_ARGUMENT))
    tracer.reads.read("referent", fn)
    tracer.reads.referents.append(fn)
    if type(datamodel.type_lookup(type(fn), "__call__")) is not FunctionType:
        tracer.reads.deep(args, kwargs, PARTS)
    return NOT_HANDLED


class ReferencesInArguments(FeatureState):
    """The weak references that containers among the arguments hold: id → where. They refer to the caller's own objects,
    of which the run has other ones, made of their tensors."""

    stays = "it is what the arguments held when the run began"

    def __init__(self, tracer: TracerView) -> None:
        self.all: dict[int, str] = {}
        self.proxies: dict[int, tuple[str, Any]] = {}  # (where, its name there)
        if tracer.inputs is None:
            return
        todo = [*zip(tracer.inputs.arg_names, (*tracer.inputs.args, *tracer.inputs.kwargs.values()))]
        seen: set[int] = set()
        while todo:
            path, value = todo.pop()
            if id(value) in seen or not is_container(value):
                continue
            seen.add(id(value))
            for key, part in state_of(value):
                step = f".{key.name}" if key.kind == "attr" else f"[{key.name!r}]"
                if type(part) in weakref.ProxyTypes:  # by its type: its class is the other object's
                    self.proxies[id(part)] = (path + step, key.name)
                    continue
                if isinstance(part, weakref.ref):
                    self.all[id(part)] = path + step
                todo.append((path + step, part))

    def check_proxies(self, places: Iterable[Place]) -> None:
        """Raises UnsupportedValue if the program read anything through a proxy, or may have taken one out of its place:
        its operators and calls are those of the object, and they cause no event of their own."""
        names = {name for _, name in self.proxies.values()}
        for how, owner, key in places if names else ():
            if owner in self.proxies:
                raise UnsupportedValue(self.proxies[owner][0], _OF_AN_ARGUMENT)
            if how in ("attr", "item") and key in names:
                asked = next(path for path, name in self.proxies.values() if name == key)
                raise UnsupportedValue(asked, _OF_AN_ARGUMENT)


_OF_AN_ARGUMENT = (
    "the program asks this weak reference in an argument for its object, which is the caller's own; the program gets "
    "objects that are made anew. Pass the object itself, as an argument or as a part of one"
)


def _import(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if args and type(args[0]) is str and args[4:5] in ((), (0,)):
        tracer.reads.namespaces[id(sys.modules)] = sys.modules
        tracer.reads.read("item", sys.modules, args[0])
    return NOT_HANDLED


def _switch(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tracer.reads.switches.setdefault(SWITCH_OF.get(id(fn), fn), tracer.reads.site())
    return NOT_HANDLED


def _protocol(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`isinstance(value, Protocol)`: typing checks whether the attributes exist, and caches the answers."""
    wanted = args[1:2] if len(args) < 2 or type(args[1]) is not tuple else args[1]
    for kind in wanted:
        if type(kind) is _PROTOCOL_META:
            _of_protocol(tracer, args[0])
            break
    return NOT_HANDLED


def _of_protocol(tracer: TracerView, value: Any) -> None:
    reads = tracer.reads
    kind = value if isinstance(value, type) else type(value)
    reads.read("class", kind)
    if kind is not value and not reads.quiet[kind]:
        reads.read(NAMES, value)


def _key(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if len(args) > 1:
        tracer.reads.item(args[0], args[1])
    elif args:
        _one(tracer, KEY, args)
    return NOT_HANDLED


def _one(tracer: TracerView, how: str, args: tuple[Any, ...]) -> None:
    """A look at the first argument alone."""
    reads = tracer.reads
    if not reads.quiet[type(args[0])] or how is NAMES:
        if type(args[0]) is ModuleType:
            reads.modules[id(args[0])] = args[0]
        reads.read(how, args[0])
        for of_what in args[1:2] if how == "registry" else ():
            reads.read("registry", of_what if isinstance(of_what, type) else type(of_what))


@functools.cache
def _one_by_one(how: str) -> Step:
    """The step that looks so at the first argument, or at each."""

    def of_first(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if args:
            _one(tracer, how, args)
        return NOT_HANDLED

    def of_each(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        reads = tracer.reads
        for arg in args:
            if not reads.quiet[type(arg)]:
                reads.read(how, arg)
        return NOT_HANDLED

    return of_first if how in _ONE_OBJECT else of_each


def _empties(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if args:
        tracer.reads.empties(args[0])
    return NOT_HANDLED


def _member(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if args:
        tracer.reads.read("items", args[0])
    return NOT_HANDLED


def _bounded(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if args and issubclass(type(args[0]), collections.deque):
        tracer.reads.attribute(args[0], "maxlen")
        if args[0].maxlen is not None:
            tracer.reads.read("items", args[0])
    return _each(tracer, fn, args[1:], kwargs)


_each = _one_by_one("items")
_LOOKING: dict[str, Step] = {
    **{EMPTIES: _empties, SWITCHES: _switch, PROTOCOL: _protocol, KEY: _key},
    **{MEMBER: _member, BOUNDED: _bounded},
}
