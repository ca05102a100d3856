"""Numbers within containers that vary from call to call: how many tokens a cache has seen, beside the tensors.

A number that an object holds is a constant of the program, as its other state. One that `dynamic_shapes` names, or
that differs among the calls of an `AdditionalInputs`, is an input, of every object of its class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dynamo_lite.program.trees.containers import is_object, register_container, state_of
from dynamo_lite.program.trees.paths import is_foreign


def declare_named(value: Any, spec: Any) -> None:
    """Makes inputs of the int attributes for which `spec`, a specification by name, has an entry."""
    if spec is None or is_foreign(type(value)):
        return
    if isinstance(spec, Mapping):
        for name, part, is_attribute in _parts(value):
            said = spec.get(name)
            if said is not None and is_attribute and type(part) is int:
                register_container(type(value), numbers=(name,))
            declare_named(part, said)
    elif isinstance(spec, Sequence) and not isinstance(spec, str) and isinstance(value, (list, tuple)):
        for part, said in zip(value, spec):
            declare_named(part, said)


def declare_differing(value: Any, other: Any) -> None:
    """Makes inputs of the attributes that are ints in both, and differ."""
    if type(value) is not type(other) or is_foreign(type(value)):
        return
    others = {(name, is_attribute): part for name, part, is_attribute in _parts(other)}
    for name, part, is_attribute in _parts(value):
        second = others.get((name, is_attribute))
        if is_attribute and type(part) is int and type(second) is int and part != second:
            register_container(type(value), numbers=(name,))
        declare_differing(part, second)


def _parts(value: Any) -> list[tuple[Any, Any, bool]]:
    """(name or index, part, whether it is an attribute) of a container, one level deep."""
    if type(value) is dict:
        return [(key, part, False) for key, part in value.items()]
    if type(value) in (list, tuple):
        return [(index, part, False) for index, part in enumerate(value)]
    if not is_object(value):
        return []
    return [(key.name, part, key.kind == "attr") for key, part in state_of(value)]
