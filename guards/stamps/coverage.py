"""Which guards words answer for: one row a kind of guard."""

from __future__ import annotations

import collections
from collections.abc import Callable, Mapping
from types import FunctionType, MappingProxyType
from typing import Any

from dynamo_lite.guards import classes
from dynamo_lite.guards.guard import Guard
from dynamo_lite.guards.stamps.places import UNKNOWN, Places
from dynamo_lite.guards.values import is_atom

_FIXED = (tuple, str, bytes, frozenset, range)
"""Types whose instances, of the exact type, never change."""

Rule = Callable[[Places, Any, Guard], bool]


def covers(places: Places, guard: Guard) -> bool:
    """Whether the words kept at `places` tell each change that could make the guard fail. The guard holds now."""
    rule = _RULES.get(guard.kind)
    if rule is None or guard.source is None:
        return False
    value = places.at(guard.source)
    return value is not UNKNOWN and rule(places, value, guard)


def _place(places: Places, value: Any, guard: Guard) -> bool:
    """The guard is about which object is there."""
    return True


def _two_places(places: Places, value: Any, guard: Guard) -> bool:
    return places.at(guard.other) is not UNKNOWN


def _atom(places: Places, value: Any, guard: Guard) -> bool:
    return is_atom(value)


def _type(places: Places, value: Any, guard: Guard) -> bool:
    places.type_of(value)
    return True


def _mapping(value: Any) -> Any:
    return classes.behind(value) if type(value) is MappingProxyType else value


def _is_in(places: Places, value: Any, guard: Guard) -> bool:
    return _truth(places, _mapping(value), guard) and all(map(is_atom, guard.expected))


def _truth(places: Places, value: Any, guard: Guard) -> bool:
    """`bool(value)`, and which keys a dict has."""
    value = _mapping(value)
    if type(value) in (dict, collections.OrderedDict):
        places.dict(value)
        return True
    return type(value) in (*_FIXED, list) and _length(places, value, guard)


def _length(places: Places, value: Any, guard: Guard) -> bool:
    if isinstance(value, dict):
        places.dict(value)
        return True
    if isinstance(value, list):
        places.size(value)
        return True
    return isinstance(value, (tuple, str, bytes, frozenset))


def _keys(places: Places, value: Any, guard: Guard) -> bool:
    """An OrderedDict keeps its order beside the dict."""
    if not isinstance(value, dict) or isinstance(value, collections.OrderedDict):
        return False
    places.dict(value)
    return True


def _items(places: Places, value: Any, guard: Guard) -> bool:
    if isinstance(value, list):
        places.size(value)
        return all(places.item(value, index) is not UNKNOWN for index in range(list.__len__(value)))
    return isinstance(value, tuple)


def _frozen(places: Places, value: Any, guard: Guard) -> bool:
    return isinstance(value, frozenset)


def _no_hooks(places: Places, value: Any, guard: Guard) -> bool:
    names = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    if type(value) is not dict:
        return False
    places.dict(value)
    return all(_truth(places, value[name], guard) for name in names)


def _code(places: Places, value: Any, guard: Guard) -> bool:
    if type(value) is not FunctionType:
        return False
    places.function(value)
    return True


def _class(places: Places, value: Any, guard: Guard) -> bool:
    places.cls(value)
    return classes.form(value).names == guard.expected.names


def _no_attribute(places: Places, value: Any, guard: Guard) -> bool:
    places.cls(value)
    return True


_RULES: Mapping[str, Rule] = {
    "is": _place,
    "same_tensor": _place,
    "equals": _atom,
    "type": _type,
    "same": _two_places,
    "distinct": _two_places,
    "absent": _is_in,
    "present": _is_in,
    "empty": _truth,
    "filled": _truth,
    "length": _length,
    "keys": _keys,
    "items": _items,
    "set": _frozen,
    "no_hooks": _no_hooks,
    "plain_code": _code,
    "code": _code,
    "class": _class,
    "no_attribute": _no_attribute,
    "tensor": lambda places, value, guard: places.tensor(value, guard.expected),
}
"""The other kinds (torch's switches, conditions on the arguments, contents of C objects) are checked each time."""
