"""Random numbers that a side of a branch draws, where a gradient flows through the branch: drawn by a branch before it.

For the gradient torch.cond runs a side again, which would draw other numbers. So what the sides draw becomes the result
of a torch.cond of its own, through which no gradient flows, and an operand of the branch:

    noise = cond(p, [dropout(ones)], [zeros])       # the same numbers as in eager, and none where the side is not taken
    y = cond(p, [x * noise], [x])

Taken are operators that go by the shape of their operand alone; other ones are refused (`gradients.check_draws`). A
branch within a side has such a torch.cond in the side: it moves with what decides it.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx

from dynamo_lite.capture import alias_analysis
from dynamo_lite.capture._torch import OpOverload
from dynamo_lite.capture.graph.level import Level
from dynamo_lite.capture.kernels.layout_questions import CONTIGUOUS_RESULTS
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.torch_internals._torch_dispatch import DisableTorchFunction
from dynamo_lite.tracing.tensors.side_differences import SideDifferences
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

_aten = torch.ops.aten
_FACTORS = frozenset({_aten.dropout.default, _aten.feature_dropout.default})
"""Of which the result is the operand, times what they give for ones."""
_FACTORIES = frozenset({"rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like"})
_FILLS = frozenset({"uniform_", "normal_", "exponential_", "random_", "bernoulli_", "cauchy_", "log_normal_"})
"""Which fill a tensor that is drawn into whatever it held."""


def drawn_before(
    tracer: Forking, levels: Sequence[Level]
) -> tuple[list[list[fx.Node]], list[Level], list[tuple[Any, ...]]] | None:
    """The sub-graphs of the torch.cond that draws what two sides draw: (the nodes that draw, of each side; the levels
    and their results). None if there is nothing to draw, or it is not known how."""
    rows = [[node for node in level.graph.nodes if _draws(node, level)] for level in levels]
    if not any(rows) or not all(_is_known(node, level) for level, row in zip(levels, rows) for node in row):
        return None
    if not all(_is_laid_out_as_known(tracer, node, level) for level, row in zip(levels, rows) for node in row):
        return None
    drawing, results = [], []
    for which in range(len(levels)):
        with tracer.recorder.levels.entered(functional=True) as own:
            values, at_work = [], _Drawing(tracer, levels[which], own)
            for side, row in enumerate(rows):
                for node in row:
                    values += at_work.drawn(node) if side == which else _nothing(tracer, node)
            results.append(tuple(values))
            own.may_mutate = False
        drawing.append(own)
    return rows, drawing, results


def use(
    tracer: Forking,
    levels: Sequence[Level],
    rows: Sequence[Sequence[fx.Node]],
    drawn: Sequence[Any],
    outputs: Sequence[Sequence[Any]],
) -> list[tuple[Any, ...]]:
    """Put what was drawn in the place of the nodes that draw. Returns the sides' outputs, which may be such nodes."""
    results, changed = iter(drawn), []
    for level, row, nodes in zip(levels, rows, outputs):
        by: dict[fx.Node, fx.Node] = {}
        with tracer.recorder.levels.resumed(level):
            for node in row:
                for part in _parts(node):
                    value = tracer.recorder.node_of(tracer.recorder.guarded(tracer.recorder.lift, next(results)))
                    by[part] = _times(level, node, value) if node.target in _FACTORS else value
        for node, new in by.items():
            node.replace_all_uses_with(new)
            for key, (reference, known) in level.nodes.entries.items():
                if known is node:
                    level.nodes.entries[key] = reference, new
            level.graph.erase_node(node)
        for node in row:
            if node not in by:
                _erase_branch(level, node)
        changed.append(tuple([by.get(node, node) if isinstance(node, fx.Node) else node for node in nodes]))
    return changed


def _erase_branch(level: Level, node: fx.Node) -> None:
    reads = [arg for arg in node.all_input_nodes if arg.op == "get_attr"]
    level.graph.erase_node(node)
    for read in reads:
        level.graph.erase_node(read)
        del level.modules[str(read.target)]


