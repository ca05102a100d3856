"""The sides as sub-graphs: their in-place changes, their results, and the call of the operator.

A sub-graph of torch.cond or while_loop changes nothing and returns tensors with memory of their own. So a tensor that a
side changes in place is replaced by a clone of the operand inside, and by a `copy_` of the result outside.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import torch

from dynamo_lite.capture import CaptureError
from dynamo_lite.capture.alias_analysis import has_to_run
from dynamo_lite.capture.fakes.cond_outputs import known_outputs, of_one_layout
from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.graph import subgraph_calls, subgraphs
from dynamo_lite.capture.graph.level import Level
from dynamo_lite.capture.graph.remade_views import RemadeView, remade_view
from dynamo_lite.capture.graph.unrecorded import unrecorded
from dynamo_lite.capture.operator_rules.operands import is_dense
from dynamo_lite.control_flow import draws, gradients, operand_views, wide_integers
from dynamo_lite.control_flow.differences import answers, memory, same_memory, sizes
from dynamo_lite.control_flow.differences import layouts as layouts_of_sides
from dynamo_lite.control_flow.facts import assumed_again, keep_facts
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.merge import Merge
from dynamo_lite.control_flow.states import Side, cannot_merge
from dynamo_lite.symbolic_shapes.expressions.expr import symbols_of
from dynamo_lite.torch_internals._torch_dispatch import DisableTorchFunction
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

_VIEW = "a tensor changed in place, of which it also uses a view"


def changed_tensors(tracer: Forking, levels: Sequence[Level], operator: str) -> list[torch.Tensor]:
    """Return the outer tensors, as their fake tensors, that sub-graphs change in place."""
    found: dict[int, torch.Tensor] = {}
    for level in levels:
        keys: dict[int, int] = {}
        for _, value in level.captured:
            if is_tensor(value) and storage_key(value) in level.changed:
                found[id(value)] = value
                if keys.setdefault(storage_key(value), id(value)) != id(value):
                    tracer.refuse("subgraph-alias", operator=operator, what=_VIEW)
    if found:
        memory.keep_apart(tracer, found.values(), levels)
    return [*found.values()]


def functionalise(tracer: Forking, level: Level, arguments: Sequence[tuple[Any, Any]] = ()) -> None:
    """Replace each operand, or argument of the level's own, that the level changes in place by a clone of it."""
    if not level.changed:
        return
    recorder, graph = tracer.recorder, level.graph
    last = level.placeholders[-1]
    for node, value in [*level.captured, *arguments]:
        if is_tensor(value) and storage_key(value) in level.changed:
            with graph.inserting_after(last):
                clone = graph.call_function(torch.ops.aten.clone.default, (node,))
            clone.meta = {k: node.meta[k] for k in ("val", "tensor_meta") if k in node.meta}
            clone.meta["torch_fn"] = (clone.name, "OpOverload.clone")
            clone.meta["nn_module_stack"] = recorder.context.module_stack()
            node.replace_all_uses_with(clone, delete_user_cb=lambda user, clone=clone: user is not clone)
            if recorder.level.nodes.get(value) is node:
                recorder.level.nodes[value] = clone
            last = clone


def output(
    tracer: Forking, level: Level, kind: str, value: Any, seen: set[int], dense: bool, is_own: bool = False
) -> Any:
    """Return the node of a result, in the sub-graph that is being written.

    seen: the memory of earlier results. dense: contiguous, because the other side's has another layout. is_own: the
    level changes it in place.
    """
    if kind == "int":
        return value
    fake = tracer.recorder.guarded(tracer.recorder.lift, encode(tracer, kind, value))
    key = storage_key(fake)
    shared = key in seen or (key in level.storages and not (is_own and key in level.changed))
    if shared or dense:
        fake = fake.clone(memory_format=torch.contiguous_format) if dense else fake.clone()
        key = storage_key(fake)
    seen.add(key)
    return tracer.recorder.node_of(fake)


def encode(tracer: Forking, kind: str, value: Any) -> Any:
    """Return the form of a value in which it is passed to an operator."""
    if kind in ("bool", "predicate"):
        return tracer.predicates.tensor(value) if kind == "predicate" or not is_tensor(value) else value
    if kind == "flat":
        return value.clone(memory_format=torch.contiguous_format).view(-1)
    if kind in ("int64", "float64"):
        return wide_integers.as_tensor(tracer, value, getattr(torch, kind))
    return value


