"""Tables whose first rows do not depend on how many there are: `torch.arange(n)[:, None] * w`, a causal mask.

A program that keeps such a table for later calls reads the first n rows of one that an earlier call made for k >= n. A
*family* is a digest that tables of all lengths share: of the operators that make them, without the length. It exists if
each operator on the way computes a row from the same row of its arguments. Then the first n rows of two tables of a
family are the same, and a slice of them has a digest of the family and of n (fingerprint.py).

Source: the schemas and the tags of torch/aten/src/ATen/native/native_functions.yaml, torch 2.13.0.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import torch
from torch import fx

from dynamo_lite.capture._torch import OpOverload
from dynamo_lite.capture.alias_analysis import same_as
from dynamo_lite.capture.comparison.table_views import (
    VIEWS,
    Dims,
    Unstable,
    are_same,
    dims_of_root,
    first_rows,
    is_one,
    is_one_row,
    map_of,
    rank_of,
)
from dynamo_lite.symbolic_shapes.expressions.expr import Atom

aten = torch.ops.aten


class Digests(Protocol):
    """The part of a recording's digests (fingerprint.Fingerprint) that families use."""

    analysis: Any

    @property
    def families(self) -> Families: ...
    def former(self, node: fx.Node) -> tuple[Digests, fx.Node] | None: ...
    def row_of(self, value: Any) -> Any: ...
    def is_done(self, node: fx.Node) -> bool: ...
    def digest(self, node: fx.Node) -> str: ...
    def sizes_of(self, node: fx.Node) -> set[Atom] | None: ...
    def expression(self, size: Any) -> Any: ...
    def is_at_most(self, one: Any, other: Any) -> bool: ...
    def asks_at_most(self, one: Any, other: Any) -> bool: ...


def digest_of(row: Any) -> str:
    """A short text for a row of texts and numbers."""
    return hashlib.sha256(repr(row).encode()).hexdigest()


