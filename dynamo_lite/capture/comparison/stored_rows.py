"""Buffers whose first rows a program overwrites with a table: `self.cached[:n] = table`.

Later reads of these rows return the table, and writing them again changes nothing. So a program that fills a buffer on
its first call only, and reads it on later ones, is the program that fills it on each call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from dynamo_lite.capture.comparison.families import Digests, digest_of
from dynamo_lite.capture.comparison.table_views import Dims, Unstable, first_rows
from dynamo_lite.capture.graph.lifting import Lifted

_copy = torch.ops.aten.copy_.default


@dataclass(frozen=True)
class TableRows:
    """The first rows of a buffer hold a table.

    Attributes:
        dims: the dimensions that are not whole, and `extents` how far the rows go there.
        table: the digest of the table.
        family: that of tables of all lengths (families.py); None if the length is a constant.
        text: the digest of all of it.
    """

    dims: Dims
    extents: tuple[Any, ...]
    table: str
    family: str | None
    text: str


class StoredRows:
    """The buffers of one recording whose first rows have known contents, by their memory.

    buffers: the tensors given to the recording, by node. before: rows left by an earlier recording.
    """

    def __init__(self, digests: Digests, buffers: Mapping[fx.Node, Lifted], before: Mapping[Any, TableRows]) -> None:
        self._digests = digests
        self._buffers = buffers
        self.rows: dict[Any, TableRows] = dict(before)

    def write(self, node: fx.Node, root: Any, was_written: bool) -> str | None:
        """Record a write. Returns the digest of the contents of the memory, if that is known to be a table.

        was_written: whether the memory has changed since the start of the program.
        """
        before, rows = self.rows.pop(root, None), self._rows(node, root)
        if rows is None or (was_written and before is None):
            return None
        if before is not None and not self._covers(rows, before):
            if rows.family is None or rows.family != before.family or not self._covers(before, rows):
                return None
            rows = before  # the rows are there already
        self.rows[root] = rows
        return rows.text

    def forget(self, roots: Iterable[Any]) -> None:
        """An operation with unknown effect has changed this memory."""
        for root in roots:
            self.rows.pop(root, None)

    def read(self, node: fx.Node) -> str | None:
        """The digest of a slice of a buffer that shows a table, or the first rows of one."""
        if node.op != "call_function" or not self.rows:
            return None
        dims, base = first_rows(node)
        root = self._root(base)
        rows = self.rows.get(root) if root is not None else None
        if rows is None or dims != rows.dims:
            return None
        shape = node.meta["val"].shape
        extents = [self._digests.expression(shape[dim]) for dim in sorted(dims)]
        if all(one is other for one, other in zip(extents, rows.extents)):
            return rows.table
        if rows.family is None or not all(map(self._digests.is_at_most, extents, rows.extents)):
            return None
        order = sorted(dims)
        return digest_of(("first", rows.family, *order, *(self._digests.row_of(shape[dim]) for dim in order)))

    def _root(self, node: fx.Node) -> Any:
        """The memory of a buffer, all of which it shows; None for other nodes."""
        entry = self._buffers.get(node)
        if entry is None or not entry.tensor.is_contiguous():
            return None
        if entry.tensor.untyped_storage().nbytes() != entry.tensor.numel() * entry.tensor.element_size():
            return None
        (root,) = self._digests.analysis.roots[node]
        return root

    def _rows(self, node: fx.Node, root: Any) -> TableRows | None:
        """The first rows after a write, if they are the same in each call with these sizes."""
        if node.target is not _copy or len(node.args) != 2:
            return None
        view, table = node.args
        if not isinstance(view, fx.Node) or not isinstance(table, fx.Node):
            return None
        dims, base = first_rows(view)
        sizes = self._digests.sizes_of(table)
        if not dims or self._root(base) != root or sizes is None:
            return None
        shown, made = view.meta["val"], table.meta["val"]
        lengths = [self._digests.expression(size) for size in shown.shape]
        same = [a is self._digests.expression(size) for a, size in zip(lengths, made.shape)]
        if shown.dim() != made.dim() or not all(same) or made.dtype != shown.dtype or made.requires_grad:
            return None
        extents = tuple(lengths[dim] for dim in sorted(dims))
        varying = frozenset(dim for dim, size in enumerate(made.shape) if isinstance(size, torch.SymInt))
        if varying != dims and sizes:
            return None
        try:
            family = self._digests.families.family(table, dims) if varying else None
        except Unstable:
            return None
        digest = self._digests.digest(table)
        text = digest_of((sorted(dims), list(map(str, extents)), digest))
        return TableRows(dims, extents, digest, family, text)

    def _covers(self, rows: TableRows, before: TableRows) -> bool:
        return rows.dims == before.dims and all(map(self._digests.asks_at_most, before.extents, rows.extents))
