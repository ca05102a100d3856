"""Whether a call certainly fits the example's inputs: the answer for those that do, in a microsecond.

It handles plain tensors and constants in tuples, lists and dicts. Other values, and those that do not fit, are left to
the whole check, which reports the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from dynamo_lite.program.trees.wrapper_inputs import is_wrapper
from dynamo_lite.torch_internals._torch_pytree import pytree

Fits = Callable[[Any, list[Any]], bool]
"""Whether a part fits; appends its leaves."""
QuickFit = Callable[[tuple[Any, ...], Mapping[str, Any]], list[Any] | None]
"""(args, kwargs) → the leaves of a call that fits; None if that is not sure."""

_PLAIN = (torch.Tensor, torch.nn.Parameter)
_COMPARED = (bool, int, str, type(None))


def quick_fit(spec: pytree.TreeSpec, expected: list[Any], dtypes_matter: bool) -> QuickFit:
    """`spec` is that of (args, kwargs), `expected` the leaves: FakeTensors, symbolic sizes and constants."""
    positional, keywords = spec.children()
    leaves = iter(expected)
    parts = [_part(child, leaves, dtypes_matter) for child in positional.children()]
    named = [(key, _part(child, leaves, dtypes_matter)) for key, child in _entries(keywords)]

    def fit(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any] | None:
        if len(args) != len(parts) or len(kwargs) != len(named):
            return None
        found: list[Any] = []
        for part, given in zip(parts, args):
            if not part(given, found):
                return None
        for key, part in named:
            if key not in kwargs or not part(kwargs[key], found):
                return None
        return found

    return fit


def _entries(spec: pytree.TreeSpec) -> Iterator[tuple[Any, pytree.TreeSpec]]:
    return zip(spec.context or (), spec.children())


def _part(spec: pytree.TreeSpec, leaves: Iterator[Any], dtypes_matter: bool) -> Fits:
    if spec.is_leaf():
        return _leaf(next(leaves), dtypes_matter)
    cls = spec.type
    if cls is dict:
        if any(type(key) is not str for key, _ in _entries(spec)):
            return _unknown_part(spec, leaves, dtypes_matter)  # 1, 1.0 and True are equal, and not the same
        return _dict([(key, _part(child, leaves, dtypes_matter)) for key, child in _entries(spec)])
    parts = [_part(child, leaves, dtypes_matter) for child in spec.children()]
    return _sequence(cls, parts) if cls in (tuple, list) else _unknown


def _unknown_part(spec: pytree.TreeSpec, leaves: Iterator[Any], dtypes_matter: bool) -> Fits:
    for child in spec.children():
        _part(child, leaves, dtypes_matter)  # takes its leaves
    return _unknown


def _unknown(given: Any, found: list[Any]) -> bool:
    return False


def _sequence(cls: Any, parts: list[Fits]) -> Fits:
    def fits(given: Any, found: list[Any]) -> bool:
        return (
            type(given) is cls
            and len(given) == len(parts)
            and all(part(value, found) for part, value in zip(parts, given))
        )

    return fits


def _dict(parts: list[tuple[Any, Fits]]) -> Fits:
    keys = [key for key, _ in parts]

    def fits(given: Any, found: list[Any]) -> bool:
        return (
            type(given) is dict
            and [*given] == keys
            and all(type(key) is str for key in given)
            and all(part(given[key], found) for key, part in parts)
        )

    return fits


def _leaf(expected: Any, dtypes_matter: bool) -> Fits:
    if isinstance(expected, torch.Tensor):
        return _unknown if is_wrapper(expected) else _tensor(expected, dtypes_matter)
    if isinstance(expected, torch.SymInt):
        return _of_type(int)
    if type(expected) in _COMPARED:
        return _constant(expected)
    return _unknown


def _of_type(kind: type) -> Fits:
    def fits(given: Any, found: list[Any]) -> bool:
        found.append(given)
        return type(given) is kind

    return fits


def _constant(expected: Any) -> Fits:
    kind = type(expected)

    def fits(given: Any, found: list[Any]) -> bool:
        found.append(given)
        return type(given) is kind and given == expected

    return fits


def _tensor(expected: torch.Tensor, dtypes_matter: bool) -> Fits:
    dtype, rank = expected.dtype, expected.dim()
    fixed = [(dim, size) for dim, size in enumerate(expected.shape) if type(size) is int]
    whole = torch.Size([size for _, size in fixed]) if len(fixed) == rank else None

    def fits(given: Any, found: list[Any]) -> bool:
        if type(given) not in _PLAIN or (dtypes_matter and given.dtype is not dtype):
            return False
        found.append(given)
        shape = given.shape
        if whole is not None:
            return bool(shape == whole)
        return len(shape) == rank and all(shape[dim] == size for dim, size in fixed)

    return fits
