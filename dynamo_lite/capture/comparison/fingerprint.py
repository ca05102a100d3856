"""Compares two recordings by the values that operators compute and the memory that they change.

Each node has a digest: of its operator, its arguments' digests, and the earlier writes to the memory that they alias.
Equal digests mean equal values, wherever the nodes are, however often they are computed and whether or not they are
used. Two recordings are one program if their outputs have equal digests, outer memory ends with the same contents, and
everything with a fixed position (random numbers, assertions, control flow) is the same in the same order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import fx

from dynamo_lite.capture._torch import OpOverload, _enter_autocast, _exit_autocast
from dynamo_lite.capture.alias_analysis import (
    AliasAnalysis,
    Roots,
    draws,
    is_marker,
    is_metadata_assertion,
    same_as,
    storage_of,
)
from dynamo_lite.capture.comparison.families import Families, digest_of
from dynamo_lite.capture.comparison.neutral_buffers import NeutralBuffers
from dynamo_lite.capture.comparison.replayed_constants import TensorOrigin, metadata_argument, nodes_behind, origin_of
from dynamo_lite.capture.comparison.stored_rows import StoredRows, TableRows
from dynamo_lite.capture.comparison.table_views import shown_whole
from dynamo_lite.capture.graph.graph_inputs import InputLifter
from dynamo_lite.capture.graph.lifting import Lifted, LiftedKind
from dynamo_lite.capture.graph.profiler_regions import is_of_the_profiler
from dynamo_lite.symbolic_shapes.expressions.expr import Atom, as_int, symbols_of
from dynamo_lite.symbolic_shapes.expressions.relations import le
from dynamo_lite.symbolic_shapes.proofs.facts import Origin
from dynamo_lite.torch_internals._torch_fake import FakeTensor


class Fingerprint:
    """The digests of one recording, which is over.

    assigned: the buffers that get another tensor: name → (old, new). `earlier`: the digests of the recording before it,
    if there is one, whose tensors this one may have met. buffers: nodes that are taken for placeholders of buffers.
    neutral: the buffers that hold -0.0. sizes: maps each size of the inputs to that of another call, for the digests
    that this recording has there.
    """

    def __init__(
        self,
        recorder: InputLifter,
        assigned: Mapping[str, tuple[torch.Tensor, torch.Tensor]],
        earlier: Fingerprint | None = None,
        sizes: Callable[[Any], Any] | None = None,
        buffers: Mapping[fx.Node, torch.Tensor] | None = None,
        neutral: Sequence[torch.Tensor] = (),
    ) -> None:
        self.recorder = recorder
        self.earlier = earlier
        self._sizes = sizes
        self._assigned = frozenset(assigned)
        self.families = Families(self)
        self._may_vary = recorder.env is not None and bool(recorder.env.core.symbols)
        self._digests: dict[fx.Node, str] = {}
        self._shown: dict[fx.Node, dict[Any, str]] = {}  # writes to memory, as far as the digest includes them
        self._sequence: list[str] = []  # the operators whose place counts
        known: dict[fx.Node, Roots] = {}
        for node, former in recorder.carried_nodes.items():
            assert earlier is not None
            known[node], self._digests[node] = earlier.analysis.roots[former], earlier._digests[former]
        self._foreign = {root for roots in known.values() for root in roots if isinstance(root, fx.Node)}
        self._before = earlier._written(frozenset(self._foreign)) if earlier is not None else {}
        self._contents: dict[Any, str] = dict(self._before)  # root → digest of all that was written there
        known.update(self._updated_before())
        for node, tensor in (buffers or {}).items():
            known[node], self._digests[node] = frozenset([storage_of(tensor)]), digest_of(_buffer(tensor))
        self.analysis: AliasAnalysis = AliasAnalysis(recorder, known)
        before: Mapping[Any, TableRows] = earlier.stored.rows if earlier is not None else {}
        self.stored: StoredRows = StoredRows(self, {entry.node: entry for entry in recorder.lifted}, before)
        self._found = {root: rows.text for root, rows in before.items()}
        of_neutral = {id(tensor) for tensor in neutral}
        self._apart = {storage_of(tensor) for tensor in neutral}  # what is left in them is compared by `value`
        placeholders = [e.node for e in recorder.lifted if id(e.tensor) in of_neutral]
        self._neutral = NeutralBuffers(self._digests, self.copy_of, self._is_written, placeholders)
        self._contents.update(self._found)
        self._run()
        self.updates: dict[str, torch.Tensor] = {}
        """The buffers that get a new value."""
        for name, (old, new) in assigned.items():
            if self.value(old) != self.value(new):
                self.updates[name] = new
                self.stored.forget(self.analysis.roots[self.recorder.node_of(old)])

    def _updated_before(self) -> dict[fx.Node, Roots]:
        """The roots of the buffers that the earlier program gives a new value: they are the same buffers."""
        if self.earlier is None:
            return {}
        earlier = self.earlier
        former = {entry.fqn: entry for entry in earlier.recorder.lifted if entry.fqn in earlier.updates}
        entries = (entry for entry in self.recorder.lifted if entry.fqn in former)
        return {entry.node: earlier.analysis.roots[former[entry.fqn].node] for entry in entries}

    def _run(self) -> None:
        lifted = {entry.node: entry for entry in self.recorder.lifted}
        autocasts: list[str] = []
        inputs = 0
        for node in self.recorder.level.graph.nodes:
            if node in self._digests or is_metadata_assertion(node) or is_of_the_profiler(node):
                continue
            if is_marker(node):
                _follow(autocasts, node)
                continue
            if self._neutral.take(node):
                continue
            if node.op == "placeholder":
                entry = lifted.get(node)
                row: Any = ("input", inputs) if entry is None else (entry.kind.value, self._identity(entry))
                inputs += entry is None
            else:
                row = self._row_of_table(node) or (self._row(node), *autocasts)
            same, stored = same_as(node) or shown_whole(node), self.stored.read(node)
            if stored is not None:
                self._shown[node] = self._written(self.analysis.roots[node])
            digest = stored or (digest_of(row) if same is None else self._digests[same])
            self._digests[node] = digest
            for root in (roots := self.analysis.writes.get(node, ())):
                before = self._contents.get(root)
                text = self.stored.write(node, root, before is not None) if len(roots) == 1 else None
                if text is None:
                    self.stored.forget([root])
                self._contents[root] = text or digest_of((before, digest))

    def _row_of_table(self, node: fx.Node) -> tuple[Any, ...] | None:
        """The row of a node that has rows of a table, whatever the table's length is (families.py)."""
        row = self.families.row(node) if self._may_vary else None
        roots = self.analysis.roots[node]
        if row is not None:
            self._shown[node] = self._written(roots)
            return row
        shown = [self._shown[argument] for argument in node.all_input_nodes if argument in self._shown]
        if shown:
            self._shown[node] = {root: text for texts in shown for root, text in texts.items() if root in roots}
        return None

    def former(self, node: fx.Node) -> tuple[Fingerprint, fx.Node] | None:
        """The earlier recording, and its node for a placeholder that represents a tensor left by it."""
        former = self.recorder.carried_nodes.get(node)
        return None if former is None or self.earlier is None else (self.earlier, former)

    def copy_of(self, node: fx.Node) -> str:
        """The digest of `clone()` of a node, without gradient."""
        args, kwargs = self._shape((node,)), self._shape({})
        return digest_of((("call_function", str(torch.ops.aten.clone.default), args, kwargs, False, _dtype(node)),))

    def digest(self, node: fx.Node) -> str:
        """The digest of a node that has one."""
        return self._digests[node]

    def sizes_of(self, node: fx.Node) -> set[Atom] | None:
        """The sizes of the inputs that a node is made of; None if it is made of what differs from call to call
        otherwise."""
        sizes = set[Atom]()
        reason = origin_of(node, self.recorder, self.analysis, self._assigned, sizes).reason
        return sizes if reason is None else None

    def expression(self, size: Any) -> Any:
        """A size as the digests have it."""
        env = self.recorder.env
        if env is None or type(size) is not torch.SymInt:
            return as_int(size)
        node = env.core.simplify(env.unwrap(size))
        return node if self._sizes is None else self._sizes(node)

    def is_at_most(self, one: Any, other: Any) -> bool:
        """Whether one size is known to be at most another."""
        env = self.recorder.env
        if one is other or env is None or self._sizes is not None:
            return bool(one is other)
        return env.memo.decide(le(one, other)) is True

    def asks_at_most(self, one: Any, other: Any) -> bool:
        """Whether one size is at most another in the example, which becomes a fact of this recording. (In a first one
        it would be a condition of the program: there only known facts count.)"""
        env = self.recorder.env
        if one is other or env is None or self.earlier is None:
            return self.is_at_most(one, other)
        return bool(env.core.evaluate(le(one, other), Origin("user line", note="the state that an earlier call left")))

    def is_done(self, node: fx.Node) -> bool:
        """Whether a node has its digest."""
        return node in self._digests

    def row_of(self, value: Any) -> Any:
        """The part of an operator's digest for one argument."""
        return size if (size := self._size(value)) is not None else self._shape(value)

    def _identity(self, entry: Lifted) -> Any:
        earlier = self.earlier
        if earlier is not None and entry.fqn in earlier.updates:  # another tensor now, the same buffer
            former = next((e for e in earlier.recorder.lifted if e.fqn == entry.fqn), entry)
            return earlier._identity(former)
        tensor = entry.tensor
        is_fake = isinstance(tensor, FakeTensor)
        if entry.kind is not LiftedKind.CONSTANT or tensor.device.type == "meta" or is_fake:
            return id(tensor)
        copy = tensor.detach().cpu().clone(memory_format=torch.contiguous_format)  # numpy's memory cannot be resized
        content = copy.reshape(-1).view(torch.uint8).numpy().tobytes()
        return (str(tensor.dtype), tuple(tensor.shape), hashlib.sha256(content).hexdigest())

    def _row(self, node: fx.Node) -> Any:
        if node.op == "get_attr":
            return (node.op, _subgraph(self.recorder.level.modules[str(node.target)]))
        meta, unread = node.meta.get("tensor_meta"), metadata_argument(node)
        result = getattr(meta, "requires_grad", None), _dtype(node)
        args, kwargs = self._shape(node.args, unread), self._shape(node.kwargs, unread)
        row: tuple[Any, ...] = (node.op, str(node.target), args, kwargs, *result)
        if not self.analysis.is_pure(node) and (node not in self.analysis.writes or _counts_by_place(node)):
            row = (*row, len(self._sequence))
            self._sequence.append(digest_of(row))
        return row

    def _shape(self, value: Any, unread: fx.Node | None = None) -> Any:
        if isinstance(value, fx.Node):
            if value is unread:
                return ("like", *self._metadata(value.meta.get("val")))
            if (size := self._size(value.meta.get("val"))) is not None:
                return size
            written, shown = self._written(self.analysis.roots[value]), self._shown.get(value, {})
            return ("node", self._digests[value], *sorted(t for root, t in written.items() if shown.get(root) != t))
        if isinstance(value, (list, tuple)):
            return ("sequence", *(self._shape(v, unread) for v in value))
        if isinstance(value, dict):
            return tuple((key, self._shape(v, unread)) for key, v in value.items())
        if isinstance(value, slice):
            return ("slice", *(self._shape(v, unread) for v in (value.start, value.stop, value.step)))
        return (type(value).__qualname__, repr(value))

    def _size(self, value: Any) -> tuple[str, str] | None:
        """A size of the inputs, simplified by all facts, as a constant if it is one: a later recording has the facts
        found by this one from its start. None for other values, and for unbacked ones."""
        env = self.recorder.env
        if env is None or type(value) is not torch.SymInt:
            return None
        node = self.expression(value)
        constant = node.as_constant()
        if constant is not None:
            return ("int", repr(constant))
        return None if any(symbol.unbacked for symbol in symbols_of(node)) else ("size", str(node))

    def _metadata(self, val: Any) -> tuple[Any, ...]:
        sizes = [self._size(size) or str(size) for size in (*val.shape, *val.stride())]
        return (*sizes, str(val.dtype), str(val.device))

    def _written(self, roots: Roots) -> dict[Any, str]:
        return {root: self._contents[root] for root in roots if root in self._contents}

    def program(self, outputs: Sequence[Any]) -> Any:
        """Equal for two recordings of the same program. outputs: the results of the run, as nodes and constants."""
        outside = {
            root: text
            for root, text in self._contents.items()
            if not isinstance(root, fx.Node) and root not in self.stored.rows and root not in self._apart
        }
        updates = {name: self.value(tensor) for name, tensor in self.updates.items()}
        return self._sequence, [(self._shape(value), self._layout(value)) for value in outputs], outside, updates

    def _layout(self, value: Any) -> Any:
        """The strides of an output: the caller sees them, and the first rows of a longer table have its own."""
        val = value.meta.get("val") if isinstance(value, fx.Node) else None
        if not isinstance(val, torch.Tensor) or val.layout is not torch.strided:
            return None
        return [self._size(stride) or stride for stride in val.stride()]

    def rows_are(self, others: Fingerprint) -> bool:
        """Whether the buffers whose first rows are known have the same contents in the other recording."""
        return self._texts() == others._texts()

    def rows_are_as_found(self) -> bool:
        """Whether the buffers whose first rows are known have the contents left by the earlier recording."""
        return self._texts() == self._found

    def _texts(self) -> dict[Any, str]:
        return {root: rows.text for root, rows in self.stored.rows.items()}

    def _is_written(self, node: fx.Node) -> bool:
        return bool(self._written(self.analysis.roots[node]))

    def is_changed(self, tensor: torch.Tensor) -> bool:
        """Whether the program writes to the memory of a buffer."""
        return storage_of(tensor) in self._contents

    def changes_carried(self) -> bool:
        """Whether the program writes to tensors left by an earlier call."""
        return self._written(frozenset(self._foreign)) != self._before

    def value(self, tensor: torch.Tensor) -> Any:
        """Equal for tensors, of this recording and of the earlier one, that have the same value at the end."""
        return self._shape(self.recorder.node_of(tensor))

    def origin(self, tensor: torch.Tensor) -> TensorOrigin | None:
        """The origin of a tensor's value at the end of the run; None if this recording has not made it."""
        node = self.recorder.level.nodes.get(tensor)
        return None if node is None else origin_of(node, self.recorder, self.analysis, self.updates)

    def needed_for(self, tensor: torch.Tensor) -> set[fx.Node] | None:
        """The nodes that compute the value of a tensor at the end of this recording; None if the value differs from
        call to call for other reasons than the sizes of the inputs."""
        node = self.recorder.level.nodes.get(tensor)
        return None if node is None else nodes_behind(node, self.recorder, self.analysis, self._assigned)

    def sizes_in(self, tensor: torch.Tensor) -> set[Atom] | None:
        """The sizes of the inputs that a tensor of this recording is made of; None if it is made of what differs from
        call to call otherwise."""
        node = self.recorder.level.nodes.get(tensor)
        return None if node is None else self.sizes_of(node)


