"""Guards on the arguments of the call: their structure, their constants, the form of their tensors.

The program was given containers of its own, made from the flattened call; so the arguments are guarded whole.
"""

from __future__ import annotations

import collections
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from dynamo_lite.guards import Guard, Source, facts_of, root
from dynamo_lite.guards.values import is_atom
from dynamo_lite.interpreter.code.type_flags import is_changeable
from dynamo_lite.program import FlatInputs
from dynamo_lite.torch_internals._torch_pytree import pytree
from dynamo_lite.tracing.assumptions.containers import item_step
from dynamo_lite.tracing.assumptions.walk import Walk
from dynamo_lite.tracing.vocabulary import mro as classes
from dynamo_lite.tracing.vocabulary.contents import keys_and_items
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor


@dataclass(frozen=True)
class _Leaf:
    """A placeholder for the flat input with this number, in the tree of the arguments."""

    number: int


class _Foreign:
    """A placeholder for a container that registered functions make: a `Caller` (program/trees/paths.py) without calls.

    `numbers` are the flat inputs in it.
    """

    def __init__(self, unflatten: Any, children: Sequence[Any], context: Any) -> None:
        self.numbers = [number for child in children for number in _numbers(child)]


def _numbers(place: Any) -> list[int]:
    if isinstance(place, _Foreign):
        return place.numbers
    leaves = pytree.tree_leaves(place, is_leaf=lambda value: isinstance(value, (_Leaf, _Foreign)))
    return [n for leaf in leaves for n in ([leaf.number] if isinstance(leaf, _Leaf) else leaf.numbers)]


def _has_parts(value: Any) -> bool:
    return isinstance(value, (list, tuple, dict)) or (is_changeable(type(value)) and not isinstance(value, nn.Module))


OPEN = object()
"""An integer or float input that is symbolic: any value of its type."""


def guard_arguments(walk: Walk, inputs: FlatInputs, open_sizes: Mapping[int, Any]) -> dict[str, Source]:
    """Adds the guards to `walk`; returns the source of each top-level argument by its name.

    open_sizes: for a flat input, the dimensions whose size is symbolic, or OPEN.
    """
    numbers: Any = [_Leaf(i) for i in range(len(inputs.leaves))]
    places, keywords = inputs.unflatten(numbers, _Foreign)
    walk.guards.append(Guard("arguments", None, len(inputs.args)))
    walk.guards.append(Guard("keywords", None, frozenset(inputs.kwargs)))
    rows: list[tuple[str, Any, Any, Any]] = [("argument", i, value, places[i]) for i, value in enumerate(inputs.args)]
    rows += [("keyword", name, value, keywords[name]) for name, value in inputs.kwargs.items()]
    sources: dict[str, Source] = {}
    for name, (step, key, value, place) in zip(inputs.arg_names, rows):
        sources[name] = root(step, key, f"L[{name!r}]")
        _Guarding(walk, inputs, open_sizes).value(value, place, sources[name])
    return sources


class _Guarding:
    def __init__(self, walk: Walk, inputs: FlatInputs, open_sizes: Mapping[int, Any]) -> None:
        self.walk = walk
        self.inputs = inputs
        self.open_sizes = open_sizes
        self._lost: frozenset[tuple[int, Any]] = inputs.restored.lost_places(inputs) if inputs.restored else frozenset()

    def value(self, value: Any, place: Any, source: Source) -> None:
        """Guard one value, with its placeholder in the tree of leaves."""
        if isinstance(place, _Leaf):
            self._leaf(value, self.open_sizes.get(place.number, ()), source)
        elif isinstance(place, _Foreign):
            numbers = {id(leaf): n for n in place.numbers if is_tensor(leaf := self.inputs.leaves[n])}
            varies = any(self.open_sizes.get(n) for n in place.numbers)
            self._foreign(value, numbers, varies, source, set())
        elif is_tensor(value) or is_atom(value):
            self.walk.place(value, source, None)
        else:
            self._container(value, place, source)

    def _foreign(self, value: Any, numbers: Mapping[int, int], varies: bool, source: Source, seen: set[int]) -> None:
        """A container that registered functions make: the inputs in it, and the constants that they restore.

        numbers: the flat inputs, by id. varies: some have symbolic sizes, which a number in it may be derived from.
        """
        if is_changeable(type(value)):
            self.walk.visit(type(value), self.walk.constant(type(value)), None)
        self.walk.add("type", source, type(value), None)
        seen.add(id(value))
        namespace = classes.instance_dict(value) or {}
        below = self.walk.dict_of(value, source) if namespace else source
        rows: list[tuple[Any, Any, Any, Any]] = [(below, "item", name, part) for name, part in namespace.items()]
        step = item_step(value)
        if isinstance(value, dict) and step is not None:
            rows += [(source, step, key, dict.__getitem__(value, key)) for key in dict.keys(value)]
        elif isinstance(value, (list, tuple, collections.deque)) and step is not None:
            rows += [(source, step, index, part) for index, part in enumerate(keys_and_items(value))]
        for parent, kind, key, part in rows:
            number = numbers.get(id(part))
            if number is not None and is_tensor(part):
                self._leaf(part, self.open_sizes.get(number, ()), self.walk.child(parent, kind, key))
            elif is_tensor(part) or (id(value), key) in self._lost or (varies and type(part) in (int, float)):
                continue
            elif is_atom(part):
                self.walk.place(part, self.walk.child(parent, kind, key), None)
            elif _has_parts(part) and id(part) not in seen:
                self._foreign(part, numbers, varies, self.walk.child(parent, kind, key), seen)

    def _leaf(self, value: Any, open_sizes: Any, source: Source) -> None:
        if is_tensor(value):
            self.walk.add("tensor", source, facts_of(value, dynamic=tuple(open_sizes)), None)
            for name, site in self.walk.reads.reads_of_fakes.items():
                self.walk.attribute_of_tensor(value, source, name, site)
        elif open_sizes is OPEN:
            self.walk.add("type", source, type(value), None)
        else:
            self.walk.place(value, source, None)

    def _container(self, value: Any, place: Any, source: Source) -> None:
        walk, kind = self.walk, type(value)
        if is_changeable(kind):
            walk.visit(kind, walk.constant(kind), None)
        walk.add("type", source, kind, None)
        step = item_step(value)
        if isinstance(value, dict) and step is not None:
            walk.add("keys", source, list(dict.keys(value)), None)
            for key in dict.keys(value):
                self.value(dict.__getitem__(value, key), place[key], walk.child(source, step, key))
        elif isinstance(value, (list, tuple, collections.deque)) and step is not None:
            items = keys_and_items(value)
            walk.add("length", source, len(items), None)
            for index, (item, at) in enumerate(zip(items, place)):
                self.value(item, at, walk.child(source, step, index))
        elif step is None and not is_changeable(kind):
            walk.place(value, source, None)
        self._attributes(value, place, source)

    def _attributes(self, value: Any, place: Any, source: Source) -> None:
        namespace, places = classes.instance_dict(value), classes.instance_dict(place)
        if namespace is None or places is None:
            return
        below = self.walk.dict_of(value, source)
        self.walk.add("keys", below, list(namespace), None)
        for name, item in namespace.items():
            self.value(item, places.get(name), self.walk.child(below, "item", name))
