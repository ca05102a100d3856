"""Containers that the registered function restores without a constructor, part by part"""

from __future__ import annotations

import copy
from typing import Any

from tests.export.probe import Probe, equal, t
from tests.hostile.programs.registered_containers import Box, register


class Nested:
    """Part of a container: a tensor, and how often it was used."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.used = 3


class Slotted:
    __slots__ = ("tensor", "used")

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.used = 3


def _by_dict(new: Any, state: dict[str, Any]) -> None:
    for key, value in state.items():
        new.__dict__[key] = value


def _by_vars(new: Any, state: dict[str, Any]) -> None:
    vars(new).update(state)


def _by_new_dict(new: Any, state: dict[str, Any]) -> None:
    new.__dict__ = dict(state)


def _by_object(new: Any, state: dict[str, Any]) -> None:
    for key, value in state.items():
        object.__setattr__(new, key, value)


def _by_setattr(new: Any, state: dict[str, Any]) -> None:
    for key, value in state.items():
        setattr(new, key, value)


def _by_setdefault(new: Any, state: dict[str, Any]) -> None:
    for key, value in state.items():
        new.__dict__.setdefault(key, value)


def _by_union(new: Any, state: dict[str, Any]) -> None:
    new.__dict__ |= state


WAYS = (_by_dict, _by_vars, _by_new_dict, _by_object, _by_setattr, _by_setdefault, _by_union)


def _class(fill: Any) -> Any:
    cls = type(f"Restored{fill.__name__}", (Box,), {"__module__": __name__})

    def flatten(box: Any) -> Any:
        return [box.left.tensor, box.right.tensor], box.n

    def unflatten(children: Any, n: Any) -> Any:
        left, right = (made.__new__(made) for made in (Nested, Slotted))
        fill(left, {"tensor": children[0], "used": 3})
        right.tensor, right.used = children[1], 3
        new = cls.__new__(cls)
        fill(new, {"left": left, "right": right, "n": n})
        return copy.copy(new)

    register(cls, flatten, unflatten)
    return cls


CLASSES = {fill: _class(fill) for fill in WAYS}


def _probe(fill: Any, program: Any) -> Probe:
    cls = CLASSES[fill]

    def build() -> Any:
        return program(cls), (cls(Nested(t(3)), Slotted(t(3)), 2),)

    build.__name__ = f"{program.__name__}{fill.__name__}"
    return equal(build)


def read(cls: Any) -> Any:
    return lambda box: box.left.tensor * box.left.used + box.right.tensor * box.right.used * box.n


def made(cls: Any) -> Any:
    """The result is a container, of parts that the program restores in the same way."""
    return lambda box: copy.copy(cls(Nested(box.left.tensor + 1), Slotted(box.right.tensor * 2), box.n))


for _fill in WAYS:
    for _program in (read, made):
        globals()[f"{_program.__name__}{_fill.__name__}"] = _probe(_fill, _program)
