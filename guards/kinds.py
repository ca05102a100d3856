"""The kinds of guards: the condition of each, as generated code and in words. One row per kind.

`fails` is Python that is true when the guard does not hold: {v} is the value's variable, {c} the constant `expected`,
{w} the variable of the guard's other source. The cheapest kinds and those likeliest to fail come first: the compiled
function checks in that order (except that a guard which another one's path depends on comes before it).
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from dynamo_lite.guards import classes, values
from dynamo_lite.guards.tensors import difference


class Kind(NamedTuple):
    """One kind of guard. `expects(expected)` and `found(value, expected)` are phrases for people."""

    fails: str
    expects: Callable[[Any], str]
    found: Callable[[Any, Any], str]


def _value(value: Any, expected: Any = None) -> str:
    return values.describe(value)


def _type(value: Any, expected: Any = None) -> str:
    return f"a {type(value).__module__}.{type(value).__qualname__}"


def _length(value: Any, expected: Any = None) -> str:
    return f"{length_of(value)} items"


def _keys(value: Any, expected: Any) -> str:
    keys = list(dict.keys(value))
    gone, new = _without(expected, keys), _without(keys, expected)
    if not gone and not new:
        return "the same keys in another order"
    parts = [f"without {values.describe(k)}" for k in gone] + [f"with {values.describe(k)}" for k in new]
    return f"keys {', '.join(parts[:6])}"


def _without(these: Iterable[Any], those: Iterable[Any]) -> list[Any]:
    """Those of `these` that are not among `those`: as keys of a dict, since `==` of tensors is no truth value."""
    table = dict.fromkeys(those)
    return [key for key in these if key not in table]


def _present(value: Any, expected: Any) -> str:
    return ", ".join(values.describe(name) for name in expected if name in value) + " is there"


def _class_change(cls: type, expected: classes.ClassForm) -> str:
    now = classes.form(cls)
    if now.mro is not expected.mro:
        return "other bases"
    names = [f"with {name}" for name in now.names - expected.names]
    names += [f"without {name}" for name in expected.names - now.names]
    return ", ".join(sorted(names)[:6])


def length_of(value: Any) -> int:
    """len() of a built-in container or a subclass of one, past any override."""
    for base in _SIZED:
        if isinstance(value, base):
            return base.__len__(value)
    raise TypeError(f"a {type(value).__qualname__} is not a built-in container")


_SIZED: tuple[Any, ...] = (list, tuple, dict, set, frozenset, collections.deque, str, bytes, bytearray)

KINDS: Mapping[str, Kind] = {
    # ---- the call: its form, its tensors and constants
    "arguments": Kind("len(args) != {c}", lambda e: f"{e} positional arguments", lambda v, e: f"{len(v)}"),
    "keywords": Kind(
        "kwargs.keys() != {c}", lambda e: f"the keyword arguments {sorted(e)}", lambda v, e: f"{sorted(v)}"
    ),
    "tensor": Kind("", str, difference),
    "unknown": Kind("True", str, lambda v, e: "unknown"),
    "python": Kind("", str, lambda v, e: "this is false"),
    # ---- values
    "state": Kind("{c}() != {w}", lambda e: "", lambda v, e: ""),
    "is": Kind("{v} is not {c}", values.describe, _value),
    "equals": Kind("{v} is not {c} and not _same_atom({v}, {c})", values.describe, _value),
    "same_tensor": Kind("{v} is not {c}", lambda e: "the very tensor that the program holds", _value),
    "type": Kind("type({v}) is not {c}", lambda e: f"a {e.__module__}.{e.__qualname__}", _type),
    "absent": Kind("", lambda e: f"no {', '.join(map(values.describe, e))}", _present),
    "present": Kind("", lambda e: f"{', '.join(map(values.describe, e))} present", lambda v, e: "not there"),
    "empty": Kind("{v}", lambda e: "empty", _length),
    "filled": Kind("not {v}", lambda e: "not empty", lambda v, e: "empty"),
    "length": Kind("_length_of({v}) != {c}", lambda e: f"{e} items", _length),
    "keys": Kind("not _same_keys({v}, {c})", lambda e: f"{len(e)} keys: {_short_list(e)}", _keys),
    "items": Kind("not _same_items({v}, {c})", values.describe, _value),
    "set": Kind("not _same_set({v}, {c})", lambda e: f"{len(e)} members", lambda v, e: "other members"),
    "contents": Kind("not {c}({v})", lambda e: "the contents that it had", lambda v, e: "other contents"),
    "no_hooks": Kind(
        "{v}['_forward_hooks'] or {v}['_forward_pre_hooks'] or {v}['_backward_hooks'] or {v}['_backward_pre_hooks']",
        lambda e: "no forward or backward hooks",
        lambda v, e: "hooks",
    ),
    # ---- two places
    "same": Kind("{v} is not {w}", lambda e: f"the same object as {e}", lambda v, e: "two objects"),
    "distinct": Kind("{v} is {w}", lambda e: f"another object than {e}", lambda v, e: "one object"),
    # ---- code: rarely changes
    "plain_code": Kind(
        "{v}.__code__ is not {c} or {v}.__defaults__ is not None or {v}.__kwdefaults__ is not None",
        lambda e: f"the code of {e.co_qualname}, no defaults",
        lambda v, e: "other code" if v.__code__ is not e else f"defaults {values.describe(v.__defaults__)}",
    ),
    "code": Kind("{v}.__code__ is not {c}", lambda e: f"the code of {e.co_qualname}", lambda v, e: "other code"),
    "class": Kind(
        "_has_another_form({v}, {c})",
        lambda e: "the bases, special methods and data descriptors that it had",
        lambda v, e: _class_change(v, e),
    ),
    "unset": Kind("_is_set({v}, {c})", lambda e: f"no {e}", lambda v, e: "it is set"),
    "no_attribute": Kind(
        "_has_entry({v}, {c})",
        lambda e: f"no attribute {e} of the class",
        lambda v, e: "the class has it",
    ),
}


def _short_list(keys: list[Any]) -> str:
    shown = ", ".join(map(values.describe, keys[:6]))
    return shown + (", ..." if len(keys) > 6 else "")


def is_set(owner: Any, name: str) -> bool:
    """Whether a slot of `owner` (or a cell's contents) holds something."""
    try:
        object.__getattribute__(owner, name)
    except (AttributeError, ValueError):
        return False
    return True


HELPERS: Mapping[str, Any] = {
    "_same_atom": values.same_atom,
    "_same_keys": values.same_keys,
    "_same_items": values.same_items,
    "_same_set": values.same_set,
    "_length_of": length_of,
    "_is_set": is_set,
    "_has_entry": classes.has_entry,
    "_has_another_form": classes.has_another_form,
}
"""The helpers that the generated code of KINDS calls."""

EARLY = frozenset({"unknown", "arguments", "keywords", "tensor", "python", "state"})
LATE = frozenset({"plain_code", "code", "class", "unset", "no_attribute"})
