"""`parameter.data = value` of a tensor from before the run: `p.data = p.data - lr * p.grad`, averages of weights.

Eager gives the parameter the memory of the value; the program copies the value into the memory that the parameter has.
The two are the same if no tensor of the old memory is used afterwards, and none of the new memory once either has been
written to again. That is decided when the run is over, on the nodes of its graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import fx, nn

from dynamo_lite.capture.alias_analysis import AliasAnalysis, storage_of
from dynamo_lite.torch_internals._torch_operators import OpOverload
from dynamo_lite.torch_internals._torch_pytree import pytree
from dynamo_lite.torch_internals._torch_tensors import set_version
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.vocabulary.program_points import Mark
from dynamo_lite.tracing.vocabulary.type_tests import is_fake


class DataAssignment(NamedTuple):
    """One assignment. copy: the node that writes the value into the tensor; value: the node of the value."""

    owner: torch.Tensor
    copy: fx.Node
    value: fx.Node
    mark: Mark


def carry(tracer: TracerView, owner: torch.Tensor, value: Any) -> DataAssignment | None:
    """Record `owner.data = value` as a copy, to be judged when the run is over. None if no copy could stand for it."""
    recorder = tracer.recorder
    if recorder.levels or not tracer.sees_python or is_fake(owner) or not isinstance(value, torch.Tensor):
        return None
    target, given = recorder.guarded(recorder.lift, owner), recorder.guarded(recorder.lift, value)
    if not _fits(target, given) or not recorder.is_input(target):
        return None
    written = recorder.guarded(_copied, target, given)
    return DataAssignment(owner, recorder.node_of(written), recorder.node_of(given), tracer.mark())


def _fits(one: torch.Tensor, other: torch.Tensor) -> bool:
    if any(each.layout is not torch.strided for each in (one, other)):
        return False
    sizes = [*one.shape, *one.stride(), *other.shape, *other.stride()]
    if not all(type(size) is int for size in sizes) or 0 in one.stride():
        return False
    return all(getattr(one, name) == getattr(other, name) for name in ("dtype", "device", "shape")) and (
        one.stride() == other.stride()
    )


def _copied(target: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Like the assignment, the copy is no change that autograd counts."""
    version = target._version
    written = target.data.copy_(value.detach())
    set_version(target, version)
    return written


def judge(run: Any, rows: Sequence[DataAssignment]) -> None:
    """Of a run whose effects are known: refuse an assignment for which a copy does not stand."""
    analysis = AliasAnalysis(run.recorder)
    order = {node: number for number, node in enumerate(run.recorder.graph.nodes)}
    changes = (*run.effects.pending, *run.effects.assigned.values())
    kept = [leaf for change in changes for leaf in pytree.tree_leaves(change.new) if is_fake(leaf)]
    returned = [value for value in run.outputs.values if isinstance(value, fx.Node)]
    left = [*returned, *filter(None, map(run.recorder.level.nodes.get, kept))]
    for number, row in enumerate(rows):
        is_shared = _is_shared(run, row.owner) or any(_may_overlap(row, other, analysis) for other in rows[:number])
        if is_shared or not _is_as_copied(run, row, analysis, order, left):
            raise run.tracer.graph_break("tensor-data-assigned", row.mark, name="data")


def _is_shared(run: Any, owner: torch.Tensor) -> bool:
    """Whether another tensor of the program, or of its module, has the old memory."""
    root = run.tracer.root
    registered = [*root.parameters(), *root.buffers()] if isinstance(root, nn.Module) else []
    others = [*(entry.tensor for entry in run.recorder.lifted), *registered]
    return any(other is not owner and storage_of(other) == storage_of(owner) for other in others)


def _may_overlap(one: DataAssignment, other: DataAssignment, analysis: AliasAnalysis) -> bool:
    """Whether two tensors may have elements in common after their assignments."""
    if one.owner is other.owner or not analysis.roots[one.value] & analysis.roots[other.value]:
        return False
    (first, end), (second, other_end) = (_extent(row.value.meta["val"]) for row in (one, other))
    return first < other_end and second < end


def _extent(fake: torch.Tensor) -> tuple[int, int]:
    """The numbers of the first element in its memory, and of the one behind the last."""
    start = int(fake.storage_offset())
    span = sum((int(size) - 1) * int(stride) for size, stride in zip(fake.shape, fake.stride()))
    return start, start + (span + 1 if fake.numel() else 0)


def _is_as_copied(
    run: Any, row: DataAssignment, analysis: AliasAnalysis, order: dict[fx.Node, int], left: Sequence[fx.Node]
) -> bool:
    old, new = frozenset([storage_of(row.owner)]), analysis.roots[row.value]
    if not all(isinstance(root, fx.Node) for root in new):
        return False
    at, end = order[row.copy], len(order)
    itself = _itself(row, run.recorder, order)
    others = [node for node in order if node not in itself]
    if any(node not in itself and analysis.roots[node] & (old | new) for node in left):
        return False
    writes = [order[node] for node, roots in analysis.writes.items() if order[node] > at and roots & (old | new)]
    if any(order[node] > at and roots & new for node, roots in analysis.writes.items()):
        return False
    of_old = [node for node in others if order[node] < at and analysis.roots[node] & old]
    of_new = [node for node in others if analysis.roots[node] & new]
    return _is_unused(of_old, order, at) and _is_unused(of_new, order, min(writes, default=end))


def _itself(row: DataAssignment, recorder: Any, order: dict[fx.Node, int]) -> set[fx.Node]:
    """The nodes that are the tensor: its placeholder, and operators that change it in place and return it."""
    found = {entry.node for entry in recorder.lifted if entry.tensor is row.owner}
    for node in order:
        if isinstance(node.target, OpOverload) and node.args and node.args[0] in found:
            returned = [result.alias_info for result in node.target._schema.returns]
            if len(returned) == 1 and returned[0] is not None and returned[0].is_write:
                found.add(node)
    return found


def _is_unused(nodes: Sequence[fx.Node], order: dict[fx.Node, int], after: int) -> bool:
    """Whether no node after the one with this number uses one of these."""
    return not any(order[user] > after for node in nodes for user in node.users)