def decode(tracer: Forking, kind: str, result: Any) -> Any:
    """Return the value that an operator's result represents."""
    return tracer.predicates.item(result) if kind in ("bool", "int64", "float64") else result


# -- torch.cond --------------------------------------------------------------------------------------------------------


def emit_cond(tracer: Forking, merge: Merge, predicate: Any, left: Side, right: Side) -> str:
    """Record the torch.cond of two sides, and give the merge its results. Returns a description of the operator."""
    if merge.choice is not None and tracer.recorder.env.decide_node(predicate.node) is not None:  # type: ignore[union-attr]
        cannot_merge("branch-unsupported", why="the facts that its sides have added exclude one of them")
    for side in (left, right):
        operand_views.make_inside(tracer, side.level)
    targets = changed_tensors(tracer, [left.level, right.level], "a branch on data")
    pairs = [(p.kind, p.left, p.right) for p in merge.pairs] + [("tensor", t, t) for t in targets]
    if not pairs and not any(map(_has_effect, (left, right))) and not left.checks and not right.checks:
        return "nothing: both sides leave the same"
    told, last_target = _told(tracer, merge, left, right), len(pairs)
    remade = [_remade(tracer, pair, (left, right)) for pair in pairs]
    if told is not None:
        pairs += same_memory.as_results(tracer, told.returned(), (left, right))
    layouts = [kind == "tensor" and not _same_layout(a, b) for kind, a, b in pairs]
    given, pairs = pairs, [*_flattened(tracer, pairs, merge.choice)]
    layouts += [False] * (len(pairs) - len(given))
    levels = [left.level, right.level]
    with gradients.as_results_have(tracer, given[: len(merge.pairs)], levels):
        outputs = []
        for which, side in enumerate((left, right)):
            values = [(pair[0], pair[1 + which]) for pair in pairs]
            outputs.append(_outputs_of(tracer, side, values, layouts, range(len(merge.pairs), last_target)))
        changed_tensors(tracer, levels, "a branch on data")  # results may have taken views
        for level in levels:
            level.may_mutate = False
        required = gradients.of_sides(tracer, given[: len(merge.pairs)], targets, (left, right), outputs)
        has_gradient = gradients.may_have(required, (value for _, *both in given for value in both))
        if has_gradient:
            outputs = _drawn_before(tracer, predicate, levels, outputs)
        shapes = None if merge.choice is None else [_chosen(merge.choice, *pair) for pair in pairs]
        results = call_cond(tracer, predicate, levels, outputs, has_gradient, shapes)
        if shapes is not None:
            _assert_sizes(tracer, [(*pair, result) for pair, result, shape in zip(pairs, results, shapes) if shape])
    if not pairs:
        return "torch.cond, for its effects"
    decoded = [decode(tracer, pair[0], result) for pair, result in zip(pairs, results)]
    decoded = _unflattened(tracer, pairs, decoded, merge.choice)
    decoded = gradients.as_on_the_sides(tracer, required, decoded)
    for (kind, a, b), result in zip(given, decoded):
        if kind == "tensor":
            sizes.note(tracer, predicate, (left, right), a, b, result)
    tracer.chosen.note(given[: len(merge.pairs)], decoded)
    merge.give(decoded[: len(merge.pairs)])
    write_back(tracer, targets, decoded[len(merge.pairs) : last_target], required[len(merge.pairs) :])
    if told is not None:
        same_memory.note(tracer, told, _of_branch(tracer, predicate), decoded, decoded[last_target : len(given)])
    for (kind, a, b), result, views in zip(given[: len(merge.pairs)], decoded, remade):
        if kind == "tensor":
            layouts_of_sides.compare(tracer, a, b, result)
            if told is None:
                _note_branch(tracer, result, (a, b), predicate, views)
            answers.note(tracer, a, b, result)
    return f"torch.cond with {len(given)} result{'s' if len(given) != 1 else ''}"


def _told(tracer: Forking, merge: Merge, left: Side, right: Side) -> same_memory.Told | None:
    """What the results are, if the run tells them apart: branches on sizes have no results that are numbers."""
    may_share = tracer.recorder.may_share
    assert may_share is not None
    if merge.choice is not None or not may_share.has_flags:
        may_share.left_open |= merge.choice is None
        return None
    return same_memory.told(tracer, [(pair.kind, pair.left, pair.right) for pair in merge.pairs], (left, right))


