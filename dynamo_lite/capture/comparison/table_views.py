"""Views of tables: which dimensions of the result are which of the argument's, and which views are first rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

from dynamo_lite.capture.alias_analysis import same_as

aten = torch.ops.aten
Dims = frozenset[int]
"""Dimensions of a tensor along which its length is left out."""


class Unstable(Exception):
    """A row depends on more than itself, or is not known not to."""


def rank_of(node: Any) -> int:
    val = node.meta.get("val") if isinstance(node, fx.Node) else None
    if not isinstance(val, torch.Tensor):
        raise Unstable
    return val.dim()


def is_one(size: Any) -> bool:
    return type(size) is int and size == 1


def are_same(one: Any, other: Any) -> bool:
    """Whether two sizes are the same expression. Compares no values."""
    if type(one) is int or type(other) is int:
        return type(one) is type(other) and one == other
    return bool(one.node.core is other.node.core)


class ViewMap:
    """Maps a view's dimensions to its base's: `source[i]` is the base's dimension; -1 for none, or for a part."""

    def __init__(self, base: fx.Node, source: list[int], rest: Sequence[Any]) -> None:
        self.base, self.source, self._rest = base, source, rest

    def others(self, dims: Dims) -> list[Any]:
        """The other arguments. Of a list of sizes those along `dims` are left out."""
        if len(self._rest) == 1 and isinstance(self._rest[0], (list, tuple)) and len(self._rest[0]) == len(self.source):
            return [[size for dim, size in enumerate(self._rest[0]) if dim not in dims]]
        return [*self._rest]


def map_of(node: fx.Node) -> ViewMap:
    same = same_as(node)
    if same is not None:
        return ViewMap(same, [*range(rank_of(same))], ())
    if node.target not in VIEWS or node.kwargs or not isinstance(node.args[0], fx.Node):
        raise Unstable
    base, rest = node.args[0], node.args[1:]
    try:
        source = VIEWS[node.target](node, [*range(rank_of(base))], *rest)
    except TypeError as error:  # other arguments than the rule takes
        raise Unstable from error
    return ViewMap(base, source, rest)


def _unsqueezed(node: fx.Node, dims: list[int], dim: int) -> list[int]:
    dim %= len(dims) + 1
    return [*dims[:dim], -1, *dims[dim:]]


def _selected(node: fx.Node, dims: list[int], dim: int, index: Any) -> list[int]:
    dim %= len(dims)
    return [*dims[:dim], *dims[dim + 1 :]]


def is_one_row(node: fx.Node) -> bool:
    """Whether a view is a row by its number from the start, which is the same row of a table of any length."""
    return node.target is aten.select.int and type(index := node.args[2]) is int and index >= 0


def _sliced(node: fx.Node, dims: list[int], dim: int = 0, *bounds: Any) -> list[int]:
    if same_as(node) is None:
        dims[dim % len(dims)] = -1
    return dims


def _transposed(node: fx.Node, dims: list[int], one: int, other: int) -> list[int]:
    dims[one], dims[other] = dims[other], dims[one]
    return dims


def _permuted(node: fx.Node, dims: list[int], order: Sequence[int]) -> list[int]:
    return [dims[dim] for dim in order]


def _expanded(node: fx.Node, dims: list[int], sizes: Sequence[Any], *implicit: Any) -> list[int]:
    shape = node.args[0].meta["val"].shape  # type: ignore[union-attr]
    return [*[-1] * (len(sizes) - len(dims)), *(-1 if is_one(shape[dim]) else dim for dim in dims)]


def _same(node: fx.Node, dims: list[int], *rest: Any) -> list[int]:
    return dims


def _viewed(node: fx.Node, dims: list[int], *sizes: Any) -> list[int]:
    """The leading dimensions that are the same, and of which the rest of the memory is rows."""
    before, after = node.args[0].meta["val"].shape, node.meta["val"].shape  # type: ignore[union-attr]
    same = next((i for i, (a, b) in enumerate(zip(before, after)) if not are_same(a, b)), min(len(before), len(after)))
    if any(isinstance(size, torch.SymInt) for size in (*before[same:], *after[same:])):
        raise Unstable
    return [dim if dim < same else -1 for dim in range(len(after))]


VIEWS: dict[Any, Callable[..., list[int]]] = {
    aten.unsqueeze.default: _unsqueezed,
    aten.select.int: _selected,
    aten.slice.Tensor: _sliced,
    aten.transpose.int: _transposed,
    aten.permute.default: _permuted,
    aten.expand.default: _expanded,
    aten.view.default: _viewed,
    aten.reshape.default: _viewed,
    aten.flatten.using_ints: _viewed,
    **dict.fromkeys((aten.alias.default, aten.detach.default), _same),
}


def dims_of_root(node: fx.Node, root: fx.Node, dims: Dims) -> Dims:
    while node is not root:
        mapped = map_of(node)
        dims = frozenset(mapped.source[dim] for dim in dims)
        if -1 in dims:
            raise Unstable
        node = mapped.base
    return dims


def shown_whole(node: fx.Node) -> fx.Node | None:
    """The base of an alias, which is the same to a program that needs no gradient of it."""
    if node.target not in (aten.alias.default, aten.detach.default) or node.kwargs:
        return None
    (base,) = node.args
    return base if isinstance(base, fx.Node) and not base.meta["val"].requires_grad else None


def first_rows(node: fx.Node) -> tuple[Dims, fx.Node]:
    """The dimensions of which slices within one another take the first rows, and the tensor that they are slices of."""
    dims: set[int] = set()
    while node.target in _FIRST_ROWS and not node.kwargs:
        base, *rest = node.args
        if not isinstance(base, fx.Node):
            break
        match node.target, rest:
            case (aten.slice.Tensor, [int(dim), 0 | None, _] | [int(dim), 0 | None, _, 1]) | (
                aten.narrow.default,
                [int(dim), 0, _],
            ):
                dims.add(dim % rank_of(base))
            case (aten.alias.default | aten.detach.default, []) if shown_whole(node) is not None:
                pass
            case _:
                break
        node = base
    return frozenset(dims), node


_FIRST_ROWS = frozenset({aten.slice.Tensor, aten.narrow.default, aten.alias.default, aten.detach.default})
