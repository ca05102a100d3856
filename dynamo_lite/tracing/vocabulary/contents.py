"""What containers and objects hold, read without a method of theirs.

`values()` of a mapping that a library fills when it is read imports what it has not imported yet; `__getattr__` runs
code of the program. A look at what a run left must do neither.
"""

from __future__ import annotations

from typing import Any

from dynamo_lite.tracing.vocabulary.mro import instance_dict


def items_of(value: Any) -> list[Any]:
    """The values of a dict, the items of a list, tuple or set; of any other object, none."""
    kind = type(value)
    if issubclass(kind, dict):
        return [*dict.values(value)]
    container = next((one for one in (list, tuple, set, frozenset) if issubclass(kind, one)), None)
    return [] if container is None else [*container.__iter__(value)]


def attributes_of(value: Any) -> list[Any]:
    """The values in the object's own `__dict__`."""
    return [*dict.values(instance_dict(value) or {})]
