"""The constant part of an object that is a container: comparable, and writable into a saved program."""

from __future__ import annotations

import importlib
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, Flag
from types import FunctionType
from typing import Any

import torch

from dynamo_lite.program._torch import never_compiled
from dynamo_lite.torch_internals._torch_pytree import pytree
from dynamo_lite.value_types import GRAPH_ATOMS

_TORCH_NAMED = (torch.dtype, torch.layout, torch.memory_format)
_WRITTEN: dict[type, Callable[[Any], Any]] = {
    bytes: lambda value: value.hex(),
    complex: lambda value: [value.real, value.imag],
    range: lambda value: [value.start, value.stop, value.step],
    slice: lambda value: [value.start, value.stop, value.step],
    type(...): lambda value: None,
}
_READ: dict[str, Callable[[Any], Any]] = {
    "bytes": bytes.fromhex,
    "complex": lambda parts: complex(*parts),
    "range": lambda parts: range(*parts),
    "slice": lambda parts: slice(*parts),
    "ellipsis": lambda nothing: ...,
    "flag": lambda parts: _find_global(parts[0])(parts[1]),
}
"""Constants by the name of their type: how they are written, and read."""
_SEQUENCES: dict[str, type] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}


def _never(value: Any) -> bool:
    return False


def _always(value: Any) -> bool:
    return True


@dataclass(frozen=True)
class EndedAttrKey(pytree.GetAttrKey):
    """An attribute whose name another one's begins with: `x` beside `x_mask`.

    torch finds an input in the text of a guard by `str.replace` of its path (torch/export/_unlift.py), and would find
    `L['batch'].x` in `L['batch'].x_mask`. A space after the name is Python as well, and ends it.
    """

    def __str__(self) -> str:
        return f".{self.name} "


@dataclass(frozen=True)
class Key:
    """One part of an object: an attribute by name, or an item by index or key."""

    kind: str  # "attr" or "item"
    name: Any

    def path_entry(self, siblings: Sequence[Key] = ()) -> Any:
        """The pytree key; `siblings` are the parts of the same object."""
        if self.kind == "attr":
            longer = any(s.kind == "attr" and s.name != self.name and s.name.startswith(self.name) for s in siblings)
            return EndedAttrKey(self.name) if longer else pytree.GetAttrKey(self.name)
        return pytree.SequenceKey(self.name) if isinstance(self.name, int) else pytree.MappingKey(self.name)


@dataclass(eq=False)
class ObjectContext:
    """`keys`: the children, in order; `order`: all parts; `rest`: the parts that are constants of the program.

    `is_made` returns whether the program itself makes an object in `rest`, so that each result has objects of its own.
    `references_unread`: the program does not dereference weak references in `rest` (known for a run that is
    interpreted), so that their objects may be others.
    """

    keys: tuple[Key, ...]
    order: tuple[Key, ...]
    rest: dict[Key, Any]
    is_made: Callable[[Any], bool] = _never
    references_unread: bool = False

    __hash__ = None  # type: ignore[assignment]

    @never_compiled
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ObjectContext):
            return NotImplemented
        if self.keys != other.keys or self.rest.keys() != other.rest.keys():
            return False
        unread = self.references_unread or other.references_unread
        pairs = [(value, other.rest[key]) for key, value in self.rest.items()]
        return all((unread and type(a) is type(b) is weakref.ref) or _same(a, b) for a, b in pairs)

    def __repr__(self) -> str:
        parts = [f"{key.name}=*" if key in self.keys else f"{key.name}={self.rest[key]!r}" for key in self.order]
        return f"({', '.join(parts)})"

    def fresh_rest(self) -> dict[Key, Any]:
        """The constants for a new object: lists, dicts, sets and objects of the program are copied, others shared."""
        copies: dict[int, Any] = {}
        return {key: copy_plain(value, self.is_made, copies) for key, value in self.rest.items()}

    def mark_made(self, is_made: Callable[[Any], bool]) -> None:
        """Note which objects of the constants, by identity, the program has made."""
        made: dict[int, Any] = {}
        for value in self.rest.values():
            _find_made(value, is_made, made)
        if made:
            self.is_made = lambda value: id(value) in made

    def to_json(self) -> Any:
        """JSON-able. Raises TypeError for a constant that has no such form (a lock, an open file)."""
        keys, order = ([encode_key(key) for key in part] for part in (self.keys, self.order))
        return {"keys": keys, "order": order, "rest": [[encode_key(k), encode(v)] for k, v in self.rest.items()]}

    @classmethod
    def from_json(cls, data: Any) -> ObjectContext:
        keys, order = (tuple(decode_key(key) for key in data[name]) for name in ("keys", "order"))
        return cls(keys, order, {decode_key(key): decode(value) for key, value in data["rest"]}, _always)