def _drawn_before(tracer: Forking, predicate: Any, levels: list[Level], outputs: list[Any]) -> list[Any]:
    """Record a torch.cond of what sides draw at random. Returns their outputs, which use it (draws.py)."""
    found = draws.drawn_before(tracer, levels)
    if found is None:
        return outputs
    rows, drawing, drawn = found
    results = call_cond(tracer, predicate, drawing, drawn, has_gradient=False)
    return draws.use(tracer, levels, rows, results, outputs)


def write_back(
    tracer: Forking, targets: Sequence[torch.Tensor], results: Sequence[Any], required: Sequence[gradients.Required]
) -> None:
    """Give tensors the values that they have after a branch or a loop which changes them in place.

    A leaf that requires a gradient was changed without autograd seeing it (no_grad, detach): that holds here, too.
    """
    assert tracer.recorder.may_share is not None
    with tracer.recorder.may_share.off():
        for target, result, row in zip(targets, results, required):
            (target.detach() if target.is_leaf and target.requires_grad else target).copy_(result)
            gradients.note_written(tracer, target, row)


_Values = tuple[str, Any, Any]
_Choice = Callable[[Any, Any], Any] | None


def _flattened(tracer: Forking, pairs: Sequence[_Values], choice: _Choice = None) -> Iterator[_Values]:
    """Flatten results of which an inner size differs between the sides and is known at run time only: torch's rule for
    cond finds no strides for them. The sizes that differ follow all results. choice: returns these sizes as
    expressions, for a branch on sizes, whose results are flattened if any inner size differs."""
    inner = [_differing(tracer, a, b) if kind == "tensor" and not chosen(a, b, choice) else [] for kind, a, b in pairs]
    for (kind, a, b), dims in zip(pairs, inner):
        is_flat = dims or (kind == "tensor" and chosen(a, b, choice) and any(_different_sizes(tracer, a, b)[1:]))
        yield ("flat" if is_flat else kind), a, b
    for (_, a, b), dims in zip(pairs, inner):
        yield from (("int64", a.shape[dim], b.shape[dim]) for dim in dims)


def chosen(a: torch.Tensor, b: torch.Tensor, choice: _Choice) -> list[Any] | None:
    """Return the sizes of a result of a branch on sizes as expressions; None if a side has made one of them."""
    sizes = [] if choice is None else [choice(one, other) for one, other in zip(a.shape, b.shape)]
    return None if choice is None or None in sizes else sizes


def _different_sizes(tracer: Forking, a: torch.Tensor, b: torch.Tensor) -> list[bool]:
    return [not layouts_of_sides.are_equal(tracer, one, other) for one, other in zip(a.shape, b.shape)]


def _differing(tracer: Forking, a: torch.Tensor, b: torch.Tensor) -> list[int]:
    """Return the dimensions of different size, if one after the first is known at run time only; else none."""
    sizes = [*zip(a.shape, b.shape)]
    dims = [dim for dim, (one, other) in enumerate(sizes) if not layouts_of_sides.are_equal(tracer, one, other)]
    unknown = [dim for dim in dims if dim and any(is_unknown(size) for size in sizes[dim])]
    return dims if unknown else []


def is_unknown(size: Any) -> bool:
    """Whether only run time knows a size."""
    return type(size) is torch.SymInt and size.node.maybe_as_int() is None and not size.node.has_hint()


def _unflattened(tracer: Forking, pairs: Sequence[_Values], results: list[Any], choice: _Choice = None) -> list[Any]:
    known = [chosen(a, b, choice) if kind == "flat" else None for kind, a, b in pairs]
    asked = [kind == "flat" and shape is None for (kind, *_), shape in zip(pairs, known)]
    own = [_differing(tracer, a, b) if is_asked else [] for (_, a, b), is_asked in zip(pairs, asked)]
    sizes = iter(results[len(pairs) - sum(map(len, own)) :])
    check = tracer.recorder.guarded
    for index, (_, a, _) in enumerate(pairs):
        if (shape_known := known[index]) is not None:
            results[index] = results[index].view(shape_known)
        if not asked[index]:
            continue
        shape, flat = list(a.shape), results[index]
        for dim in own[index]:
            shape[dim] = next(sizes)
            check(torch._check, shape[dim] >= 0)
        check(torch._check, flat.shape[0] == math.prod(shape))
        results[index] = flat.view(shape)
    return results


