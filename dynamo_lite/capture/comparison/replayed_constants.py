"""A tensor that an earlier recording left on the heap: a memo field, `if self.mask is None: self.mask = torch.ones(n)`.

The second recording of a program finds the first one's fake tensor there. If that was computed from parameters, buffers
and constants alone, recomputing it gives the same value as long as these do not change. Then a placeholder represents
it, with the digest that the tensor has in the first recording (fingerprint.py), so that the two can be compared.
Anything else is rejected: a memo of an input differs from the value that a later call computes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx

from dynamo_lite.capture._torch import OpOverload
from dynamo_lite.capture.alias_analysis import AliasAnalysis, draws, is_view, storage_of
from dynamo_lite.capture.graph.lifting import Lifted, LiftedKind
from dynamo_lite.capture.interfaces import InputRecording
from dynamo_lite.symbolic_shapes.expressions.expr import Atom, symbols_of
from dynamo_lite.symbolic_shapes.torch_node.symbolic_types import SYMBOLIC_TYPES

_METADATA_ONLY = {
    **dict.fromkeys(("zeros_like", "ones_like", "full_like", "empty_like"), "self"),
    **dict.fromkeys(("new_zeros", "new_ones", "new_full", "new_empty", "new_empty_strided"), "self"),
    **dict.fromkeys(("type_as", "view_as", "reshape_as", "expand_as", "to.other"), "other"),
}
"""Operator → the argument of which it takes the shape, dtype and device only."""


def metadata_argument(node: fx.Node) -> fx.Node | None:
    """The argument of which a node reads no data, if it has one."""
    target = node.target
    if not isinstance(target, OpOverload):
        return None
    name = _METADATA_ONLY.get(target._opname) or _METADATA_ONLY.get(f"{target._opname}.{target._overloadname}")
    if name is None:
        return None
    index = next((i for i, argument in enumerate(target._schema.arguments) if argument.name == name), None)
    value = node.kwargs.get(name) if index is None or index >= len(node.args) else node.args[index]
    return value if isinstance(value, fx.Node) else None


def data_arguments(node: fx.Node) -> Iterator[fx.Node]:
    """The arguments of which a node may read data."""
    unread = metadata_argument(node)
    return (argument for argument in node.all_input_nodes if argument is not unread)


@dataclass
class TensorOrigin:
    """The origin of a tensor: parameters, buffers and constants, or the reason why it is not the same in each call."""

    sources: list[Lifted] = field(default_factory=list)
    reason: str | None = None

    def names(self) -> list[str]:
        """The parameters and buffers, as a user would name them."""
        return [f"the {s.kind.value} {s.fqn}" for s in self.sources if s.kind is not LiftedKind.CONSTANT]


def origin_of(
    node: fx.Node,
    recorder: InputRecording,
    analysis: AliasAnalysis,
    assigned: Collection[str] = (),
    sizes: set[Atom] | None = None,
) -> TensorOrigin:
    """The origin of the value that `node` has at the end of the run.

    assigned: buffers that get another value. sizes: if given, the value may depend on input sizes; gets their atoms.
    """
    walk = _ConstantWalk(recorder, analysis, set(assigned), sizes)
    reason = walk.run(node)
    return TensorOrigin([entry for entry in recorder.lifted if entry.node in walk.needed], reason)


def nodes_behind(
    node: fx.Node, recorder: InputRecording, analysis: AliasAnalysis, assigned: Collection[str]
) -> set[fx.Node] | None:
    """The nodes that make the value that `node` has at the end of the run, if it is made of constants and of sizes of
    the inputs; None if not."""
    walk = _ConstantWalk(recorder, analysis, set(assigned), set())
    return walk.needed if walk.run(node) is None else None


class _ConstantWalk:
    def __init__(
        self, recorder: InputRecording, analysis: AliasAnalysis, assigned: set[str], sizes: set[Atom] | None
    ) -> None:
        self.analysis = analysis
        self.env, self.sizes = recorder.env, sizes
        self.lifted = {entry.node: entry for entry in recorder.lifted}
        self.needed: set[fx.Node] = set()
        self.changed = {storage_of(e.tensor): e for e in recorder.lifted if storage_of(e.tensor) in analysis.written}
        self.assigned = {storage_of(e.tensor): e for e in recorder.lifted if e.fqn in assigned}
        self.writers: dict[Any, list[fx.Node]] = {}
        for node, roots in analysis.writes.items():
            for root in roots:
                self.writers.setdefault(root, []).append(node)

    def run(self, node: fx.Node) -> str | None:
        todo = [node]
        while todo:
            current = todo.pop()
            if current in self.needed:
                continue
            self.needed.add(current)
            if self._is_size(current):
                continue
            reason = self._reason_against(current)
            if reason is not None:
                return reason
            todo += data_arguments(current)
            for root in self.analysis.roots[current]:
                if isinstance(root, fx.Node):
                    todo += self.writers.get(root, ())
        return None

    def _is_size(self, node: fx.Node) -> bool:
        """Whether a node is a size of the inputs that may vary, and may do so here."""
        val = node.meta.get("val")
        return self.sizes is not None and isinstance(val, torch.SymInt) and self._may_vary(val)

    def _may_vary(self, size: Any) -> bool:
        """Whether a size is one of the inputs, or computed from these. Its atoms are taken note of."""
        if self.sizes is None or self.env is None or type(size) is not torch.SymInt:
            return False
        expression = self.env.core.simplify(self.env.unwrap(size))
        self.sizes.update(expression.atoms())
        return not any(symbol.unbacked for symbol in symbols_of(expression))

    def _reason_against(self, node: fx.Node) -> str | None:
        val = node.meta.get("val")
        sizes = [*val.shape] if isinstance(val, torch.Tensor) else [] if _is_of_data(val) else [val]
        if any(isinstance(size, SYMBOLIC_TYPES) and not self._may_vary(size) for size in sizes):
            return "its size may vary from call to call"
        if node.op == "placeholder":
            entry = self.lifted.get(node)
            if entry is None:
                return f"it is computed from the input {node.name}"
            changed = self.assigned.get(storage_of(entry.tensor))
            return None if changed is None else f"it is computed from {changed.fqn}, which the program changes"
        target = node.target
        if draws(node):
            return f"it is drawn at random ({target})"
        is_write = isinstance(target, OpOverload) and node in self.analysis.writes
        if not is_write and node.op != "get_attr" and not self.analysis.is_pure(node):
            return f"it is computed by {target}"
        if is_view(node):
            return None
        for root in self.analysis.reads(node):
            if root in self.changed:
                return f"it is computed from {self.changed[root].fqn}, which the program changes"
        return None


def _is_of_data(val: Any) -> bool:
    """Whether a number was read from data (`table[1].item()`): it varies as the tensor does that it was read from."""
    return isinstance(val, SYMBOLIC_TYPES) and all(symbol.unbacked for symbol in symbols_of(val.node.core))
