"""A dynamic_shapes specification along the inputs of a call: the part of it for each leaf, and its location.

The language is torch.export's (torch/export/dynamic_shapes.py, 2.15): by argument name or by position, in the structure
of the inputs. Beyond it, None means a whole static subtree, and a container other than a list or dict may be described
by a list of its children, by a dict of its attributes or fields, or by an object of its own class.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dynamo_lite.program.trees.inputs import FlatInputs
from dynamo_lite.torch_internals._torch_pytree import pytree

_SEQUENCES = (list, tuple, deque)


@dataclass(frozen=True)
class SpecPlace:
    """A location in the user's specification: `dynamic_shapes['x'][0]`.

    `assignable`: whether an assignment to it can be executed (no tuple holds it, and the user has written it so).
    `derived_from`: see `DerivedSpecs`.
    """

    text: str = "dynamic_shapes"
    assignable: bool = True
    derived_from: str = ""

    def step(self, container: Any, accessor: str) -> SpecPlace:
        """A part of the `container` at this location."""
        assignable = not (self.derived_from or isinstance(container, tuple))
        return SpecPlace(self.text + accessor, assignable, self.derived_from)

    def __str__(self) -> str:
        return self.text


class DerivedSpecs(dict[str, Any]):
    """A specification by argument name that is derived from another input of the user: `of` is "collection" (the names
    of its Dims are the user's) or "constraints" (its Dims are ours)."""

    def __init__(self, specs: Mapping[str, Any], of: str) -> None:
        super().__init__(specs)
        self.of = of


@dataclass(frozen=True)
class Argument:
    """A top-level argument of the call: a parameter's name, and the place in it for `*args` and `**kwargs`."""

    parameter: str
    kind: inspect._ParameterKind
    key: int | str | None = None


@dataclass
class ShapeTree:
    """The specification of each leaf.

    Attributes:
        given: for each leaf the user's entry for it; None if there is none.
        places: for each leaf the location of that.
        problems: entries that do not fit, each with its location.
        written: whether there is a specification at all (marks on tensors count only if there is none).
    """

    given: list[Any] = field(default_factory=list)
    places: list[SpecPlace] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    written: bool = False


def lay_along(inputs: FlatInputs, specs: Any) -> ShapeTree:
    """The specification along `inputs.leaves`. Nothing is raised: what does not fit is in `problems`."""
    return _SpecWalk(inputs).walk(specs)


def arguments(signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Argument]:
    """The top-level arguments of a call, positional ones first; the call need not fit."""
    slots: list[Argument] = []
    positional = [p for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = _of_kind(signature, inspect.Parameter.VAR_POSITIONAL) or "args"
    for i in range(len(args)):
        if i < len(positional):
            slots.append(Argument(positional[i].name, positional[i].kind))
        else:
            slots.append(Argument(rest, inspect.Parameter.VAR_POSITIONAL, i - len(positional)))
    options = _of_kind(signature, inspect.Parameter.VAR_KEYWORD)
    named = {p.name for p in signature.parameters.values() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    for name in kwargs:
        if name in named or options is None:
            slots.append(Argument(name, inspect.Parameter.KEYWORD_ONLY))
        else:
            slots.append(Argument(options, inspect.Parameter.VAR_KEYWORD, name))
    return slots


def parameter_order(signature: inspect.Signature, slots: Sequence[Argument]) -> list[str]:
    """The parameters that the call gives, in the order of the signature, as a specification by position."""
    order = {name: i for i, name in enumerate(signature.parameters)}
    return sorted(dict.fromkeys(s.parameter for s in slots), key=lambda name: order.get(name, len(order)))


def _of_kind(signature: inspect.Signature, kind: inspect._ParameterKind) -> str | None:
    return next((p.name for p in signature.parameters.values() if p.kind is kind), None)


class _SpecWalk:
    """One pass over the tree of inputs, in the order of its leaves, with the specification beside it."""

    def __init__(self, inputs: FlatInputs) -> None:
        self.inputs = inputs
        self.signature = inputs.signature
        self.slots = arguments(self.signature, inputs.args, inputs.kwargs)
        self.tree = ShapeTree()
        self.paths: list[Any] = []
        self.leaf = 0
        self.at_top: dict[int | str | None, SpecPlace] = {}
        """Keywords that **kwargs takes and the specification names at its top."""

    def walk(self, specs: Any) -> ShapeTree:
        top = self._top(specs)
        by_name = {name: [s for s in self.slots if s.parameter == name] for name in top}
        positional, keywords = self.inputs.spec.children()
        self.paths = self.inputs.paths
        for slot, tree in zip(self.slots, [*positional.children(), *keywords.children()]):
            given, place = top.get(slot.parameter, (None, SpecPlace()))
            if slot.key is not None:
                given, place = self._variadic(slot, by_name.get(slot.parameter, []), given, place)
            self._node(tree, given, place, 2)
        return self.tree

    # -- the arguments ---------------------------------------------------------------------------------------------
    def _top(self, specs: Any) -> dict[str, tuple[Any, SpecPlace]]:
        """The entry for each parameter that the call gives."""
        names = parameter_order(self.signature, self.slots)
        here = SpecPlace(derived_from=specs.of if isinstance(specs, DerivedSpecs) else "")
        if specs is None or (isinstance(specs, (dict, list, tuple)) and not specs):
            return {}
        self.tree.written = True
        if isinstance(specs, dict):
            by_name = self._folded(specs, names, here)
            self._check_names(by_name, names)
            return {n: (by_name[n], here.step(specs, f"[{n!r}]")) for n in names if n in by_name}
        if isinstance(specs, (list, tuple)):
            if len(specs) != len(names):
                self._problem(here, f"describes {len(specs)} arguments by position; the call gives {len(names)} "
                                    f"({', '.join(names)})")
            return {n: (s, here.step(specs, f"[{i}]")) for i, (n, s) in enumerate(zip(names, specs))}
        self._problem(here, f"is a {_kind(specs)}: give a dict by argument name, or a tuple or list by position")
        return {}

    def _folded(self, specs: Mapping[Any, Any], names: Sequence[str], here: SpecPlace) -> Mapping[Any, Any]:
        """Keywords that **kwargs takes, named at the top as torch 2.15 allows, under the parameter's own name."""
        keywords = [s for s in self.slots if s.kind is inspect.Parameter.VAR_KEYWORD]
        self.at_top = {s.key: here.step(specs, f"[{s.key!r}]") for s in keywords
                       if s.key in specs and s.key not in names}
        if not self.at_top:
            return specs
        parameter = keywords[0].parameter
        nested = specs.get(parameter, {})
        if not isinstance(nested, dict):
            self._problem(here, f"has {_listed([*self.at_top])} beside {parameter!r}, which is {_described(nested)}: "
                                f"give all keywords that **{parameter} takes in one of the two forms")
            nested = {}
        for key in [key for key in self.at_top if key in nested]:
            self._problem(here, f"has {key!r} twice: as dynamic_shapes[{key!r}] and as "
                                f"dynamic_shapes[{parameter!r}][{key!r}]")
        given = {**nested, **{key: specs[key] for key in self.at_top}}
        missing = [s.key for s in keywords if s.key not in given]
        if missing:
            self._problem(here, f"states nothing about {_listed(missing)}: name every argument (None: all its "
                                "sizes are static)")
        rest = {key: value for key, value in specs.items() if key not in self.at_top}
        return {**rest, parameter: {**given, **dict.fromkeys(missing)}}

    def _check_names(self, specs: Mapping[Any, Any], names: Sequence[str]) -> None:
        unknown = [k for k in specs if k not in names]
        missing = [n for n in names if n not in specs]
        if unknown and missing and len(names) == 1 and isinstance(self._values().get(names[0]), dict):
            self._problem(
                SpecPlace(),
                f"describes the inside of the argument {names[0]!r}: enclose it in a tuple, or in "
                f"{{{names[0]!r}: ...}}",
            )
            return
        for key in unknown:
            if key in self.signature.parameters:
                self._problem(SpecPlace(), f"has {key!r}, which the call does not give")
            else:
                known = f"the arguments: {', '.join(names)}"
                self._problem(SpecPlace(), f"has {key!r}: there is no such argument ({known})")
        if missing:
            unnamed = ", ".join(map(repr, missing))
            self._problem(
                SpecPlace(), f"states nothing about {unnamed}: name every argument (None: all its sizes are static)"
            )

    def _values(self) -> dict[str, Any]:
        values = (*self.inputs.args, *self.inputs.kwargs.values())
        return {slot.parameter: value for slot, value in zip(self.slots, values)}

    def _variadic(
        self, slot: Argument, all_of_it: Sequence[Argument], given: Any, place: SpecPlace
    ) -> tuple[Any, SpecPlace]:
        """The part that is about one element of *args or **kwargs. The whole is checked with the first of them."""
        keys = [s.key for s in all_of_it]
        is_first = bool(keys) and slot.key == keys[0]
        if given is None:
            return None, place
        if slot.kind is inspect.Parameter.VAR_POSITIONAL:
            fits = isinstance(given, (list, tuple)) and len(given) == len(keys)
            wanted = f"a tuple or list with an entry for each of the {len(keys)} arguments that *{slot.parameter} takes"
        else:
            fits = isinstance(given, dict) and set(given) == set(keys)
            wanted = f"a dict with the keys that **{slot.parameter} takes ({', '.join(map(repr, keys))})"
        if fits:
            return given[slot.key], self.at_top.get(slot.key) or place.step(given, f"[{slot.key!r}]")
        if is_first:
            self._problem(place, f"is {_described(given)}: give {wanted}")
        return None, place

    # -- inside an argument ------------------------------------------------------------------------------------------
    def _node(self, tree: pytree.TreeSpec, given: Any, place: SpecPlace, depth: int) -> None:
        if tree.is_leaf():
            self.tree.given.append(given)
            self.tree.places.append(place)
            self.leaf += 1
            return
        children = tree.children()
        parts: list[tuple[Any, SpecPlace]] = [(None, place)] * len(children)
        if given is not None:
            try:
                parts = list(self._parts(tree, given, place, depth))
            except _Misfit as misfit:
                self._problem(place, str(misfit))
        for child, (part, where) in zip(children, parts):
            self._node(child, part, where, depth + 1)

    def _parts(
        self, tree: pytree.TreeSpec, given: Any, place: SpecPlace, depth: int
    ) -> Iterator[tuple[Any, SpecPlace]]:
        """The entry for each child of a container. _Misfit if the description has another structure."""
        cls, count = tree.type, len(tree.children())
        if cls in (dict, OrderedDict, defaultdict):
            keys = list(tree.context[1] if cls is defaultdict else tree.context)
            return _by_key(given, keys, place, f"{cls.__name__} with the keys {_listed(keys)}")
        if cls in _SEQUENCES:
            return _by_index(given, count, place, f"{cls.__name__} of {count}")
        return self._object_parts(tree, given, place, depth)

    def _object_parts(self, tree: pytree.TreeSpec, given: Any, place: SpecPlace,
                      depth: int) -> Iterator[tuple[Any, SpecPlace]]:
        fields = getattr(tree.context, "_fields", None)  # a named tuple: torch keeps its class in the context
        cls = tree.type if fields is None else tree.context
        keys = self._child_keys(tree, depth) if fields is None else [pytree.GetAttrKey(name) for name in fields]
        names = [_key_name(key) for key in keys]
        what = f"{getattr(cls, '__name__', cls)} whose tensors are in {_listed(names)}"
        if isinstance(cls, type) and isinstance(given, cls) and type(given) not in (list, tuple, dict):
            return _by_part(given, keys, place)
        numbers = self._numbers(tree, names)  # they may be left out: most of them are constants
        if isinstance(given, dict):
            said = {key: spec for key, spec in given.items() if spec is not None or key in names}
            return _by_key({**dict.fromkeys(numbers), **said}, names, place, what)
        if numbers and isinstance(given, _SEQUENCES) and len(given) == len(keys) - len(numbers):
            said = dict(zip([name for name in names if name not in numbers], given))
            return iter([(said.get(name), place) for name in names])
        return _by_index(given, len(keys), place, what)

    def _numbers(self, tree: pytree.TreeSpec, names: Sequence[Any]) -> list[Any]:
        """The children of an object that are ints."""
        found: list[Any] = []
        leaf = self.leaf
        for name, child in zip(names, tree.children()):
            if child.is_leaf() and type(self.inputs.leaves[leaf]) is int:
                found.append(name)
            leaf += child.num_leaves
        return found

    def _child_keys(self, tree: pytree.TreeSpec, depth: int) -> list[Any]:
        """The pytree key of each child, read off the path of its first leaf; its index if it has no leaf."""
        keys: list[Any] = []
        leaf = self.leaf
        for i, child in enumerate(tree.children()):
            keys.append(self.paths[leaf][depth] if child.num_leaves else pytree.SequenceKey(i))
            leaf += child.num_leaves
        return keys

    def _problem(self, place: SpecPlace, what: str) -> None:
        self.tree.problems.append(f"{place} {what}")


class _Misfit(Exception):
    """A description has another structure than its object."""


def _by_key(given: Any, keys: Sequence[Any], place: SpecPlace, what: str) -> Iterator[tuple[Any, SpecPlace]]:
    if not isinstance(given, dict):
        raise _Misfit(f"is {_described(given)}, and the input there is a {what}")
    missing, unknown = [k for k in keys if k not in given], [k for k in given if k not in keys]
    if missing or unknown:
        parts = [f"lacks {_listed(missing)}"] if missing else []
        parts += [f"has {_listed(unknown)} beyond it"] if unknown else []
        raise _Misfit(f"{' and '.join(parts)}; the input there is a {what}")
    return iter([(given[k], place.step(given, f"[{k!r}]")) for k in keys])


def _by_index(given: Any, count: int, place: SpecPlace, what: str) -> Iterator[tuple[Any, SpecPlace]]:
    if not isinstance(given, _SEQUENCES):
        raise _Misfit(f"is {_described(given)}, and the input there is a {what}")
    if len(given) != count:
        raise _Misfit(f"has {len(given)} entries, and the input there is a {what}")
    return iter([(part, place.step(given, f"[{i}]")) for i, part in enumerate(given)])


def _by_part(given: Any, keys: Sequence[Any], place: SpecPlace) -> Iterator[tuple[Any, SpecPlace]]:
    """The parts of an object of the same class as the input."""
    parts = []
    for key in keys:
        try:
            part = key.get(given)
        except (AttributeError, KeyError, IndexError, TypeError):
            raise _Misfit(f"is {_described(given)} without {_key_name(key)!r}, which the input has") from None
        parts.append((part, place.step(given, pytree.keystr((key,)))))
    return iter(parts)


def _key_name(key: Any) -> Any:
    return next((getattr(key, a) for a in ("key", "name", "idx") if hasattr(key, a)), key)


def _listed(names: Sequence[Any]) -> str:
    return ", ".join(map(repr, names)) if names else "nothing"


def _kind(value: Any) -> str:
    return type(value).__name__


def _described(value: Any) -> str:
    """The value at a location, short: `the tuple (None, 3)`."""
    text = repr(value)
    return f"the {_kind(value)} {text if len(text) < 60 else text[:57] + '...'}"


__all__ = ["Argument", "DerivedSpecs", "SpecPlace", "ShapeTree", "arguments", "lay_along", "parameter_order"]
