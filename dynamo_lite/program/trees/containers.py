"""Containers that torch's pytree registry does not know: registered on the way, by one rule.

An instance of a Python class is its state: `__dict__`, `__slots__` and, for subclasses of list, tuple and dict, the
items. What holds a tensor (or a size) is a child; the rest is the context, so it is a constant of the program
and has to be equal when the program is called. Unflattening makes the object by `__new__` and puts the state
back, without running `__init__`: a cache that comes out of a program is a working cache.

`register_container(cls)` applies the rule by hand (before `torch.export.load` in a fresh process), or takes functions
of your own for a class that the rule does not suit.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum, Flag
from types import BuiltinFunctionType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

import torch
from torch import nn
from torch.export import ExportedProgram

from dynamo_lite.capture.fakes.subclasses import NESTED
from dynamo_lite.errors import UnsupportedValue
from dynamo_lite.interpreter.code.type_flags import is_changeable
from dynamo_lite.program._torch import _IntWrapper, never_compiled, register_namedtuple
from dynamo_lite.program.trees.container_context import Key, ObjectContext, copy_plain
from dynamo_lite.program.trees.paths import Caller, KnownParts, direct, give_keys, is_foreign, parts
from dynamo_lite.symbolic_shapes.torch_node.symbolic_types import SYMBOLIC_TYPES
from dynamo_lite.torch_internals._torch_pytree import forget_container, pytree, register_pytree_flatten_spec
from dynamo_lite.undoing import changed

_CONSTANTS = (
    *(type(None), bool, int, float, str, bytes, Enum),
    *(torch.dtype, torch.device, torch.layout, torch.memory_format),
)
_NUMERIC = (torch.Tensor, *SYMBOLIC_TYPES)
_LEAVES = (*_NUMERIC, *_CONSTANTS)
_NOT_STATE = (
    *(nn.Module, Enum, type, ModuleType, torch.Tensor, torch.Generator, BaseException),
    *(FunctionType, MethodType, BuiltinFunctionType, GeneratorType, _IntWrapper),
)
_ITEM_BASES = (OrderedDict, defaultdict, dict, list, tuple)  # an OrderedDict keeps its order beside the dict


_registered_inside: ContextVar[list[type] | None] = ContextVar("_registered_inside", default=None)
_NUMBERS: dict[type, set[str]] = {}
"""For each class the attributes whose ints are children, as tensors are: they may vary from call to call."""


def register_container(
    cls: type,
    flatten: Callable[[Any], tuple[list[Any], Any]] | None = None,
    unflatten: Callable[[Iterable[Any], Any], Any] | None = None,
    numbers: Iterable[str] = (),
) -> None:
    """Makes instances of exactly `cls` containers of a program's inputs and outputs.

    flatten: object -> (children, context), context comparable by == and JSON-able if programs are to be saved;
    unflatten: (children, context) -> object. Both or neither; without them the rule of this module applies.
    numbers: attributes whose ints are inputs of the program instead of constants (how much a cache has seen). A
    `dynamic_shapes` that names such an attribute has the same effect; a process that only loads the program needs this
    call. A class that is registered already keeps its registration unless functions are given.
    """
    if (flatten is None) != (unflatten is None):
        raise TypeError("give both flatten and unflatten, or neither")
    if numbers:
        if flatten is not None:
            raise TypeError("numbers are for classes without functions of their own")
        _NUMBERS.setdefault(cls, set()).update([numbers] if isinstance(numbers, str) else numbers)
    if flatten is not None and unflatten is not None:
        _register_with(cls, flatten, unflatten)
        return
    if cls in pytree.SUPPORTED_NODES:
        return
    pytree.register_pytree_node(
        cls,
        _flatten,
        lambda children, context: _unflatten(cls, children, context),
        serialized_type_name=_name(cls),
        flatten_with_keys_fn=_flatten_with_keys,
        to_dumpable_context=ObjectContext.to_json,
        from_dumpable_context=ObjectContext.from_json,
    )
    torch.serialization.add_safe_globals([cls])  # a saved program holds its example inputs
    # Generated code flattens by the spec that it was made for, so that proxies pass through it as well.
    register_pytree_flatten_spec(cls, lambda value, spec: [_get(value, key) for key in spec.context.keys])
    made = _registered_inside.get()
    if made is not None:
        made.append(cls)


def _register_with(
    cls: type, flatten: Callable[[Any], tuple[list[Any], Any]], unflatten: Callable[[Iterable[Any], Any], Any]
) -> None:
    """Registers `cls` with the user's own functions."""

    def flatten_with_keys(value: Any) -> tuple[list[tuple[Any, Any]], Any]:
        children, context = flatten(value)
        return [(pytree.SequenceKey(index), child) for index, child in enumerate(children)], context

    pytree.register_pytree_node(
        cls, flatten, unflatten, serialized_type_name=_name(cls), flatten_with_keys_fn=flatten_with_keys
    )
    register_pytree_flatten_spec(cls, lambda value, spec: flatten(value)[0])


