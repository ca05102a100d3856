"""Copies that are views for some sizes: the memory that the program changes in place has to be the same in each call.

    y = x.sin().t().reshape(-1)     # a copy; a view where x has one row
    y.add_(1)

The recorded operator does as eager does. torch's functionalization (`run_decompositions`) decides for the fake tensors,
once: which of the two it is becomes a guard if a value of the other memory is used after the change. If sizes are
constant it depends on the strides of the inputs: then it is a query of the layout.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import torch
from torch import fx

from dynamo_lite.capture._torch import OpOverload
from dynamo_lite.capture.alias_analysis import AliasAnalysis, draws, subgraphs, written_arguments
from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.kernels.layout_questions import CONTIGUOUS_RESULTS, COPIES_OR_VIEWS, Copy, joined
from dynamo_lite.capture.layout_sources import ask_to_view
from dynamo_lite.capture.recorder import Recorder
from dynamo_lite.symbolic_shapes.proofs.facts import Origin
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv


def check(recorder: Recorder, results: Iterable[torch.Tensor]) -> None:
    """Adds the guards. results: the tensors that the program returns."""
    env, copies = recorder.env, recorder.layout.copies
    if not copies or not _changed(recorder.level.graph) & {key for copy in copies for key in _keys(copy)}:
        return
    uses = _uses([*recorder.level.graph.nodes], map(recorder.known_fake, results))
    groups = [*map(_keys, copies)]
    for copy, keys in zip(copies, groups):
        if not uses.tell_apart(keys, joined(keys, groups), since=uses.made_at.get(copy.result, uses.end)):
            continue
        if env is not None and copy.layout is not None:
            _ask(env, copy.layout, copy.where)
        else:
            recorder.layout.ask("layout")


def depends_on_side(
    recorder: Recorder, laid_out: Mapping[fx.Node, Any], contiguous: set[fx.Node], results: Iterable[torch.Tensor]
) -> Any:
    """Where a branch ended whose sides give a result different strides, if what comes of that is visible; None
    otherwise.

    The result is contiguous in the program: `reshape` and `contiguous` view it, and what is computed from it. In eager
    they may copy. That shows where that memory is changed later, or returned under two names. contiguous: what
    `contiguous()` has been called of, and was.
    """
    nodes = [*recorder.level.graph.nodes]
    by_side = _laid_out_by_side(recorder, laid_out)
    if not by_side:
        return None
    analysis = AliasAnalysis(recorder)
    returned = [analysis.roots.get(recorder.node_of(result), frozenset()) for result in results]
    for index, node in enumerate(nodes):
        if node not in by_side or not (node.target in COPIES_OR_VIEWS or node in contiguous):
            continue
        roots = analysis.roots[node]
        is_changed = any(roots & analysis.writes.get(later, frozenset()) for later in nodes[index + 1 :])
        if is_changed or sum(bool(roots & others) for others in returned) > 1:
            return by_side[node]
    return None


def drawn_by_side(recorder: Recorder, laid_out: Mapping[fx.Node, Any]) -> Any:
    """Where a branch ended whose sides give a result different strides, if random numbers are drawn in the order in
    which that is in memory, or what is computed from it; None otherwise."""
    by_side = _laid_out_by_side(recorder, laid_out)
    for node in recorder.level.graph.nodes if by_side else ():
        marks = [by_side[arg] for arg in node.all_input_nodes if arg in by_side and _has_order(arg.meta.get("val"))]
        if marks and (draws(node) or _draws_within(node, recorder)):
            return marks[0]
    return None


def _has_order(value: object) -> bool:
    return not isinstance(value, torch.Tensor) or value.dim() > 1


def _draws_within(node: fx.Node, recorder: Recorder) -> bool:
    parts = (part for given in subgraphs(node, recorder.level.modules) for part in given.modules())
    return any(draws(one) for part in parts if isinstance(part, fx.GraphModule) for one in part.graph.nodes)


def _laid_out_by_side(recorder: Recorder, laid_out: Mapping[fx.Node, Any]) -> dict[fx.Node, Any]:
    """These results in the program's graph, and what is computed from them by operators that keep a layout."""
    by_side = {node: mark for node, mark in laid_out.items() if node.graph is recorder.level.graph}
    for node in recorder.level.graph.nodes if by_side else ():
        marks = [by_side[argument] for argument in node.all_input_nodes if argument in by_side]
        if marks and node.target not in CONTIGUOUS_RESULTS:
            by_side.setdefault(node, marks[0])
    return by_side


def _keys(copy: Copy) -> set[int]:
    return {copy.tensor, copy.result}


def _changed(graph: fx.Graph) -> set[int]:
    """The memory that nodes change in place."""
    nodes = [n for n in graph.nodes if isinstance(n.target, OpOverload) and n.target._schema.is_mutable]
    return {key for node in nodes for argument in written_arguments(node) for key in _memory(argument.meta.get("val"))}


class _Uses(NamedTuple):
    """By memory: the node that makes it, the last one that uses it, those that change it; `end` is the output."""

    made_at: dict[int, int]
    used: dict[int, int]
    changed: dict[int, list[int]]
    end: int

    def tell_apart(self, keys: set[int], others: set[int], since: int) -> bool:
        """Whether one of `keys` is changed after `since`, and another one of `others` is used after that."""
        changes = [(key, at) for key in keys for at in self.changed.get(key, ()) if at > since]
        return any(self.used.get(other, 0) > at for key, at in changes for other in others if other != key)


def _uses(nodes: list[fx.Node], results: Iterable[torch.Tensor]) -> _Uses:
    uses = _Uses({}, {}, {}, len(nodes))
    for index, node in enumerate(nodes):
        for key in _memory(node.meta.get("val")):
            uses.made_at.setdefault(key, index)
        uses.used.update((key, index) for argument in node.all_input_nodes for key in _memory(argument.meta.get("val")))
        for argument in written_arguments(node):
            for key in _memory(argument.meta.get("val")):
                uses.changed.setdefault(key, []).append(index)
    uses.used.update((key, uses.end) for result in results for key in _memory(result))
    return uses


def _memory(value: object) -> list[int]:
    values = value if isinstance(value, (list, tuple)) else (value,)
    return [storage_key(v) for v in values if isinstance(v, torch.Tensor) and v.layout is torch.strided]


def _ask(env: TorchShapeEnv, layout: Iterable[Iterable[Any]], line: Origin | None) -> None:
    """It is a copy, or a view, as in the example."""
    sizes, strides, shape = ([env.unwrap(size) for size in part] for part in layout)
    assert line is not None
    was, env.where = env.where, lambda: line
    try:
        ask_to_view(env, sizes, strides, shape)
    finally:
        env.where = was