def _times(level: Level, node: fx.Node, factor: fx.Node) -> fx.Node:
    with level.graph.inserting_before(node):
        made = level.graph.call_function(_aten.mul.Tensor, (node.args[0], factor))
    made.meta = {**node.meta, "torch_fn": (made.name, "OpOverload.mul")}
    return made


def _draws(node: fx.Node, level: Level) -> bool:
    return node.op == "call_function" and (alias_analysis.draws(node) or _is_branch_that_draws(node, level))


def _is_branch_that_draws(node: fx.Node, level: Level) -> bool:
    if node.target is not torch.ops.higher_order.cond:
        return False
    parts = alias_analysis.subgraphs(node, level.modules)
    inner = (part for side in parts for part in side.modules() if isinstance(part, fx.GraphModule))
    return any(alias_analysis.draws(one) for part in inner for one in part.graph.nodes)


def _parts(node: fx.Node) -> list[fx.Node]:
    """The results of a node that draws."""
    if node.target is torch.ops.higher_order.cond:
        getters = [user for user in node.users if user.target is operator.getitem]
        return sorted(getters, key=lambda user: int(str(user.args[1])))
    return [node]


# -- what can be drawn before ------------------------------------------------------------------------------------------


def _is_known(node: fx.Node, level: Level) -> bool:
    if node.target is torch.ops.higher_order.cond:
        values = [part.meta["val"] for part in _parts(node)]
        return not any(value.requires_grad for value in values) and _slice(node, level) is not None
    name, _, overload = str(node.target).removeprefix("aten.").partition(".")
    given = [arg for arg in node.all_input_nodes if is_tensor(arg.meta.get("val"))]
    if not _is_plain(node.meta["val"]) or not all(_is_plain(arg.meta["val"]) for arg in given):
        return False
    if name in _FILLS:  # a new tensor, which nothing else uses
        target = node.args[0]
        if not isinstance(target, fx.Node) or target.op != "call_function" or "empty" not in str(target.target):
            return False
        return [*target.users] == [node] and given == [target] and overload != "Tensor"
    return node.target in _FACTORS or (name in _FACTORIES and "generator" not in node.kwargs)


def _is_plain(value: Any) -> bool:
    """Whether a tensor is contiguous, and has sizes that are known outside of the side."""
    with DisableTorchFunction():
        if not is_tensor(value) or value.layout is not torch.strided:
            return False
        sizes: list[Any] = [size for size in value.shape if type(size) is torch.SymInt]
        return all(size.node.has_hint() for size in sizes) and bool(value.is_contiguous())


def _is_laid_out_as_known(tracer: Forking, node: fx.Node, level: Level) -> bool:
    """Whether the operands of a node that draws have the layout of the example: numbers are drawn in memory order.
    Where it may be that of an input, it is a guard that the input is contiguous."""
    differences, recorder = tracer.own(SideDifferences), tracer.recorder
    outer = dict(level.captured)
    todo, seen = [arg for arg in _laid_out_like(node) if arg.meta["val"].dim() > 1], set[fx.Node]()
    while todo:
        one = todo.pop()
        is_carried = recorder.levels.is_argument(one)
        if one in differences.laid_out or (is_carried and differences.is_carried):
            return False
        outside: Any = outer.get(one, recorder.levels.captured_by(one))
        fake: Any = recorder.known_fake(outside) if is_tensor(outside) else one.meta.get("val")
        if is_carried or (one.op == "placeholder" and is_tensor(fake) and recorder.layout.is_input(fake)):
            recorder.layout.ask("contiguity")
        elif one not in seen and one.target not in CONTIGUOUS_RESULTS:
            todo += [*one.all_input_nodes, *(recorder.levels.nodes_of(fake) if is_tensor(outside) else ())]
        seen.add(one)
    return True