@contextmanager
def forgotten_after_errors() -> Iterator[None]:
    """A context in which registrations by the rule are undone if an error ends the block: no program has the class as a
    container, and the user's own calls of pytree functions take its instances for leaves."""
    made: list[type] = []
    outer = _registered_inside.get()

    def undo() -> None:
        while made:
            forget_container(made[-1])
            made.pop()
        _registered_inside.set(outer)

    with changed(undo):
        _registered_inside.set(made)
        yield
        made.clear()


def register_containers(tree: Any, call: Caller = direct) -> KnownParts:
    """Registers the class of each container in `tree` that torch does not know. Raises UnsupportedValue for a cycle.

    call: how functions that the user has registered are called. Returns their results, for `flatten`.
    """
    known: KnownParts = {}
    _register_inside(tree, (), (), call, known)
    return known


def declare_numbers(spec: pytree.TreeSpec, leaves: Iterator[Any]) -> None:
    """Declares as `numbers` the ints in a structure of inputs. leaves: the values there, numbers or tensors."""
    if spec.is_leaf():
        next(leaves)
        return
    children = spec.children()
    keys = spec.context.keys if isinstance(spec.context, ObjectContext) else [None] * len(children)
    for key, child in zip(keys, children):
        if not child.is_leaf():
            declare_numbers(child, leaves)
        elif isinstance(next(leaves), (int, torch.SymInt)) and key is not None and key.kind == "attr":
            _NUMBERS.setdefault(spec.type, set()).add(key.name)


def leave_references(spec: pytree.TreeSpec) -> None:
    """Records that the program dereferences no weak reference in its arguments: their objects may be others."""
    if isinstance(spec.context, ObjectContext):
        spec.context.references_unread = True
    for child in spec.children():
        leave_references(child)


def registered_classes(program: ExportedProgram) -> tuple[type, ...]:
    """The classes among the containers of a program that the rule of this module has registered."""
    signature = program.module_call_graph[0].signature
    todo = [signature.in_spec, signature.out_spec] if signature is not None else []
    found: dict[type, None] = {}
    while todo:
        spec = todo.pop()
        todo += spec.children() if not spec.is_leaf() else []
        if isinstance(spec.context, ObjectContext):
            found[spec.type] = None
    return tuple(found)


def check_input(path: pytree.KeyPath, leaf: Any) -> None:
    """`check_leaf`, and that torch's verifier, which walks what can be iterated, comes to an end with a constant."""
    if isinstance(leaf, Flag) and not isinstance(leaf, int):
        raise UnsupportedValue(
            path_string(path),
            f"a member of {type(leaf).__qualname__}, an enum.Flag, cannot be an input of a program: torch's verifier "
            "iterates over it without end. Pass its number (`flag.value`), or use an enum.IntFlag",
        )
    check_leaf(path, leaf)


def check_leaf(path: pytree.KeyPath, leaf: Any) -> None:
    """Raises UnsupportedValue unless `leaf` is a tensor, a size or a constant that a program can hold."""
    if isinstance(leaf, torch.Tensor) and leaf.is_nested:
        raise UnsupportedValue(path_string(path), NESTED)
    if isinstance(leaf, _LEAVES):
        return
    kind = f"{type(leaf).__module__}.{type(leaf).__qualname__}"
    if isinstance(leaf, torch.nn.Module):
        what = f"a {kind}, a module, can be neither input nor output of a program: its parameters and buffers are state"
        error = UnsupportedValue(
            path_string(path),
            f"{what}. Make it a part of the module that is exported (`self.part = part`); which of several a call "
            "uses may be chosen by a constant argument, its name",
        )
        error.case = "module_as_argument"
        raise error
    raise UnsupportedValue(
        path_string(path),
        f"a value of type {kind} can be neither input nor output of a program. Use tensors, None, numbers, strings, "
        "enums and containers of these (objects whose attributes are such values are containers)",
    )


def path_string(path: pytree.KeyPath) -> str:
    """A path as the program would write it: `cache.layers[0].keys`; the first key is the argument's name."""
    first, *rest = path
    name = getattr(first, "key", first)
    return f"{name}{pytree.keystr(tuple(rest))}"


def _register_inside(
    value: Any, path: pytree.KeyPath, above: tuple[int, ...], call: Caller, known: KnownParts
) -> None:
    if isinstance(value, _LEAVES):
        return
    if id(value) in above:
        raise UnsupportedValue(path_string(path), "the object contains itself; a program's values have to be trees")
    if pytree.is_namedtuple_instance(value):
        _make_saveable(type(value))
    if not _is_registered(value):
        if not is_object(value):
            return  # a leaf; check_leaf judges it
        _reject_cycles(value, path, above)
        register_container(type(value))
    give_keys(type(value))
    found = parts(value, call)
    if is_foreign(type(value)):
        known[id(value)] = (value, found)
    elif any(part is value for _, part in state_of(value)):
        raise UnsupportedValue(path_string(path), "the object contains itself; a program's values have to be trees")
    for key, child in found[0]:
        _register_inside(child, (*path, key), (*above, id(value)), call, known)


