"""The surface of torch 2.1: `dynamic_dim(x, 0) <= 8` in a list of constraints, and ranges of values in the program.

    dynamo_lite.export(f, (x, y), constraints=[2 <= dynamic_dim(x, 0) <= 8, dynamic_dim(x, 0) == dynamic_dim(y, 1)])

Each dimension in the list becomes a named Dim: it takes every size of its range, and all that are equal share one. New
code should use `dynamic_shapes`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from dynamo_lite.errors import InvalidArguments
from dynamo_lite.program.shapes.spec_tree import DerivedSpecs, arguments
from dynamo_lite.symbolic_shapes.dims.specs import InvalidSpec, Named
from dynamo_lite.symbolic_shapes.expressions.expr import INF, Extended
from dynamo_lite.torch_internals._torch_pytree import pytree


@dataclass(frozen=True, eq=False)
class DimConstraint:
    """`lo <= tensor.shape[dim] <= hi`, and equal to `same_as` if that is given. Made by `dynamic_dim` and comparisons.
    """

    tensor: torch.Tensor
    dim: int
    lo: Extended = 0
    hi: Extended = INF
    same_as: DimConstraint | None = None

    def __ge__(self, lower: int) -> DimConstraint:
        return self._within(_bound(lower), INF)

    def __gt__(self, lower: int) -> DimConstraint:
        return self._within(_bound(lower) + 1, INF)

    def __le__(self, upper: int) -> DimConstraint:
        return self._within(0, _bound(upper))

    def __lt__(self, upper: int) -> DimConstraint:
        return self._within(0, _bound(upper) - 1)

    def __eq__(self, other: object) -> DimConstraint:  # type: ignore[override]
        if isinstance(other, int) and not isinstance(other, bool):
            return self._within(other, other)
        if not isinstance(other, DimConstraint):
            raise InvalidArguments(f"a dynamic_dim is equal to a number or another dynamic_dim, not to {other!r}")
        return DimConstraint(self.tensor, self.dim, self.lo, self.hi, other)

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        """For `2 <= d <= 8`, which Python reads as `(2 <= d) and (d <= 8)`: the first half is kept for the second."""
        _first_half[:] = [self]
        return True

    def _within(self, lo: Extended, hi: Extended) -> DimConstraint:
        first = _first_half.pop() if _first_half else self
        if first.tensor is not self.tensor or first.dim != self.dim:
            first = self
        return DimConstraint(self.tensor, self.dim, max(self.lo, first.lo, lo), min(self.hi, first.hi, hi),
                             self.same_as or first.same_as)


_first_half: list[DimConstraint] = []
"""Of the chained comparison that is being evaluated; at most one."""


def dynamic_dim(tensor: torch.Tensor, dim: int) -> DimConstraint:
    """The size `tensor.shape[dim]` of an input, as something that may vary. InvalidArguments if there is none."""
    if not isinstance(tensor, torch.Tensor):
        raise InvalidArguments(f"dynamic_dim needs a tensor that is an input, not a {type(tensor).__name__}")
    if type(dim) is not int or not 0 <= dim < tensor.dim():
        raise InvalidArguments(f"{dim!r} is not a dimension of a tensor of shape {list(tensor.shape)}")
    return DimConstraint(tensor, dim)


def _bound(value: Any) -> int:
    if type(value) is not int:
        raise InvalidArguments(f"a dynamic_dim is compared with ints, not with {value!r}")
    return value


# -- in the plain form -------------------------------------------------------------------------------------------------
def specs_of(constraints: Iterable[DimConstraint], signature: inspect.Signature, args: tuple[Any, ...],
             kwargs: Mapping[str, Any]) -> Any:
    """The constraints as a dynamic_shapes dict. InvalidArguments if one is not a constraint on an input of the call."""
    dims = _Classes()
    for constraint in constraints:
        if not isinstance(constraint, DimConstraint):
            raise InvalidArguments(f"constraints holds {constraint!r}: give dynamic_dim(x, i) and comparisons of it")
        dims.add(constraint)
    names: dict[str, Any] = {}
    for slot, value in zip(arguments(signature, args, kwargs), [*args, *kwargs.values()]):
        spec = pytree.tree_map(dims.spec, value)
        if slot.key is None:
            names[slot.parameter] = spec
        elif isinstance(slot.key, int):
            names.setdefault(slot.parameter, []).append(spec)
        else:
            names.setdefault(slot.parameter, {})[slot.key] = spec
    dims.check_used()
    return DerivedSpecs(names, "constraints")


class _Classes:
    """Classes of equal dimensions, each with a range and a name."""

    def __init__(self) -> None:
        self.parent: dict[tuple[int, int], tuple[int, int]] = {}
        self.ranges: dict[tuple[int, int], tuple[Extended, Extended]] = {}
        self.tensors: dict[int, torch.Tensor] = {}
        self.used: set[int] = set()
        self.names: dict[tuple[int, int], str] = {}

    def add(self, constraint: DimConstraint) -> None:
        key = self._root(self._key(constraint))
        self._narrow(key, constraint.lo, constraint.hi)
        if constraint.same_as is not None:
            self.add(constraint.same_as)
            other = self._root(self._key(constraint.same_as))
            key = self._root(key)
            if other != key:
                self.parent[other] = key
                self._narrow(key, *self.ranges[other])

    def _key(self, constraint: DimConstraint) -> tuple[int, int]:
        self.tensors[id(constraint.tensor)] = constraint.tensor
        return id(constraint.tensor), constraint.dim

    def _root(self, key: tuple[int, int]) -> tuple[int, int]:
        while self.parent.setdefault(key, key) != key:
            key = self.parent[key]
        return key

    def _narrow(self, key: tuple[int, int], lo: Extended, hi: Extended) -> None:
        old_lo, old_hi = self.ranges.get(key, (0, INF))
        self.ranges[key] = max(old_lo, lo), min(old_hi, hi)

    def spec(self, leaf: Any) -> Any:
        """The specification of a leaf of the inputs."""
        if id(leaf) not in self.tensors:
            return None
        self.used.add(id(leaf))
        own = [key for key in sorted(self.parent) if key[0] == id(leaf)]
        return {dim: self._named(self._root((tensor, dim))) for tensor, dim in own}

    def _named(self, root: tuple[int, int]) -> Named | int:
        name = self.names.setdefault(root, f"_dim{len(self.names)}")
        lo, hi = self.ranges[root]
        if lo == hi:
            return int(lo)
        try:
            return Named(name, lo, hi)
        except InvalidSpec as error:
            shape = list(self.tensors[root[0]].shape)
            raise InvalidArguments(f"the constraints on dimension {root[1]} of the tensor of shape {shape} leave no "
                                   f"size: {lo} <= size <= {hi}") from error

    def check_used(self) -> None:
        unused = [t for i, t in self.tensors.items() if i not in self.used]
        if unused:
            raise InvalidArguments("constraints speak of tensors that are not among the inputs: "
                                   + ", ".join(f"one of shape {list(t.shape)}" for t in unused))


# -- in the program ----------------------------------------------------------------------------------------------------
def constrain_as_value(symbol: Any, min: int | None = None, max: int | None = None) -> None:
    """Constrains an unbacked number in a program (`x.item()`) to [min, max]; checked at run time."""
    if min is not None:
        torch._check(symbol >= min, lambda: f"constrain_as_value: {symbol} is less than {min}")
    if max is not None:
        torch._check(symbol <= max, lambda: f"constrain_as_value: {symbol} is more than {max}")


def constrain_as_size(symbol: Any, min: int | None = None, max: int | None = None) -> None:
    """As `constrain_as_value`, for a number that is used as a size: it is not negative either."""
    torch._check(symbol >= 0, lambda: f"constrain_as_size: {symbol} is negative")
    constrain_as_value(symbol, min, max)


__all__ = ["DimConstraint", "constrain_as_size", "constrain_as_value", "dynamic_dim", "specs_of"]