def _laid_out_like(node: fx.Node) -> list[fx.Node]:
    """The tensors that a node which draws lays out its numbers like. (A branch was looked at where it was made.)"""
    if node.target is torch.ops.higher_order.cond:
        return []
    return [arg for arg in node.all_input_nodes if is_tensor(arg.meta.get("val"))]


def _slice(node: fx.Node, level: Level) -> list[fx.Node] | None:
    """The nodes that a branch within a side needs, in order; None if one of them has an effect, or is changed. What is
    drawn before is among them."""
    needed, todo = {node}, [node]
    while todo:
        one = todo.pop()
        args = one.all_input_nodes if one is node or not _draws(one, level) else _operands(one)
        for arg in args:
            if arg not in needed:
                needed.add(arg)
                todo.append(arg)
    computed = [one for one in level.graph.nodes if one in needed and one.op == "call_function"]
    computed = [one for one in computed if not _draws(one, level)]
    is_pure = all(alias_analysis.only_computes(one, level.modules) for one in computed)
    changes = any(isinstance(one.target, OpOverload) and one.target._schema.is_mutable for one in level.graph.nodes)
    return [one for one in level.graph.nodes if one in needed] if is_pure and not changes else None


def _operands(node: fx.Node) -> list[Any]:
    """What the result of a node that draws is computed of, beside what it draws."""
    return [node.args[0]] if node.target in _FACTORS else []


# -- in the sub-graphs that draw ---------------------------------------------------------------------------------------


@dataclass
class _Drawing:
    """The sub-graph that draws what a side draws. `level` is the side's, `own` this one's, which is written. `made`:
    nodes of the side that are here as well; `factors`: what `_FACTORS` multiply their operand with."""

    tracer: Forking
    level: Level
    own: Level
    copies: dict[fx.Node, fx.Node] = field(default_factory=dict)
    factors: dict[fx.Node, fx.Node] = field(default_factory=dict)

    def drawn(self, node: fx.Node) -> list[fx.Node]:
        """The results of a node that draws."""
        if node.target is torch.ops.higher_order.cond:
            return self._copied(node)

        def value(arg: Any) -> Any:
            known = arg.meta["val"]
            return _ones(known) if is_tensor(known) else known

        args, kwargs = fx.node.map_arg((node.args, node.kwargs), value)
        recorder = self.tracer.recorder
        function: Any = node.target
        result = recorder.node_of(recorder.guarded(recorder.lift, function(*args, **kwargs)))
        (self.factors if node.target in _FACTORS else self.copies)[node] = result
        return [result]

    def _copied(self, node: fx.Node) -> list[fx.Node]:
        outer, made, graph = dict(self.level.captured), self.copies, self.own.graph
        recorder = self.tracer.recorder
        for one in (*(_slice(node, self.level) or ()), *_parts(node)):
            if one in made:
                continue
            if one in self.factors:
                made[one] = graph.call_function(_aten.mul.Tensor, (made[one.args[0]], self.factors[one]))
                made[one].meta = {**one.meta, "torch_fn": (made[one].name, "OpOverload.mul")}
            elif one.op == "placeholder":
                value = outer[one]
                made[one] = recorder.node_of(value) if is_tensor(value) else recorder.lower_symbolic(value)
            else:
                made[one] = graph.node_copy(one, made.__getitem__)
            if one.op == "get_attr":
                self.own.modules[str(one.target)] = self.level.modules[str(one.target)]
        return [made[part] for part in _parts(node)]


def _nothing(tracer: Forking, node: fx.Node) -> list[fx.Node]:
    return [tracer.recorder.node_of(_zeros(part.meta["val"])) for part in _parts(node)]


def _ones(known: torch.Tensor) -> torch.Tensor:
    return torch.ones(known.shape, dtype=known.dtype, device=known.device)


def _zeros(known: torch.Tensor) -> torch.Tensor:
    return torch.zeros(known.shape, dtype=known.dtype, device=known.device)