def _make_saveable(cls: type) -> None:
    """Named tuples are containers for torch, but a program with one can be saved only if its class has a name there."""
    if cls not in pytree.SUPPORTED_NODES:
        register_namedtuple(cls, serialized_type_name=_name(cls))
        torch.serialization.add_safe_globals([cls])  # a saved program holds its example inputs


def _is_registered(value: Any) -> bool:
    return type(value) in pytree.SUPPORTED_NODES or pytree.is_namedtuple_instance(value)


def children_of(value: Any, call: Caller = direct) -> Iterable[tuple[Any, Any]]:
    """(key, child) of a registered container, one level deep."""
    return parts(value, call)[0]


def is_object(value: Any) -> bool:
    """Whether the rule applies: an instance of a Python class, or of a subclass of list, tuple or dict."""
    if isinstance(value, _NOT_STATE):
        return False
    cls = type(value)
    is_ours = is_changeable(cls) or isinstance(value, _ITEM_BASES)
    return is_ours and not any(map(_hides_state, cls.__mro__))


def _hides_state(base: type) -> bool:
    """Whether instances of a C type hold what neither attributes nor items show (a set, a deque, a socket)."""
    return not (is_changeable(base) or base is object or issubclass(base, _ITEM_BASES))


def _reject_cycles(value: Any, path: pytree.KeyPath, above: tuple[int, ...]) -> None:
    if isinstance(value, _LEAVES) or not (is_object(value) or _is_registered(value)):
        return
    if id(value) in above:
        raise UnsupportedValue(path_string(path), "the object contains itself; a program's values have to be trees")
    for key, child in state_of(value):
        _reject_cycles(child, (*path, key.path_entry()), (*above, id(value)))


def state_of(value: Any) -> Iterator[tuple[Key, Any]]:
    """All parts of an object, in a stable order: items, slots, attributes."""
    if isinstance(value, dict):
        if isinstance(value, defaultdict):
            yield Key("attr", "default_factory"), value.default_factory
        items = OrderedDict.items(value) if isinstance(value, OrderedDict) else dict.items(value)  # two orders
        yield from ((Key("item", key), item) for key, item in items)
    elif isinstance(value, (list, tuple)):
        yield from ((Key("item", index), item) for index, item in enumerate(value))
    for cls in type(value).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name in ("__dict__", "__weakref__"):
                continue
            private = name.startswith("__") and not name.endswith("__")
            mangled = f"_{cls.__name__.lstrip('_')}{name}" if private else name
            if (slot := cls.__dict__.get(mangled)) is not None and hasattr(value, mangled):
                yield Key("attr", mangled), slot.__get__(value, cls)
    attributes = getattr(value, "__dict__", None)
    if isinstance(attributes, dict):
        yield from ((Key("attr", name), item) for name, item in list(attributes.items()))


def _holds_tensors(value: Any) -> bool:
    if isinstance(value, _NUMERIC):
        return True
    if isinstance(value, _CONSTANTS):
        return False
    if is_object(value):
        return any(_holds_tensors(part) for _, part in state_of(value))
    if is_foreign(type(value)):
        return True  # not called: its functions are the user's
    return _is_registered(value) and any(_holds_tensors(child) for _, child in children_of(value))


def _split(value: Any) -> tuple[list[tuple[Key, Any]], ObjectContext]:
    children: list[tuple[Key, Any]] = []
    order: list[Key] = []
    rest: dict[Key, Any] = {}
    numbers = _NUMBERS.get(type(value), ())
    for key, part in state_of(value):
        order.append(key)
        if _holds_tensors(part) or (type(part) is int and key.kind == "attr" and key.name in numbers):
            children.append((key, part))
        else:
            rest[key] = copy_plain(part)  # as it is now: the object may change later
    return children, ObjectContext(tuple(key for key, _ in children), tuple(order), rest)


@never_compiled
def _flatten(value: Any) -> tuple[list[Any], ObjectContext]:
    children, context = _split(value)
    return [child for _, child in children], context


@never_compiled
def _flatten_with_keys(value: Any) -> tuple[list[tuple[Any, Any]], ObjectContext]:
    children, context = _split(value)
    return [(key.path_entry(context.keys), child) for key, child in children], context


def _unflatten(cls: type, children: Iterable[Any], context: ObjectContext) -> Any:
    parts = {**context.fresh_rest(), **dict(zip(context.keys, children))}
    items = [(key.name, parts[key]) for key in context.order if key.kind == "item"]
    base: Any = next((base for base in _ITEM_BASES if issubclass(cls, base)), object)
    value: Any
    if base is tuple:
        value = tuple.__new__(cls, [item for _, item in items])
    else:
        value = base.__new__(cls)
    if base is list and type(value).extend is list.extend:
        value.extend([item for _, item in items])  # which torch.compile knows how to trace
    elif base is list:
        list.extend(value, [item for _, item in items])
    elif issubclass(base, dict):
        for name, item in items:
            base.__setitem__(value, name, item)
    for key in context.order:
        if key.kind == "attr":
            object.__setattr__(value, key.name, parts[key])
    return value


def _get(value: Any, key: Key) -> Any:
    if key.kind == "item":
        return value[key.name]
    return getattr(value, key.name)


def _name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
