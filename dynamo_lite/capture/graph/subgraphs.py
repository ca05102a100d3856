"""Sub-graphs under construction: the graph level that the recorder writes to, and its captures from the outer level.

A branch of torch.cond, the body of a loop, ... is recorded like a program, into a graph of its own. Meanwhile the
recorder's `graph`, its map of tensors and its size nodes are those of the inner level. A tensor or a size of the outer
level that an operator inside uses becomes a placeholder inside and an operand of the call outside: closures,
parameters, buffers and globals need no rule of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import fx

from dynamo_lite.capture.errors import CaptureError
from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.fakes.static_cache import Memory
from dynamo_lite.capture.graph.level import Level
from dynamo_lite.capture.graph.size_nodes import SizeNodes
from dynamo_lite.capture.graph.unrecorded import unrecorded
from dynamo_lite.capture.interfaces import Recording
from dynamo_lite.symbolic_shapes.expressions.expr import Node, Symbol
from dynamo_lite.symbolic_shapes.expressions.floats import Float
from dynamo_lite.torch_internals._torch_state import _set_grad_enabled

_MEMOS = tuple(
    f"_{name}_memo{kind}"
    for name in ("nonzero", "item", "unique", "unique_consecutive")
    for kind in ("", "_vc", "_epoch")
)
"""Attributes of a FakeTensor that cache the symbols returned by operators (torch/_subclasses/fake_tensor.py)."""


def _memos(fake: torch.Tensor) -> dict[str, Any]:
    return {name: getattr(fake, name) for name in _MEMOS if hasattr(fake, name)}


class SubgraphSizes(SizeNodes):
    """Size nodes of a sub-graph: a symbol that is not an argument's is captured from the outer level, as an operand."""

    def __init__(self, recorder: Recording, levels: Levels) -> None:
        assert recorder.env is not None
        super().__init__(recorder.env, recorder.size_node, recorder.first_size_node, recorder.node_on_tensor)
        self._levels: Levels = levels

    def _read(self, core: Node) -> fx.Node | None:
        known = super()._read(core)
        atom = core.as_atom() if hasattr(core, "as_atom") else None
        if known is None and isinstance(atom, Symbol) and self._env.core.simplify(core) is core:
            return self._levels.capture_size(self._env.wrap(core))
        if known is None and isinstance(core, Float) and core.op == "symbol":
            return self._levels.capture_float(self._env.wrap(core))
        return known