class Families:
    """The families of the tables of one recording, as far as its nodes have digests."""

    def __init__(self, digests: Digests) -> None:
        self._digests = digests
        self._found: dict[Any, str | None] = {}  # a later write has another key

    def row(self, node: fx.Node) -> tuple[Any, ...] | None:
        """For a tensor that is the first rows of a table, and for rows of one by their index: the family, and which
        rows. None for others."""
        if not isinstance(node.meta.get("val"), torch.Tensor):
            return None
        try:
            if node.target not in _BY_INDEX:
                return self._first(node)
            table, dim, index = _rows_read(node)
            dims = frozenset([dim % rank_of(table)])
            return ("rows", self.family(table, dims), *sorted(dims), self._digests.row_of(index))
        except Unstable:
            return None

    def _first(self, node: fx.Node) -> tuple[Any, ...] | None:
        """All rows of a table are the first of a longer one; torch leaves `table[:n]` out where n is its length."""
        sliced, base = first_rows(node)
        shape = node.meta["val"].shape
        varying = frozenset(dim for dim, size in enumerate(base.meta["val"].shape) if isinstance(size, torch.SymInt))
        for dims in (sliced | varying, sliced) if sliced < varying else (sliced,):
            if dims and (found := self._found_or_none(base, dims)) is not None:
                return ("first", found, *sorted(dims), *(self._digests.row_of(shape[dim]) for dim in sorted(dims)))
        return None

    def _found_or_none(self, node: fx.Node, dims: Dims) -> str | None:
        try:
            return self.family(node, dims)
        except Unstable:
            return None

    def family(self, node: fx.Node, dims: Dims) -> str:
        """The digest that a tensor shares with those of other lengths along `dims`. Raises Unstable."""
        if not dims:
            return digest_of(("whole", self._digests.row_of(node)))
        first, base = first_rows(node)
        if base is not node and first <= dims:  # the first rows of a table are a table of the family
            return self.family(base, dims)
        same = same_as(node)
        if same is not None:
            return self.family(same, dims)
        former = self._digests.former(node)
        if former is not None:
            return former[0].families.family(former[1], dims)
        writes = [*self._writes_to(node)]
        key = (node, dims, len(writes))
        if key not in self._found:
            self._found[key] = None
            rule = _RULES.get(node.target) or (_pointwise if _is_pointwise(node) else None)
            if rule is None or not self._digests.analysis.is_pure(node):
                raise Unstable
            if rule is _view:
                if writes and self._digests.analysis.roots[node] != self._digests.analysis.roots[node.args[0]]:
                    raise Unstable  # it may be a copy, made before or after them
                writes = []  # the family of the aliased memory has them
            written = [self._write(write, root, dims_of_root(node, root, dims)) for write, root in writes]
            self._found[key] = digest_of((*rule(self, node, dims), str(node.meta["val"].dtype), *written))
        found = self._found[key]
        if found is None:
            raise Unstable
        return found

    def argument(self, value: Any, dims: Dims, result: fx.Node) -> Any:
        """The family of an argument that is broadcast to the shape of `result`, along dimensions of the result."""
        if not isinstance(value, fx.Node) or not isinstance(value.meta.get("val"), torch.Tensor):
            return self._digests.row_of(value)
        missing = rank_of(result) - rank_of(value)
        shape, whole = value.meta["val"].shape, result.meta["val"].shape
        own = frozenset(dim - missing for dim in dims if dim >= missing and not is_one(shape[dim - missing]))
        if not all(are_same(shape[dim], whole[dim + missing]) for dim in own):
            raise Unstable
        return self.family(value, own)

    def rows_of(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The digests of arguments that have nothing to do with the length."""
        return tuple(map(self._digests.row_of, values))

    def _writes_to(self, node: fx.Node) -> Iterator[tuple[fx.Node, fx.Node]]:
        """The writes to the memory of a tensor that the program has made, in order, and that memory."""
        analysis = self._digests.analysis
        for root in analysis.roots[node]:
            writes = [w for w, roots in analysis.writes.items() if root in roots and self._digests.is_done(w)]
            if writes and not isinstance(root, fx.Node):
                raise Unstable
            yield from ((write, root) for write in writes)

    def _write(self, node: fx.Node, root: fx.Node, dims: Dims) -> tuple[Any, ...]:
        if node.target not in _WRITES or not isinstance(node.args[0], fx.Node):
            raise Unstable
        view, others = node.args[0], node.args[1:]
        view_dims, steps = self._view_of(view, root, dims)
        values = [self.argument(value, view_dims, view) for value in others]
        return (str(node.target), steps, tuple(values), *self.rows_of([*node.kwargs.items()]))

    def _view_of(self, node: fx.Node, root: fx.Node, dims: Dims) -> tuple[Dims, tuple[Any, ...]]:
        """The dimensions of a view that are those of its root, and the digest of the steps from there."""
        if node is root:
            return dims, ()
        mapped = map_of(node)
        inner, steps = self._view_of(mapped.base, root, dims)
        if not inner <= set(mapped.source) and not is_one_row(node):
            raise Unstable
        own = frozenset(index for index, dim in enumerate(mapped.source) if dim in inner)
        return own, (*steps, str(node.target), *self.rows_of(mapped.others(own)))


# Each rule: (families, node, dims) -> the digest without the length, or Unstable.


def _view(families: Families, node: fx.Node, dims: Dims) -> tuple[Any, ...]:
    mapped = map_of(node)
    inner = frozenset(mapped.source[dim] for dim in dims)
    if -1 in inner:
        raise Unstable
    return (str(node.target), families.family(mapped.base, inner), *families.rows_of(mapped.others(dims)))


def _arange(families: Families, node: fx.Node, dims: Dims) -> tuple[Any, ...]:
    start, step = 0 if len(node.args) < 2 else node.args[0], 1 if len(node.args) < 3 else node.args[2]
    return ("arange", *families.rows_of([start, step, *node.kwargs.items()]))


def _filled(families: Families, node: fx.Node, dims: Dims) -> tuple[Any, ...]:
    sizes, *rest = node.args
    if not isinstance(sizes, (list, tuple)):
        raise Unstable
    others = [size for dim, size in enumerate(sizes) if dim not in dims]
    return (str(node.target), len(sizes), *sorted(dims), *families.rows_of([others, *rest, *node.kwargs.items()]))


def _pointwise(families: Families, node: fx.Node, dims: Dims) -> tuple[Any, ...]:
    args = node.args[:1] if node.target in _AS_ANOTHER else node.args  # of the other only the part in the result
    values = [families.argument(value, dims, node) for value in args]
    return (str(node.target), str(node.meta["val"].device), *values, *families.rows_of([*node.kwargs.items()]))


def _joined(families: Families, node: fx.Node, dims: Dims) -> tuple[Any, ...]:
    tensors, at = node.args[0], int(node.args[1]) if len(node.args) > 1 else 0  # type: ignore[arg-type]
    if not isinstance(tensors, (list, tuple)) or at % rank_of(node) in dims:
        raise Unstable
    at %= rank_of(node)
    is_new = node.target is aten.stack.default
    inner = frozenset(dim - 1 if is_new and dim > at else dim for dim in dims)
    return (str(node.target), at, *(families.family(tensor, inner) for tensor in tensors))  # type: ignore[arg-type]


def _outer(families: Families, node: fx.Node, dims: Dims) -> tuple[Any, ...]:
    parts = [families.family(part, frozenset([0] if dim in dims else [])) for dim, part in enumerate(node.args)]  # type: ignore[arg-type]
    return ("outer", *parts)


def _einsum(families: Families, node: fx.Node, dims: Dims) -> tuple[Any, ...]:
    equation, operands = str(node.args[0]).replace(" ", ""), node.args[1]
    inputs, arrow, output = equation.partition("->")
    if not arrow or "." in equation or not isinstance(operands, (list, tuple)):
        raise Unstable
    left_out = {output[dim] for dim in dims}
    rows = []
    for letters, operand in zip(inputs.split(","), operands):
        own = [index for index, letter in enumerate(letters) if letter in left_out]
        rows.append(families.family(operand, frozenset(own)))
    return ("einsum", equation, *rows)


def _matmul(families: Families, node: fx.Node, dims: Dims) -> tuple[Any, ...]:
    rank, (one, other) = rank_of(node), node.args
    if not isinstance(one, fx.Node) or not isinstance(other, fx.Node) or not rank_of(one) == rank_of(other) == rank:
        raise Unstable
    if not dims <= {rank - 2, rank - 1}:
        raise Unstable
    rows, columns = dims & {rank - 2}, dims & {rank - 1}
    return ("matmul", families.family(one, frozenset(rows)), families.family(other, frozenset(columns)))


def _triangle(families: Families, node: fx.Node, dims: Dims) -> tuple[Any, ...]:
    base, rest = node.args[0], node.args[1:]
    return (str(node.target), families.family(base, dims), *families.rows_of(rest))  # type: ignore[arg-type]


_RULES: dict[Any, Callable[[Families, fx.Node, Dims], tuple[Any, ...]]] = {
    **dict.fromkeys(VIEWS, _view),
    **dict.fromkeys((aten.arange.default, aten.arange.start, aten.arange.start_step), _arange),
    **dict.fromkeys((aten.zeros.default, aten.ones.default, aten.full.default, aten.empty.memory_format), _filled),
    **dict.fromkeys((aten.cat.default, aten.stack.default), _joined),
    **dict.fromkeys((aten.tril.default, aten.triu.default), _triangle),
    **dict.fromkeys((aten.matmul.default, aten.mm.default), _matmul),
    aten.outer.default: _outer,
    aten.einsum.default: _einsum,
}

_ELEMENTWISE = frozenset(
    {
        *("_to_copy", "to", "clone", "contiguous", "type_as", "float", "zeros_like", "ones_like", "full_like"),
        *("lift_fresh_copy", "masked_fill", "where"),
    }
)
"""Operators that compute an element from the same element of their arguments, and have no tag for that."""

_AS_ANOTHER = frozenset({aten.type_as.default, aten.to.other})

_WRITES = frozenset({aten.copy_.default, aten.fill_.Scalar, aten.fill_.Tensor, aten.zero_.default})

_BY_INDEX = frozenset({aten.index_select.default, aten.embedding.default})
"""Operators that take no negative index: `table[-1]` is another row of a longer table."""


def _rows_read(node: fx.Node) -> tuple[Any, int, Any]:
    """(table, dimension, index) of an operator that takes rows by their index."""
    match node.target, node.args:
        case (aten.index_select.default, (table, int(dim), index)):
            return table, dim, index
        case (aten.embedding.default, (table, index)):
            return table, 0, index
    raise Unstable


def _is_pointwise(node: fx.Node) -> bool:
    target = node.target
    if node.op != "call_function" or not isinstance(target, OpOverload):
        return False
    return torch.Tag.pointwise in target.tags or target._schema.name.removeprefix("aten::") in _ELEMENTWISE
