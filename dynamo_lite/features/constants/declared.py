"""From the option `constants` to the inputs that it names.

`constants={"grid": None}`, `{"batch": {"grid": None}}` with the keys, indices or attributes of containers, or the names
alone: `("grid", "batch['grid']")`. A name stands for everything in it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from dynamo_lite.capture._torch import FakeTensor
from dynamo_lite.capture.constant_values import of_its_own
from dynamo_lite.errors import InvalidArguments
from dynamo_lite.program import FlatInputs
from dynamo_lite.program.shapes import value_guards
from dynamo_lite.program.shapes.input_dims import paths_of
from dynamo_lite.program.shapes.size_check import ambiguous
from dynamo_lite.program.trees.paths import path_in_words

_FORMS = 'a dict of arguments, {"grid": None} or {"batch": {"grid": None}}, or a sequence of names'


def declare(inputs: FlatInputs, constants: Any) -> None:
    """Set `inputs.fixed`: the number of each tensor input that `constants` names → a copy of its value, and its guard.

    Raises InvalidArguments for an unknown name, and for a tensor whose data no guard can be about. Other arguments
    than tensors are constants of the program anyway.
    """
    found: set[int] = set()
    if isinstance(constants, Mapping):
        _select(inputs, _by_argument(inputs, constants), range(len(inputs.leaves)), 0, "", found)
    else:
        for name in _names(constants):
            found |= _named(inputs, name)
    inputs.constants = frozenset(found)
    tensors = [n for n in sorted(found) if isinstance(inputs.leaves[n], torch.Tensor)]
    values = {n: _value(inputs, n) for n in tensors}
    inputs.fixed = {n: (value, _guard(inputs, n, value)) for n, value in values.items()}
    if inputs.fixed and ambiguous(inputs.key_paths):
        names = ", ".join(map(path_in_words, inputs.key_paths))
        raise InvalidArguments(f"constants: a guard cannot name the inputs {names} unambiguously; rename one")


def _names(constants: Any) -> Iterable[str]:
    names = (constants,) if isinstance(constants, str) else constants
    if not isinstance(names, (Sequence, set, frozenset)) or not all(isinstance(name, str) for name in names):
        raise InvalidArguments(f"constants must be {_FORMS}; not {constants!r:.100}")
    return names


def _by_argument(inputs: FlatInputs, constants: Mapping[Any, Any]) -> dict[Any, Any]:
    """With the arguments of `*args` and `**kwargs` by their own names."""
    plain: dict[Any, Any] = {}
    for name, rest in constants.items():
        kind = getattr(inputs.signature.parameters.get(name), "kind", None)
        if kind is inspect.Parameter.VAR_POSITIONAL and name not in inputs.arg_names:
            count = sum(one.startswith(f"{name}_") for one in inputs.arg_names)
            parts = {f"{name}_{i}": None for i in range(count)} if rest is None else _parts(name, rest)
            plain |= {key if rest is None else f"{name}_{key}": value for key, value in parts.items()}
        elif kind is inspect.Parameter.VAR_KEYWORD and isinstance(rest, Mapping):
            plain |= rest
        else:
            plain[name] = rest
    return plain


def _parts(where: str, rest: Any) -> Mapping[Any, Any]:
    if isinstance(rest, Mapping):
        return rest
    raise InvalidArguments(f"constants[{where!r}] must be None, or a dict of its parts; not {rest!r:.100}")


def _select(
    inputs: FlatInputs, wanted: Mapping[Any, Any], among: Iterable[int], depth: int, where: str, found: set[int]
) -> None:
    """Add the numbers of the inputs that `wanted` names, among those whose path begins at `where`."""
    parts: dict[Any, list[int]] = {}
    for number in among:
        path = inputs.key_paths[number]
        if len(path) > depth:
            parts.setdefault(_key(path[depth]), []).append(number)
    for key, rest in wanted.items():
        if key not in parts:
            if not depth and key in inputs.arg_names:
                continue  # an empty container
            raise _unknown(f"{where}[{key!r}]" if where else repr(key), map(str, parts), where)
        if rest is None:
            found.update(parts[key])
        else:
            inside = f"{where}[{key!r}]" if where else str(key)
            _select(inputs, _parts(inside, rest), parts[key], depth + 1, inside, found)


def _key(step: Any) -> Any:
    return next(getattr(step, name) for name in ("key", "idx", "name") if hasattr(step, name))


def _named(inputs: FlatInputs, name: str) -> set[int]:
    words = [*map(path_in_words, inputs.key_paths)]
    found = {n for n, word in enumerate(words) if word == name or word.startswith((f"{name}.", f"{name}["))}
    if not found and name not in inputs.arg_names:
        raise _unknown(repr(name), words, "")
    return found


def _unknown(what: str, names: Iterable[str], where: str) -> InvalidArguments:
    of = f"the parts of {where}" if where else "its arguments"
    known = ", ".join(names) or "none"
    return InvalidArguments(f"constants: {what} is not an argument of the program; {of} are {known}")


def _value(inputs: FlatInputs, number: int) -> torch.Tensor:
    """A copy of a tensor input. Raises InvalidArguments."""
    tensor, name = inputs.leaves[number], path_in_words(inputs.key_paths[number])
    why = _unfit(tensor)
    if why is not None:
        raise InvalidArguments(f"constants: the input {name} {why}")
    with torch.no_grad():
        return of_its_own(tensor)


def _guard(inputs: FlatInputs, number: int, value: torch.Tensor) -> str:
    return value_guards.text_of(paths_of(inputs)[number], path_in_words(inputs.key_paths[number]), value)


def _unfit(tensor: torch.Tensor) -> str | None:
    if isinstance(tensor, FakeTensor) or tensor.is_meta:
        return "has no data: give a real tensor in the example"
    if type(tensor) not in (torch.Tensor, nn.Parameter):
        return f"is a {type(tensor).__qualname__}; only plain tensors are given by value"
    if tensor.layout is not torch.strided or tensor.is_nested or not value_guards.is_comparable(tensor.dtype):
        return f"has the layout {tensor.layout} and the dtype {tensor.dtype}, whose values no guard compares"
    if tensor.numel() > value_guards.MOST_ELEMENTS:
        most = value_guards.MOST_ELEMENTS
        return f"has {tensor.numel():,} elements; a guard compares at most {most:,}. Make it a buffer of the module"
    return None