def _has_effect(side: Side) -> bool:
    return any(has_to_run(node, side.level.modules) for node in side.level.graph.nodes)


def _outputs_of(
    tracer: Forking, side: Side, values: list[tuple[str, Any]], layouts: list[bool], targets: range
) -> tuple[Any, ...]:
    recorder = tracer.recorder
    with recorder.levels.resumed(side.level) as level, assumed_again(tracer, side):
        functionalise(tracer, level)
        seen: set[int] = set()
        nodes = [
            output(tracer, level, kind, value, seen, dense, is_own=index in targets)
            for index, ((kind, value), dense) in enumerate(zip(values, layouts))
        ]
        assert_facts(tracer, side)
        if not nodes:
            nodes = [recorder.node_of(torch.zeros((), dtype=torch.bool))]
    return tuple(nodes)


def assert_facts(tracer: Forking, side: Side) -> None:
    """Record in the current sub-graph the facts of this side about outer values that are known at run time only."""
    recorder = tracer.recorder
    for fact in side.checks:
        assert recorder.env is not None
        try:
            holds = recorder.lower_symbolic(recorder.env.wrap(fact.relation))
        except CaptureError:  # about a value that a sub-graph of this one makes, which asserts it
            recorder.env.of_subgraphs.append(fact)
            continue
        if not isinstance(holds, bool):
            text = f"Runtime assertion failed for expression {fact.relation}, from {fact.origin}".replace('"', "'")
            recorder.call_node(torch.ops.aten._assert_scalar.default, (holds, text), {}, "_assert_scalar")


def _chosen(choice: Callable[[Any, Any], Any], kind: str, a: Any, b: Any) -> list[Any] | None:
    """Return the sizes of a result of a branch on sizes; None if it is not a tensor, or has sizes of its own."""
    sizes = chosen(a, b, choice) if kind in ("tensor", "flat") else None
    return sizes if sizes is None or kind == "tensor" else [math.prod(sizes)]


def _assert_sizes(tracer: Forking, rows: Sequence[tuple[str, Any, Any, Any]]) -> None:
    """Record which expressions the sizes of results are that the sides give differently: where torch runs its operator
    again (`run_decompositions`), it takes them for unknown. rows: (kind, one side's, the other's, the result)."""
    recorder = tracer.recorder
    for kind, a, b, result in rows:
        for dim, size in enumerate(result.shape):
            same = kind == "tensor" and layouts_of_sides.are_equal(tracer, a.shape[dim], b.shape[dim])
            if not isinstance(size, torch.SymInt) or same:
                continue
            of_result = recorder.call_node(torch.ops.aten.sym_size.int, (recorder.node_of(result), dim), {}, "sym_size")
            of_result.meta["val"] = size
            holds = recorder.call_node(operator.eq, (of_result, recorder.lower_symbolic(size)), {}, "eq")
            holds.meta["val"] = size == size
            text = "Runtime assertion failed: the size of a branch's result"
            recorder.call_node(torch.ops.aten._assert_scalar.default, (holds, text), {}, "_assert_scalar")


def call_cond(
    tracer: Forking,
    predicate: Any,
    levels: list[Level],
    outputs: list[Any],
    has_gradient: bool,
    shapes: Sequence[Sequence[Any] | None] | None = None,
) -> list[Any]:
    """Record a torch.cond of two sub-graphs, which return `outputs`. Returns its results. shapes: as in
    `known_outputs`."""
    recorder = tracer.recorder
    operands = recorder.guarded(subgraphs.operands_of, recorder, levels)
    if not has_gradient:
        operands = gradients.detached(tracer, operands)
    modules = subgraph_calls.finish(recorder, levels, outputs, ("true_graph_", "false_graph_"))
    args = (predicate, *modules, tuple(operands))
    cond = torch.ops.higher_order.cond

    def run() -> Any:
        return _recorded(tracer, cond, args, known=known_outputs(recorder.fake_mode, recorder.env, outputs, shapes))

    results = _with_its_own_facts(tracer, levels[0], run)
    subgraph_calls.mark_branch(recorder.graph)
    gradients.check_draws(tracer, modules, results)
    return results


