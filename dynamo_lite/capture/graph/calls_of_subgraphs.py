"""The values that a result of a higher-order operator is computed from: one output of its sub-graphs, not all operands.

`cond(p, true_graph, false_graph, (x, y))[0]` comes from the first outputs of both graphs, and these from the operands
that their placeholders stand for.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import fx

from dynamo_lite.capture.graph.subgraphs import Levels


class Value(NamedTuple):
    """A node; `call`: the call whose sub-graph it is in, None in a graph that is being written."""

    node: fx.Node
    call: _Call | None = None


@dataclass(eq=False)
class _Call:
    """A sub-graph as one call runs it. given: its placeholders, and the values that each may have."""

    module: fx.GraphModule
    given: dict[fx.Node, list[Value]] = field(default_factory=dict)

    def output(self, index: int) -> list[Value]:
        (outputs,) = next(node for node in self.module.graph.nodes if node.op == "output").args
        found = outputs[index] if isinstance(outputs, (tuple, list)) else outputs
        return [Value(found, self)] if isinstance(found, fx.Node) else []


class _Form(NamedTuple):
    """The places of an operator's arguments: its sub-graphs, and the lists that their placeholders stand for.

    carried: the first of these lists is what a sub-graph gives to its next call, and the result of no call.
    """

    graphs: tuple[int, ...]
    lists: tuple[int, ...]
    carried: bool = False


_higher_order = torch.ops.higher_order
_FORMS: Mapping[Any, _Form] = {
    _higher_order.cond: _Form((1, 2), (3,)),
    _higher_order.while_loop: _Form((1,), (2, 3), carried=True),
    _higher_order.scan: _Form((0,), (1, 2, 3), carried=True),
    _higher_order.map_impl: _Form((0,), (1, 2)),
}


class Calls:
    """Goes from values to those that they are computed from, into sub-graphs and out of them again."""

    def __init__(self, levels: Levels) -> None:
        self._modules = {level.graph: level.modules for level in levels.open}
        self._made: dict[tuple[Value, int], _Call] = {}

    def behind(self, value: Value) -> list[Value]:
        """The values that `value` is computed from."""
        node, call = value
        if call is not None and node.op == "placeholder":
            return call.given[node]
        if node.target is operator.getitem and node.args[0].target in _FORMS:  # type: ignore[union-attr]
            whole, index = node.args
            return [*self._results(Value(whole, call), index)]  # type: ignore[arg-type]
        return [Value(one, call) for one in node.all_input_nodes]

    def _results(self, whole: Value, index: int) -> Iterator[Value]:
        form, args = _FORMS[whole.node.target], whole.node.args
        lists: list[Sequence[Any]] = [args[place] for place in form.lists]  # type: ignore[misc]
        if form.carried and index < len(lists[0]) and isinstance(lists[0][index], fx.Node):
            yield Value(lists[0][index], whole.call)
        for place in form.graphs:
            yield from self._call(whole, place, form, lists).output(index)

    def _call(self, whole: Value, place: int, form: _Form, lists: Sequence[Sequence[Any]]) -> _Call:
        made = self._made.get((whole, place))
        if made is None:
            made = self._made[whole, place] = _Call(self._module(Value(whole.node.args[place], whole.call)))  # type: ignore[arg-type]
            operands = [operand for given in lists for operand in given]
            placeholders = made.module.graph.find_nodes(op="placeholder")
            for number, (placeholder, operand) in enumerate(zip(placeholders, operands, strict=True)):
                given = [Value(operand, whole.call)] if isinstance(operand, fx.Node) else []
                carried = form.carried and number < len(lists[0])
                made.given[placeholder] = given + (made.output(number) if carried else [])
        return made

    def _module(self, attribute: Value) -> fx.GraphModule:
        node, call = attribute
        name = str(node.target)
        found: Any = self._modules[node.graph][name] if call is None else call.module.get_submodule(name)
        return found
