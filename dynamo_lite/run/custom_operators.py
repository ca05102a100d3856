"""Custom operators whose Python code changes state that the program reads.

An operator is one call in the program, and its code runs when the program does: a list that it appends to is longer
then, while the values that `forward` has read of the list are constants. The code is not run in a trace; its
instructions show what it may change: names that it stores, and objects that it names beside an instruction or a method
that changes something. (Kernels that `torch.library.impl` registers are not known.)
"""

from __future__ import annotations

import dis
import functools
import inspect
import itertools
from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import torch

from dynamo_lite.capture._torch import OpOverload, python_kernels
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.policy.native_modules import is_trusted_module
from dynamo_lite.value_types import MUTABLE_CONTAINERS, SHAPES_AND_CONSTANTS

_STORES_NAME = frozenset({"STORE_GLOBAL", "DELETE_GLOBAL"})
_STORES_CELL = frozenset({"STORE_DEREF", "DELETE_DEREF"})
_STORES_ATTRIBUTE = frozenset({"STORE_ATTR", "DELETE_ATTR"})
_STORES_ITEM = frozenset({"STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE"})
_CHANGING = frozenset(
    (
        *("add", "append", "appendleft", "clear", "difference_update", "discard", "extend", "extendleft", "insert"),
        *("intersection_update", "move_to_end", "pop", "popitem", "popleft", "remove", "reverse", "rotate"),
        *("setdefault", "sort", "symmetric_difference_update", "update"),
    )
)
"""Methods of containers that change them."""


class MayChange(NamedTuple):
    """objects: id → the name in an operator's code of an object that may change. places: the same for (owner, key)."""

    objects: dict[int, str]
    places: dict[tuple[int, Any], str]


def check(tracer: TracerView) -> None:
    """Raises a GraphBreak if the program reads what one of its custom operators may change."""
    for node in tracer.recorder.level.graph.nodes:
        if isinstance(node.target, OpOverload) and (kernels := python_kernels(node.target)):
            changed = _changed_by(kernels)
            name = _read(tracer, changed)
            if name is not None:
                what = f"{name}, which the Python code of the custom operator {node.target} changes when it runs"
                raise tracer.graph_break("outside-object", what=what)


def _read(tracer: TracerView, changed: MayChange) -> str | None:
    for _, owner, key in tracer.reads.places:
        name = changed.objects.get(owner) or changed.places.get((owner, key))
        if name is not None:
            return name
    return None


def _changed_by(functions: list[Any]) -> MayChange:
    changed = MayChange({}, {})
    todo, seen = [inspect.unwrap(fn) for fn in functions], set[int]()
    while todo:
        fn = todo.pop()
        fn = fn.__func__ if type(fn) is MethodType else fn
        if type(fn) is FunctionType and id(fn.__code__) not in seen:
            seen.add(id(fn.__code__))
            todo += _look_at(fn, changed)
    return changed


def _look_at(fn: FunctionType, changed: MayChange) -> Iterator[Any]:
    """Record the objects that a function may change; yield the functions that it may call."""
    cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or ()))
    used: dict[str, Any] = {}
    attributes: set[str] = set()
    stored: set[str] = set()
    stores_items = False
    for at in _instructions(fn.__code__):
        name = str(at.argval)
        if at.opname in _STORES_NAME:
            changed.places[id(fn.__globals__), name] = name
        elif at.opname in _STORES_CELL and name in cells:
            changed.places[id(cells[name]), None] = name
        elif at.opname in _STORES_ATTRIBUTE:
            stored.add(name)
        elif at.opname in _STORES_ITEM:
            stores_items = True
        elif at.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            attributes.add(name)
        elif at.opname == "LOAD_GLOBAL" and name in fn.__globals__:
            used[name] = fn.__globals__[name]
        elif name in cells and at.opname.startswith("LOAD_"):
            used[name] = _content(cells[name])
    for name, value in used.items():
        if type(value) in (FunctionType, MethodType):
            yield value
        elif isinstance(value, (ModuleType, type)):
            owners = (value, vars(value)) if isinstance(value, ModuleType) else (value,)
            changed.places.update({(id(owner), key): f"{name}.{key}" for owner in owners for key in stored})
            members = [vars(value)[key] for key in attributes & vars(value).keys()]
            yield from (member for member in members if type(member) is FunctionType)
            if stores_items or attributes & _CHANGING:
                changed.objects.update((id(member), name) for member in members if type(member) in MUTABLE_CONTAINERS)
        elif type(value) in MUTABLE_CONTAINERS:
            if stores_items or attributes & _CHANGING:
                _note(value, name, changed)
        elif _is_of_the_user(value):
            methods = [vars(kind)[key] for kind in type(value).__mro__ for key in attributes & vars(kind).keys()]
            yield from methods
            if stored or stores_items or attributes & _CHANGING or any(map(_changes, methods)):
                _note(value, name, changed)


def _note(value: Any, name: str, changed: MayChange) -> None:
    """Record an object, with its attributes and items."""
    todo = [value]
    while todo:
        value = todo.pop()
        if id(value) in changed.objects or isinstance(value, torch.Tensor) or type(value) in SHAPES_AND_CONSTANTS:
            continue
        if type(value) in MUTABLE_CONTAINERS or _is_of_the_user(value):
            changed.objects[id(value)] = name
            if isinstance(value, dict):
                todo += value.values()
            elif type(value) in MUTABLE_CONTAINERS:
                todo += value
            elif isinstance(names := getattr(value, "__dict__", None), dict):
                changed.objects[id(names)] = name
                todo += names.values()


def _is_of_the_user(value: Any) -> bool:
    """Whether a class outside of torch and the standard library has made an object."""
    module = type(value).__module__
    return module != "builtins" and not isinstance(value, torch.Tensor) and not is_trusted_module(module)


def _changes(method: Any) -> bool:
    if type(method) is not FunctionType:
        return False
    for at in _instructions(method.__code__):
        if at.opname in _STORES_ATTRIBUTE | _STORES_ITEM or str(at.argval) in _CHANGING:
            return True
    return False


@functools.lru_cache(maxsize=256)
def _instructions(code: CodeType) -> tuple[dis.Instruction, ...]:
    """Those of the functions and comprehensions within it, too."""
    inner = (_instructions(constant) for constant in code.co_consts if type(constant) is CodeType)
    return (*dis.get_instructions(code), *itertools.chain.from_iterable(inner))


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return None
