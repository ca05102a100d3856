"""A loop whose iterations are counted, as torch's scan: it has a gradient, and stacks the items added to lists.

    combine(*carried, *slices, *operands) -> (*carried, *added)

The slices are the iteration number, and rows: if an iteration takes `x.select(dim, number)` of an outer tensor, it gets
that row of `x` from the operator itself, so that the gradient of x is computed row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import fx

from dynamo_lite.capture.fakes.cond_outputs import is_dense
from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.graph import subgraph_calls, subgraphs
from dynamo_lite.capture.graph.level import Level
from dynamo_lite.capture.graph.subgraphs import add_placeholder
from dynamo_lite.capture.graph.unrecorded import unrecorded
from dynamo_lite.control_flow import gradients
from dynamo_lite.control_flow.emission import call_cond, decode, output, record_loop, write_back
from dynamo_lite.control_flow.facts import facts_undone
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.loops import counting, relaid, scan_gradient
from dynamo_lite.control_flow.loops.bounded import Bounded
from dynamo_lite.control_flow.loops.carried import Carried, note_results
from dynamo_lite.control_flow.loops.iteration_results import check_added, iteration_results
from dynamo_lite.control_flow.merge import Pair
from dynamo_lite.control_flow.notes import line_of
from dynamo_lite.control_flow.states import Side, cannot_merge
from dynamo_lite.symbolic_shapes.expressions.expr import symbols_of
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, and_, ge, not_
from dynamo_lite.torch_internals._torch_fake import FakeTensor
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor


def emit_scan(loop: Any, carried: Carried, found: Carried) -> tuple[list[Any], list[torch.Tensor]]:
    """Record the scan of a DataLoop. Returns the carried values after it, and the items that iterations added."""
    tracer, recorder, body, pairs = loop.tracer, loop.tracer.recorder, found.side.level, carried.merge.pairs
    count = carried.number.of.count  # type: ignore[union-attr]
    is_counted = bool(loop.counted)
    is_empty_by_size = not is_counted and may_be_empty(tracer, count)
    may_be_none = is_empty_by_size or (is_counted and not isinstance(loop.counter, Bounded))
    if not may_be_none:
        recorder.guarded(torch._check, count >= 1)  # torch's scan needs a first iteration
    nodes = iteration_results(tracer, carried, found)
    check_added(tracer, carried, found)
    known = counting.left_out(body, nodes, pairs, loop.counted) if is_counted else {}
    kept = [index for index in range(len(pairs)) if index not in known]
    iterations = torch.sym_max(count, 1) if may_be_none and not is_empty_by_size else count
    parts = _Parts(loop, carried, found, nodes, kept, iterations)
    has_round = ge(recorder.env.unwrap(count), 1) if is_empty_by_size and recorder.env is not None else None
    results = _if_any(parts, loop.first_test(), has_round) if may_be_none else parts.recorded()
    required = [row for index, row in enumerate(carried.required) if index not in known]
    if not may_be_none:
        required = [row._replace(one=row.other) for row in required]
    results = gradients.as_on_the_sides(tracer, required, results)
    gradients.lose(tracer, required, results, line_of(loop.frame, loop.at), loop.loses)
    own, added = results[: len(parts.initial)], results[len(parts.initial) :]
    write_back(tracer, carried.inplace, own[len(parts.pairs) :], required[len(parts.pairs) :])
    if iterations is not count:
        added = [rows.narrow(0, 0, count) for rows in added]
    behind = iter(own)
    values = [known[index] if index in known else next(behind) for index in range(len(pairs))]
    states = zip(pairs, carried.fakes, found.outputs, values)
    groups = [(pair.left, *others) for pair, *others in states if pair.kind == "tensor"]
    predicate = loop.first_test() if may_be_none else None
    note_results(tracer, groups, [value for _, value in body.captured], predicate, zip(found.items, added))
    return [decode(tracer, pair.kind, result) for pair, result in zip(pairs, values)], added


def may_be_empty(tracer: Forking, count: Any) -> bool:
    """Whether a loop over sizes may have no iteration where no size is 0: over `rows[1:]`. (Of an empty input it has
    none either; that its sizes are at least 1 is a guard.)"""
    env = tracer.recorder.env
    if env is None or type(count) is not torch.SymInt or not count.node.has_hint():
        return False
    has_round = ge(env.unwrap(count), 1)
    if env.memo.decide(has_round) is not None:
        return False
    sizes = and_(*(ge(symbol.as_int(), 1) for symbol in symbols_of(has_round)))
    return env.memo.decide_under(sizes, has_round) is not True


class _Parts:
    """The arguments of a scan. at: the pairs that it carries, beside tensors changed in place; iterations: the
    count."""

    def __init__(
        self, loop: Any, carried: Carried, found: Carried, nodes: list[Any], at: list[int], iterations: Any
    ) -> None:
        self.tracer, self.body, self.nodes, self.in_module = loop.tracer, found.side.level, nodes, loop.in_module
        self.pairs: list[Pair] = [carried.merge.pairs[index] for index in at]
        tracer, recorder = self.tracer, self.tracer.recorder
        self.items = found.items
        self.iterations = iterations
        numbered = carried.number_node
        rows = _rows(tracer, self.body, numbered, iterations)
        is_numbered = bool(numbered.users)
        slices = [_numbers(tracer, self.body, numbered, self.iterations)] if numbered in self.body.arguments else []
        self.initial = [relaid.initial(carried, index) for index in at] + carried.inplace
        self.examples = [*(carried.examples[index] for index in at), *carried.inplace]
        self.has_gradient = loop.has_gradient(carried, found)
        why = _why_no_gradient([*self.initial, *found.items], is_numbered)
        if why and self.has_gradient and not loop.in_module:
            cannot_merge("loop-gradient", why=why)
        gradients.check_loop(tracer, [*(pair.left for pair in self.pairs), *found.outputs])
        self.body.may_mutate = False
        self.operands = recorder.guarded(subgraphs.operands_of, recorder, [self.body])
        if torch.is_grad_enabled() and not self.has_gradient:
            self.operands, rows = gradients.detached(tracer, self.operands), gradients.detached(tracer, rows)
        if loop.loses or (why and not recorder.grad_enabled):
            self.initial = [recorder.guarded(recorder.lift, value) for value in self.initial]
            parts = (gradients.without_gradients(tracer, part) for part in (self.initial, self.operands, rows))
            self.initial, self.operands, rows = parts
        if why and not recorder.grad_enabled:
            gradients.note_none(tracer, line_of(loop.frame, loop.at))
        separate(tracer, self.initial, self.operands)
        self.slices = slices + rows

    def recorded(self) -> list[Any]:
        """Record the scan. Returns its results."""
        tracer, recorder, initial, slices = self.tracer, self.tracer.recorder, self.initial, self.slices
        modules = subgraph_calls.finish(recorder, [self.body], [tuple(self.nodes)], ("scan_combine_graph_",))
        raised = None
        if self.has_gradient and not self.in_module:
            raised = scan_gradient.failure(tracer, modules[0], initial, slices, self.operands)
        if raised is not None:
            why = f"it would become torch's scan, and torch cannot make the gradient of such an iteration ({raised})"
            cannot_merge("loop-gradient", why=why)
        args = (*modules, initial, slices, tuple(self.operands))
        with unrecorded():
            examples = (*modules, self.examples, [recorder.fake(s) for s in slices])
        return record_loop(tracer, self.body, torch.ops.higher_order.scan, args, examples, self._known())

    def _known(self) -> tuple[torch.Tensor, ...] | None:
        """Return fake tensors for the results: torch runs the iteration again, and has no expressions for its sizes
        (slices by its number). None if they are left to torch: a carried tensor has a different layout."""
        recorder = self.tracer.recorder
        with unrecorded(), recorder.fake_mode:
            given = [*self.examples]
            items = [recorder.known_fake(item) for item in self.items]
            if not items or not all(type(t) is FakeTensor and is_dense(t) for t in (*given, *items)):
                return None
            made = [torch.empty(t.shape, dtype=t.dtype, device=t.device) for t in given]
            rows = [torch.empty((self.iterations, *t.shape), dtype=t.dtype, device=t.device) for t in items]
            return (*made, *rows)


def _if_any(parts: _Parts, predicate: Any, of_sizes: Bool | None) -> list[Any]:
    """Record the scan of a loop that may have no iteration, within torch.cond: torch's scan needs a first one.
    of_sizes: whether there is one, where sizes of the inputs decide that."""
    tracer, levels = parts.tracer, parts.tracer.recorder.levels
    none = [torch.zeros((parts.iterations, *t.shape), dtype=t.dtype, device=t.device) for t in parts.items]
    sides, outputs = [], []
    for has_round in (True, False):
        seen: set[int] = set()
        assumed = of_sizes if of_sizes is None or has_round else not_(of_sizes)
        with levels.entered(functional=True) as level, facts_undone(tracer, Side(level), assumed, keeps=True):
            results = parts.recorded() if has_round else [*parts.initial, *none]
            outputs.append(tuple([output(tracer, level, "tensor", result, seen, dense=False) for result in results]))
            level.may_mutate = False
        sides.append(level)
    if of_sizes is not None:  # program.module() runs the side that the sizes take
        predicate = tracer.recorder.env.wrap(of_sizes)
    return call_cond(tracer, predicate, sides, outputs, parts.has_gradient)


def _numbers(tracer: Forking, body: Level, numbered: fx.Node, count: Any) -> torch.Tensor:
    """Return the iteration numbers. If they are not used, they are floats: scan has a gradient then."""
    if numbered.users:
        return torch.arange(count)
    recorder, made = tracer.recorder, torch.zeros((count,))
    with recorder.levels.resumed(body):
        node = add_placeholder(body.graph, "unused_1", numbered)
        with unrecorded():
            row = recorder.fake(made).select(0, 0).clone()
        recorder.bind(row, node)
        recorder.keep.append(row)
    body.arguments[body.arguments.index(numbered)] = node
    body.graph.erase_node(numbered)
    return made


def _why_no_gradient(values: list[Any], is_numbered: bool) -> str:
    """Return why torch 2.13 cannot compute the gradient of its scan; "" if it can."""
    why = "it would become torch's scan, which has no gradient where "
    if is_numbered:
        return why + "an iteration computes with its number, other than by x[number]"
    if not all(value.is_floating_point() for value in values):
        return why + "it carries, or adds to a list, an object that is not a floating-point tensor"
    return ""


def _rows(tracer: Forking, body: Level, numbered: fx.Node, count: Any) -> list[torch.Tensor]:
    """Turn `operand.select(dim, number)` into a slice of its own. Returns the tensors that are sliced."""
    found: list[torch.Tensor] = []
    made: dict[tuple[fx.Node, int], fx.Node] = {}
    recorder = tracer.recorder
    operands = {node: value for node, value in body.captured if is_tensor(value)}
    numbers = [n for n in numbered.users if n.target is torch.ops.aten.item.default]
    for node in [user for number in numbers for user in number.users]:
        arguments: tuple[Any, ...] = (*node.args, None, None, None)
        operand, dim, number = arguments[:3]
        if node.target is not torch.ops.aten.select.int or number not in numbers or operand not in operands:
            continue
        outside = operands[operand]
        if storage_key(outside) in body.changed:
            continue
        key = operand, dim % outside.dim()
        if key not in made:
            rows = outside.movedim(key[1], 0).narrow(0, 0, count)
            found.append(rows)
            with recorder.levels.resumed(body):
                made[key] = add_placeholder(body.graph, f"row{len(made)}_1", body.arguments[-1])
                body.arguments.append(made[key])
                with unrecorded():
                    row = recorder.fake(rows).select(0, 0).clone()
                recorder.bind(row, made[key])
                recorder.keep.append(row)
        node.replace_all_uses_with(made[key])
        body.graph.erase_node(node)
    for number in numbers:
        if not number.users:
            body.graph.erase_node(number)
    if made and not numbered.users:
        body.arguments.remove(numbered)
        body.graph.erase_node(numbered)
    return found


def separate(tracer: Forking, initial: list[Any], operands: Sequence[Any]) -> None:
    """Give the initial values memory of their own, apart from the operands that the loop reads."""
    recorder = tracer.recorder
    taken = {storage_key(recorder.lift(operand)) for operand in operands if is_tensor(operand)}
    for index, value in enumerate(initial):
        if is_tensor(value):
            key = storage_key(recorder.lift(value))
            if key in taken:
                initial[index] = value.clone()
            taken.add(key)
