"""A function that a control-flow operator was given, interpreted into a sub-graph.

The operator decides at run time whether and how often it runs, so its effects besides the return value cannot be part
of the program: changes of outer state are refused, reads are fine.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.graph import subgraph_calls
from dynamo_lite.capture.graph.level import Level
from dynamo_lite.capture.graph.unrecorded import unrecorded
from dynamo_lite.capture.kernels import functorch
from dynamo_lite.symbolic_shapes.torch_node.symbolic_types import SYMBOLIC_TYPES
from dynamo_lite.torch_internals._torch_pytree import pytree
from dynamo_lite.tracing.effects import classify, descriptions
from dynamo_lite.tracing.feature_state import changes, restore_all, save_all
from dynamo_lite.tracing.heap.instance_dicts import OwnedDicts
from dynamo_lite.tracing.heap.journal import Journal
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.vocabulary.process_state import TorchState


@dataclass
class TracedFunction:
    """A function that has been interpreted into a sub-graph: its level, and its result, flattened."""

    level: Level
    leaves: list[Any]
    spec: pytree.TreeSpec

    def outputs(self, tracer: TracerView) -> list[Any]:
        """Return the results as fx arguments: a node per tensor or symbolic size, constants as such."""
        return self._nodes

    _nodes: list[Any]


def trace(
    tracer: TracerView,
    operator: str,
    function: Any,
    args: Callable[[], Sequence[Any]],
    *,
    may_mutate: bool = False,
    may_alias: bool = False,
    tells_aliases: bool = False,
    plain: Callable[[torch.Tensor], torch.Tensor] | None = None,
) -> TracedFunction:
    """Interpret `function(*args())` into a sub-graph of its own.

    operator: its name for messages ("torch.cond"); args is called inside of the new level, and makes the arguments
    there (`levels.argument`, or outer tensors as they are). may_mutate: it may change its operands in place;
    may_alias: its results may share memory with them; tells_aliases: raises SharesMemory if they do.
    plain: a function applied to each tensor that it returns; without it the function may not be inside of a functorch
    transform.

    Refuses ("subgraph-...") effects, exceptions and results that no sub-graph can return.
    """
    recorder = tracer.recorder
    if plain is None and functorch.active():
        tracer.refuse("control-flow-in-transform", operator=operator)
    with recorder.levels.entered(may_mutate) as level, no_effects(tracer, operator):
        arguments = args()
        try:
            result = tracer.vm.call(function, tuple(arguments), {})
        except Exception as error:
            if tracer.broken is not None:
                raise
            tracer.refuse("subgraph-raises", operator=operator, error=f"{type(error).__name__}: {error}")
        leaves, spec = pytree.tree_flatten(result)
        if plain is not None:
            leaves = [plain(leaf) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        nodes = [_output(tracer, operator, leaf) for leaf in leaves]
        what = None if may_alias else _aliases(tracer, level, leaves)
        if what is not None and tells_aliases:
            level.put_back_memos()
            raise SharesMemory
        if what is not None:
            tracer.refuse("subgraph-alias", operator=operator, what=what)
    level.put_back_memos()
    return TracedFunction(level, leaves, spec, nodes)


def record_call(
    tracer: TracerView, operator: Any, args: tuple[Any, ...], known: Sequence[torch.Tensor] | None = None
) -> Any:
    """Record a call of an operator whose sub-graphs `subgraph_calls.finish` made. known: what comes out, if known.

    Below autograd: torch's rule for the gradient traces the sub-graphs again, and the conditions on sizes that it meets
    there (whether a size is 1) would become conditions of the program.
    """
    recorder = tracer.recorder
    with unrecorded():
        return recorder.guarded(subgraph_calls.record, recorder, operator, args, {}, None, True, known)


def _output(tracer: TracerView, operator: str, leaf: Any) -> Any:
    recorder = tracer.recorder
    if isinstance(leaf, torch.Tensor):
        return recorder.guarded(recorder.node_of, leaf)
    if isinstance(leaf, SYMBOLIC_TYPES):
        return recorder.guarded(recorder.lower_symbolic, leaf)
    if leaf is None or isinstance(leaf, (bool, int, float, str, torch.dtype, torch.device)):
        return leaf
    tracer.refuse("subgraph-output", operator=operator, what=f"a {type(leaf).__qualname__}")


class SharesMemory(Exception):
    """A result of a sub-graph would share memory with one of its operands, or with another result."""


def _aliases(tracer: TracerView, level: Level, leaves: list[Any]) -> str | None:
    """Describe a result of a sub-graph that has no memory of its own: it is an operand's, or another result's."""
    seen: set[int] = set()
    for leaf in leaves:
        if isinstance(leaf, torch.Tensor):
            key = storage_key(tracer.recorder.lift(leaf))
            if key in level.storages:
                return "one of its inputs, or a view of it"
            if key in seen:
                return "the same memory twice"
            seen.add(key)
    return None


@contextmanager
def no_effects(tracer: TracerView, operator: str) -> Iterator[None]:
    """Refuses net changes of objects that are older than the block, and of torch's switches."""
    before = (
        gc.get_objects()
    )  # those that the trace has made so far (generations.py froze the rest); held, so that ids stay
    older = {id(o) for o in before}
    outer, tracer.journal = tracer.journal, Journal(tracer.mark)
    made = set(tracer.made_dicts)
    tracer.made_dicts.clear()
    state = TorchState()
    saved = save_all(tracer)
    try:
        yield
        _check_journal(tracer, operator, older, made)
        for name, _, now in state.changed():
            tracer.refuse("subgraph-effect", operator=operator, what=f"{name} (it leaves {now})")
        for what in changes(saved):
            tracer.refuse("subgraph-effect", operator=operator, what=what)
    finally:
        inner, tracer.journal = tracer.journal, outer
        outer.absorb(inner)
        tracer.made_dicts |= made
        restore_all(saved)


def _check_journal(tracer: TracerView, operator: str, older: set[int], older_dicts: set[int]) -> None:
    """older: ids of the trace's own objects before; older_dicts: of its dicts, which the collector may not track."""
    journal = tracer.journal
    if not journal:
        return
    tracer.heap.refresh()
    for change in journal.changes():
        owner = tracer.own(OwnedDicts).owner_of(change.owner)  # whose dict is as old as itself
        if owner is None:
            owner = change.owner
        is_older = id(owner) in older or (type(owner) is dict and id(owner) in older_dicts)
        if id(owner) in tracer.made_dicts or (not is_older and tracer.heap.is_new(owner)):
            continue
        if classify._same_value(change.old, change.new) or classify._place(change) in classify.INVISIBLE:
            continue
        what = descriptions.describe_target(tracer, change)
        tracer.abort(tracer.graph_break("subgraph-effect", change.mark, operator=operator, what=what))