class Levels:
    """The stack of levels of one recorder; empty while it records the program itself."""

    def __init__(self, recorder: Recording) -> None:
        self._recorder = recorder
        self._inner: list[Level] = []
        self._program = recorder.level

    def __bool__(self) -> bool:
        return bool(self._inner)

    @contextmanager
    def entered(self, may_mutate: bool = False, functional: bool = False) -> Iterator[Level]:
        """Record into a new sub-graph. may_mutate: operators in it may change its operands in place; functional: what
        they change becomes a result (level.py)."""
        recorder = self._recorder
        enabled = recorder.grad_mode()
        level = Level(fx.Graph(), enabled, may_mutate, functional=functional)
        if recorder.env is not None:
            level.sizes = SubgraphSizes(recorder, self)
        with self.resumed(level):
            yield level
            if level.marked_grad is not enabled:  # the sub-graph is run before its regions are outlined
                level.marked_grad = enabled
                recorder.marker(_set_grad_enabled, (enabled,))

    @contextmanager
    def resumed(self, level: Level) -> Iterator[Level]:
        """Write to a sub-graph, which may have been left before."""
        self._inner.append(level)
        self._recorder.level = level
        try:
            yield level
        finally:
            self._inner.pop()
            self._recorder.level = self._innermost()

    def _innermost(self) -> Level:
        return self._inner[-1] if self._inner else self._program

    @property
    def open(self) -> list[Level]:
        """The level of the program, and those of the sub-graphs that are being written."""
        return [self._program, *self._inner]

    @property
    def is_functional(self) -> bool:
        """Whether the innermost level returns tensors that it changes in place as results."""
        return bool(self._inner) and self._inner[-1].functional

    @property
    def merge_state(self) -> bool:
        """Whether each sub-graph that is open is a side of a branch: what features keep is merged behind it."""
        return all(level.merges for level in self._inner)

    def nodes_of(self, fake: torch.Tensor) -> list[fx.Node]:
        """The nodes of a fake tensor, in the program and in the levels that are open."""
        found = (level.nodes.get(fake) for level in (self._program, *self._inner))
        return [node for node in found if node is not None]

    def sees(self, tensor: torch.Tensor) -> bool:
        """Whether the innermost level has `tensor`, or can take it from one around."""
        return any(tensor in level.nodes for level in (self._program, *self._inner))

    def absorbs_change(self, tensor: torch.Tensor) -> bool:
        """Whether the innermost sub-graph makes a result of the change of `tensor`; notes it if it is from around."""
        if not self.is_functional:
            return False
        level, key = self._inner[-1], storage_key(tensor)
        if key in level.storages:
            level.changed.add(key)
        return True

    def is_from_around(self, tensor: torch.Tensor) -> bool:
        """Whether a sub-graph is written to that has not made `tensor`."""
        node = self._recorder.level.nodes.get(tensor) if self._inner else None
        return bool(self._inner) and (node is None or node.op == "placeholder")

    @contextmanager
    def around(self, depth: int = 1) -> Iterator[None]:
        """For a while, the level `depth` further out is the one that is written to."""
        cut = len(self._inner) - depth
        inner = self._inner[cut:]
        del self._inner[cut:]
        self._recorder.level = self._innermost()
        try:
            yield
        finally:
            self._inner += inner
            self._recorder.level = inner[-1]

    @contextmanager
    def outermost(self) -> Iterator[None]:
        """For a while, write to the program's own graph: its placeholders are there."""
        if not self._inner:
            yield
            return
        with self.around(len(self._inner)):
            yield

    def capture(self, tensor: torch.Tensor) -> torch.Tensor:
        """The fake tensor for a tensor of the outer level, now an operand of this one."""
        recorder = self._recorder
        with self.around():
            fake = recorder.lift(tensor)
            name = recorder.node_of(fake).name
        if fake not in recorder.level.nodes:
            self._inner[-1].memos.append((fake, _memos(fake)))
            if recorder.memory is Memory.AUTOGRAD:
                self._inner[-1].note_version(fake)
            node = self._placeholder(name)
            self._inner[-1].captured.append((node, fake))
            self._inner[-1].storages.add(storage_key(fake))
            recorder.bind(fake, node)
            recorder.keep.append(fake)
            self._add_sizes(node, fake)
        return fake

    def captured_by(self, placeholder: fx.Node | None) -> Any:
        """The outer value of a placeholder of a sub-graph that is being written; None for any other node."""
        rows = (row for level in self._inner for row in level.captured)
        return next((value for node, value in rows if node is placeholder), None)

    def is_argument(self, node: fx.Node) -> bool:
        """Whether the operator of a sub-graph that is being written gives it this value: what iterations carry."""
        return any(node in level.arguments for level in self._inner)

    def capture_size(self, value: Any) -> fx.Node:
        """The placeholder for a symbolic size of the level around."""
        with self.around():
            outside = self._recorder.lower_symbolic(value)
        node = self._placeholder(outside.name)
        node.meta["val"] = value
        self._inner[-1].captured.append((node, value))
        return node

    def capture_float(self, value: Any) -> fx.Node:
        """The node for a float of the level around. An operand is a tensor: torch's operators take no floats."""
        recorder, full = self._recorder, torch.ops.aten.full.default
        with self.around():
            fake = full([], value, dtype=torch.float64, device="cpu")
            if fake not in recorder.level.nodes:  # an operator is being recorded, and what runs in it is not
                options = {"dtype": torch.float64, "device": torch.device("cpu")}
                recorder.record(full, ([], recorder.lower_symbolic(value)), options, fake)
        self.capture(fake)
        node = recorder.call_node(torch.ops.aten.item.default, (recorder.node_of(fake),), {}, "item")
        node.meta["val"] = value
        return node

    def argument(self, value: Any, name: str) -> Any:
        """A placeholder for an argument of its own (a FakeTensor or a symbolic number)."""
        level, recorder = self._inner[-1], self._recorder
        node = self._placeholder(name)
        level.arguments.append(node)
        if isinstance(value, torch.Tensor):
            level.memos.append((value, _memos(value)))
            recorder.bind(value, node)
            recorder.keep.append(value)
            level.storages.add(storage_key(value))
            level.own_storages.add(storage_key(value))
            self._add_sizes(node, value)
        else:
            node.meta["val"] = value
            if recorder.level.sizes is not None and not isinstance(value, (int, float)):
                recorder.level.sizes.add_value(node, value)
        return value

    def _add_sizes(self, node: fx.Node, tensor: torch.Tensor) -> None:
        recorder = self._recorder
        recorder.level.last_first = self._inner[-1].placeholders[-1]
        if recorder.level.sizes is not None and tensor._has_symbolic_sizes_strides:
            recorder.level.sizes.add_tensor(node, tensor, first=True)

    def _placeholder(self, name: str) -> fx.Node:
        placeholders = self._inner[-1].placeholders
        return add_placeholder(self._inner[-1].graph, name, placeholders[-1] if placeholders else None)

    def changes_operand(self, tensor: torch.Tensor) -> bool:
        """Whether writing to `tensor` changes what this sub-graph, or one around it, was given and must not change."""
        key = storage_key(tensor)
        return any(key in (level.own_storages if level.may_mutate else level.storages) for level in self._inner)