def _buffer(tensor: torch.Tensor) -> tuple[str, Any]:
    """The row of a placeholder for a buffer."""
    return LiftedKind.BUFFER.value, id(tensor)


def _counts_by_place(node: fx.Node) -> bool:
    """Whether a node that writes has another effect as well: it draws random numbers, or is control flow."""
    return not isinstance(node.target, OpOverload) or draws(node)


def _follow(autocasts: list[str], marker: fx.Node) -> None:
    if marker.target is _enter_autocast:
        autocasts.append(repr(marker.args))
    elif marker.target is _exit_autocast:
        autocasts.pop()


def _dtype(node: fx.Node) -> str | None:
    val = node.meta.get("val")
    return str(val.dtype) if isinstance(val, torch.Tensor) else None


def _subgraph(module: fx.GraphModule) -> str:
    """The digest of a sub-graph: its operators in order, by their arguments."""
    numbers: dict[fx.Node, str] = {}
    rows: list[Any] = []
    for number, node in enumerate(module.graph.nodes):
        numbers[node] = str(number)
        what = _subgraph(getattr(module, str(node.target))) if node.op == "get_attr" else str(node.target)
        named = node.op in ("placeholder", "output")
        rows.append((node.op, None if named else what, _numbered(node.args, numbers), _numbered(node.kwargs, numbers)))
    return digest_of(rows)


def _numbered(value: Any, numbers: dict[fx.Node, str]) -> Any:
    if isinstance(value, fx.Node):
        return ("node", numbers[value])
    if isinstance(value, (list, tuple)):
        return ("sequence", *(_numbered(v, numbers) for v in value))
    if isinstance(value, dict):
        return tuple((key, _numbered(v, numbers)) for key, v in value.items())
    return (type(value).__qualname__, repr(value))
