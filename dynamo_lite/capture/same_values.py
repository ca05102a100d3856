"""Whether two tensors have the same elements for all sizes, because the same operators made both from the same numbers.

`(mask == causal).all()`, where both are `torch.full((n, n), -inf).triu(1)`: the result is True for each n, though no
data of a varying size is known. Values computed from inputs are left out (a NaN is not equal to itself), and so is
memory that the program writes to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import fx

from dynamo_lite.capture._torch import OpOverload
from dynamo_lite.capture.alias_analysis import AliasAnalysis
from dynamo_lite.capture.graph.graph_inputs import InputLifter

aten = torch.ops.aten
_FACTORIES = frozenset({aten.full.default, aten.ones.default, aten.zeros.default, aten.arange.default,
                        aten.arange.start, aten.arange.start_step})  # fmt: skip
_STEPS = frozenset({
    aten.triu.default, aten.tril.default, aten.unsqueeze.default, aten.view.default, aten.reshape.default,
    aten.expand.default, aten.transpose.int, aten.t.default, aten.contiguous.default, aten.clone.default,
    aten.to.dtype, aten.to.dtype_layout, aten.to.device, aten._to_copy.default, aten.logical_not.default,
    aten.bitwise_not.default, *(getattr(aten, name).Tensor for name in ("gt", "ge", "lt", "le", "eq", "ne")),
})  # fmt: skip
"""Operators whose elements are not NaN if those of their arguments are not, and depend on these alone."""
_FORMS = frozenset({"dtype", "device", "layout", "pin_memory"})
"""Arguments that show in the result's metadata."""


def are_all_equal(recorder: InputLifter, func: Any, args: Any, number_of: Callable[[Any], Any]) -> bool:
    """Whether `func(*args)` compares two tensors, element by element, that are equal for all sizes.

    number_of: maps a size to a key, equal for two sizes that are one number.
    """
    if func is aten.equal.default:
        pair: list[Any] = [recorder.level.nodes.get(arg) for arg in args]
    else:
        every = recorder.level.nodes.get(args[0]) if isinstance(args[0], torch.Tensor) else None
        same = every.args[0] if every is not None and every.target is aten.all.default else None
        pair = [*same.args] if isinstance(same, fx.Node) and same.target is aten.eq.Tensor else []
        pair += [every, same] if pair else []
    nodes = [node for node in pair if isinstance(node, fx.Node) and node.graph is recorder.level.graph]
    if len(pair) < 2 or len(nodes) != len(pair):
        return False
    met: set[fx.Node] = set(nodes[2:])
    if not _Likeness(met, number_of).of(nodes[0], nodes[1]):
        return False
    analysis = AliasAnalysis(recorder)
    written = {root for roots in analysis.writes.values() for root in roots}
    return not any(written.intersection(analysis.roots[node]) for node in met)


class _Likeness:
    """met: the nodes that have been compared."""

    def __init__(self, met: set[fx.Node], number_of: Callable[[Any], Any]) -> None:
        self._met = met
        self._number_of = number_of

    def of(self, one: Any, other: Any) -> bool:
        """Whether two arguments of operators are the same: nodes, numbers, lists of them."""
        if isinstance(one, fx.Node) and isinstance(one.meta.get("val"), torch.Tensor):
            return isinstance(other, fx.Node) and self._of_tensors(one, other)
        if isinstance(one, (list, tuple)):
            return isinstance(other, (list, tuple)) and len(one) == len(other) and all(map(self.of, one, other))
        one, other = (arg.meta.get("val") if isinstance(arg, fx.Node) else arg for arg in (one, other))
        if isinstance(one, torch.SymInt) or isinstance(other, torch.SymInt):
            return self._number_of(one) is self._number_of(other)
        if isinstance(one, (torch.SymFloat, torch.SymBool)):
            return one is other
        return type(one) is type(other) and bool(one == other)

    def _of_tensors(self, one: fx.Node, other: fx.Node) -> bool:
        if one.target is not other.target or not isinstance(one.target, OpOverload):
            return False
        if one.target not in _FACTORIES and one.target not in _STEPS:
            return False
        a, b = one.meta["val"], other.meta.get("val")
        if not isinstance(b, torch.Tensor) or (a.dtype, a.device) != (b.dtype, b.device):
            return False
        self._met.update((one, other))
        rest = [{k: v for k, v in node.kwargs.items() if k not in _FORMS} for node in (one, other)]
        return rest[0].keys() == rest[1].keys() and self.of(
            [one.args, *rest[0].values()], [other.args, *(rest[1][name] for name in rest[0])]
        )