def add_placeholder(graph: fx.Graph, name: str, after: fx.Node | None) -> fx.Node:
    """A placeholder behind `after`, or first; named `name` unless that is taken."""
    with graph.inserting_after(after if after is not None else graph._root):
        node = graph.create_node("placeholder", name, (), {}, name=name)
    node.target = node.name
    return node


def operands_of(recorder: Recording, levels: Sequence[Level]) -> list[Any]:
    """The operands of a call of these sub-graphs, aligned (`align`), no two of them on the same memory.

    torch's rules for sub-graphs require each operand to have memory of its own: a later one is cloned. Raises
    CaptureError if the sub-graphs may change shared memory.
    """
    operands = align(levels)
    taken: set[int] = set()
    for index, value in enumerate(operands):
        if not isinstance(value, torch.Tensor):
            continue
        key = storage_key(value)
        if key in taken:
            if any(level.may_mutate and changes_in_place(level.graph) for level in levels):
                raise CaptureError(
                    "subgraph-alias",
                    "two operands of a control-flow operator share memory that it changes",
                    "give it clones",
                    {"operator": "a control-flow operator", "what": "a view of an operand that it changes"},
                )
            with unrecorded():  # reads by the recording of the copy (its strides) are not the program's
                copy = torch.ops.aten.clone.default(value)
                operands[index] = recorder.record(torch.ops.aten.clone.default, (recorder.node_of(value),), {}, copy)
        taken.add(key)
    return operands


def changes_in_place(graph: fx.Graph) -> bool:
    """Whether an operator of the graph writes to one of its arguments."""
    schemas = (getattr(node.target, "_schema", None) for node in graph.nodes)
    return any(schema is not None and schema.is_mutable for schema in schemas)


def align(levels: Sequence[Level]) -> list[Any]:
    """Gives sub-graphs of one call the same operands in the same order. Returns them, as values of the level around."""
    operands: dict[Any, tuple[str, Any]] = {}
    for level in levels:
        for node, value in level.captured:
            operands.setdefault(_key(value), (str(node.target), value))
    for level in levels:
        own = {_key(value): node for node, value in level.captured}
        last: fx.Node = level.arguments[-1] if level.arguments else level.graph._root
        ordered = []
        for key, (name, value) in operands.items():
            if key in own:
                node = own[key]
            else:
                node = add_placeholder(level.graph, name, None)
                node.meta.update(_meta(levels, key))
            last.append(node)
            last = node
            ordered.append((node, value))
        level.captured = ordered
    return [value for _, value in operands.values()]


def _key(value: Any) -> Any:
    return id(value) if isinstance(value, torch.Tensor) else value.node


def _meta(levels: Sequence[Level], key: Any) -> dict[str, Any]:
    found = next(node for level in levels for node, value in level.captured if _key(value) == key)
    return {name: found.meta[name] for name in ("val", "tensor_meta") if name in found.meta}