def _same(left: Any, right: Any) -> bool:
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    equal = left == right
    if isinstance(equal, bool) and equal:
        return True
    if type(left).__eq__ is not object.__eq__:
        return isinstance(equal, bool) and equal
    return bool(encode(left) == encode(right))  # compared by identity: look inside


def copy_plain(value: Any, is_made: Callable[[Any], bool] = _never, copies: dict[int, Any] | None = None) -> Any:
    """A copy of lists, dicts, sets and tuples, nested, and of the plain objects that `is_made` names; anything else is
    the value itself. copies: id of an object → its copy; one object stays one."""
    copies = {} if copies is None else copies
    if type(value) in (list, set, tuple):
        return type(value)(copy_plain(item, is_made, copies) for item in value)
    if type(value) is dict:
        return {key: copy_plain(item, is_made, copies) for key, item in value.items()}
    if not _is_plain_object(value) or not is_made(value):
        return value
    if id(value) not in copies:
        copies[id(value)] = made = object.__new__(type(value))
        made.__dict__.update(copy_plain(vars(value), is_made, copies))
    return copies[id(value)]


def _find_made(value: Any, is_made: Callable[[Any], bool], made: dict[int, Any]) -> None:
    if type(value) in (list, set, tuple):
        for item in value:
            _find_made(item, is_made, made)
    elif type(value) is dict:
        _find_made([*value.values()], is_made, made)
    elif _is_plain_object(value) and id(value) not in made and is_made(value):
        made[id(value)] = value
        _find_made(vars(value), is_made, made)


def _is_plain_object(value: Any) -> bool:
    """Whether an object is its class and its `__dict__`, and can be changed."""
    cls = type(value)
    if cls.__new__ is not object.__new__ or isinstance(value, (type, Enum)) or not hasattr(value, "__dict__"):
        return False
    return all(base is object or "__slots__" not in base.__dict__ for base in cls.__mro__)


def encode_key(key: Key) -> Any:
    return [key.kind, encode(key.name)]


def decode_key(data: Any) -> Key:
    return Key(data[0], decode(data[1]))


def encode(value: Any) -> Any:
    """A constant as JSON: classes and functions by name, objects by class and state. Raises TypeError if it can't."""
    if type(value) in GRAPH_ATOMS:
        return value
    name = type(value).__name__
    if type(value) in _WRITTEN:
        return {name: _WRITTEN[type(value)](value)}
    if type(value) in _SEQUENCES.values():
        items = [encode(item) for item in value]
        return {name: sorted(items, key=repr) if isinstance(value, (set, frozenset)) else items}
    if type(value) is dict:
        return {"dict": [[encode(key), encode(item)] for key, item in value.items()]}
    if isinstance(value, _TORCH_NAMED):
        return {"torch": str(value).removeprefix("torch.")}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    if isinstance(value, Flag):  # a combination has no name of its own
        return {"flag": [_global_name(type(value)), value.value]}
    if isinstance(value, Enum):
        return {"enum": [_global_name(type(value)), value.name]}
    if isinstance(value, (type, FunctionType)):
        return {"global": _global_name(value)}
    if isinstance(getattr(value, "__dict__", None), dict) and not isinstance(value, (dict, list, tuple, set)):
        return {"object": [_global_name(type(value)), encode(vars(value))]}
    raise TypeError(f"a constant of type {type(value).__module__}.{type(value).__qualname__} cannot be saved")


def decode(data: Any) -> Any:
    """The inverse of `encode`. Imports the modules of the classes named in it, calls nothing in them."""
    if not isinstance(data, dict):
        return data
    ((tag, body),) = data.items()
    if tag in _READ:
        return _READ[tag](body)
    if tag in _SEQUENCES:
        return _SEQUENCES[tag](decode(item) for item in body)
    if tag == "dict":
        return {decode(key): decode(item) for key, item in body}
    if tag == "torch":
        return getattr(torch, body)
    if tag == "device":
        return torch.device(body)
    if tag == "enum":
        return _find_global(body[0])[body[1]]
    if tag == "global":
        return _find_global(body)
    assert tag == "object", tag
    cls = _find_global(body[0])
    value = object.__new__(cls)
    value.__dict__.update(decode(body[1]))
    return value


def _global_name(thing: Any) -> str:
    return f"{thing.__module__}:{thing.__qualname__}"


def _find_global(name: str) -> Any:
    module, _, qualname = name.partition(":")
    found: Any = importlib.import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part)
    return found