def _with_its_own_facts(tracer: Forking, level: Level, run: Callable[[], Any]) -> list[Any]:
    """Return the results of an operator. Facts from running its sub-graphs are true where they run; kept are those
    about values known outside, and about the results."""
    env = tracer.recorder.env
    if env is None:
        return list(run())
    mark, facts, symbols = env.core.snapshot(), len(env.core.facts), set(env.core.symbols.values())
    try:
        results = list(run())
    except BaseException:
        env.core.rollback(mark)
        raise
    new_facts = env.core.facts[facts:]
    env.core.rollback(mark)
    known = symbols.union(*(symbols_of(env.unwrap(size)) for size in _sizes(results)))
    keep_facts(tracer, Side(level), [f for f in new_facts if symbols_of(f.relation) <= known], symbols)
    return results


def _sizes(results: Sequence[Any]) -> Iterator[Any]:
    for result in results:
        if is_tensor(result):
            yield from (size for size in result.shape if type(size) is torch.SymInt)
        elif type(result) is torch.SymInt:
            yield result


def _recorded(
    tracer: Forking,
    op: Any,
    args: tuple[Any, ...],
    run_on: tuple[Any, ...] | None = None,
    known: Sequence[Any] | None = None,
) -> Any:
    recorder = tracer.recorder
    with unrecorded(), recorder.env.laying_out() if recorder.env is not None else nullcontext():
        return recorder.guarded(subgraph_calls.record, recorder, op, args, {}, run_on, True, known)


def record_loop(
    tracer: Forking,
    level: Level,
    op: Any,
    args: Sequence[Any],
    examples: Sequence[Any],
    known: Sequence[torch.Tensor] | None = None,
) -> list[Any]:
    """Record a loop. args: its arguments: modules, lists of values, and last the operands; it runs on `examples` in
    place of the lists, since the results must not depend on the values of the first iteration. known: fake tensors for
    the results, if they are known."""
    *_, operands = args
    fakes = tuple(tracer.recorder.fake(operand) for operand in operands)
    return _with_its_own_facts(tracer, level, lambda: _recorded(tracer, op, tuple(args), (*examples, fakes), known))


# -- memory ------------------------------------------------------------------------------------------------------------


def note_shared(tracer: Forking, result: torch.Tensor, others: Sequence[torch.Tensor]) -> None:
    """`result` would be one of `others` in eager (capture/may_share.py)."""
    may_share = tracer.recorder.may_share
    assert may_share is not None
    may_share.note(tracer.recorder.known_fake(result), [tracer.recorder.known_fake(o) for o in others])


def note_list(tracer: Forking, rows: torch.Tensor) -> None:
    """Items of a list are taken from `rows` (capture/may_share.py)."""
    may_share = tracer.recorder.may_share
    assert may_share is not None
    may_share.note_list(tracer.recorder.known_fake(rows))


_Remade = Sequence[RemadeView | None]


def _remade(tracer: Forking, pair: _Values, sides: tuple[Side, Side]) -> _Remade:
    """How the tensors of both sides are views that these have made of tensors from around them."""
    kind, *values = pair
    if kind != "tensor":
        return (None, None)
    recorder = tracer.recorder
    fakes = [recorder.known_fake(value) for value in values]
    return [None if recorder.levels.sees(f) else remade_view(side.level, f) for side, f in zip(sides, fakes)]


def _note_branch(
    tracer: Forking, result: torch.Tensor, sides: Sequence[torch.Tensor], predicate: Any, remade: _Remade
) -> None:
    recorder = tracer.recorder
    assert recorder.may_share is not None
    recorder.may_share.note_branch(
        recorder.known_fake(result),
        [recorder.known_fake(side) for side in sides],
        _of_branch(tracer, predicate),
        remade,
    )


def _of_branch(tracer: Forking, predicate: Any) -> Any:
    return tracer.recorder.known_fake(predicate) if is_tensor(predicate) else predicate


def _same_layout(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.layout is not torch.strided:
        return True
    with DisableTorchFunction():
        one, other = list(a.stride()), list(b.stride())
        offsets = [a.storage_offset(), b.storage_offset()]
        if any(type(s) is torch.SymInt for s in (*one, *other, *a.shape, *b.shape, *offsets)):
            return not any(map(is_unknown, (*a.shape, *b.shape))) and of_one_layout(a, b)
        return one == other and offsets == [0, 0] and is_dense(a.shape, one)
