"""Finds tables of the module that a program replaces by longer ones for longer inputs.

If the example is one for which a table is replaced, the run has shown it. Otherwise the example's answer to a branch
has excluded the longer inputs, and a run with some of these shows the program's behaviour there. Either gives
HeldTables (tracing/later_calls/held_tables.py), with which the program is traced again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from dynamo_lite.errors import InternalError
from dynamo_lite.program import FlatInputs
from dynamo_lite.run.request import RunRequest
from dynamo_lite.run.run import Run, traced
from dynamo_lite.symbolic_shapes.dims.specs import Auto
from dynamo_lite.symbolic_shapes.expressions.evaluation import evaluate
from dynamo_lite.symbolic_shapes.expressions.expr import Int, Symbol, symbols_of
from dynamo_lite.symbolic_shapes.expressions.relations import Bool
from dynamo_lite.symbolic_shapes.torch_env.inputs import TensorPolicy
from dynamo_lite.tracing.findings import SizeBranches
from dynamo_lite.tracing.later_calls.free_sizes import symbolic_within
from dynamo_lite.tracing.later_calls.held_tables import HeldTables, held_tables

_LONGEST = 2**20


def replaced_tables(request: RunRequest, run: Run) -> HeldTables | None:
    """The tables that the program replaces, in this run, which is over, or in one with longer inputs; None if none."""
    if run.declared is None or not hasattr(run, "effects"):
        return None
    if replaces_tables(run):
        return _of(run)
    sizes = _longer(run) if _holds_tables(run) else None
    if sizes is None:
        return None
    try:
        inputs = _inputs_of(run, sizes)
        if inputs is None:
            return None
        with traced(replace(request, inputs=inputs)) as longer:
            pass
    except InternalError:
        raise
    except Exception:  # the program's own as well, which takes no such inputs
        return None
    return _of(longer)


def _holds_tables(run: Run) -> bool:
    """Whether the program uses what may be such a table. (One that uses none need not be run, which may take long.)"""
    return any(not lifted.tensor.requires_grad for lifted in run.recorder.lifted)


def replaces_tables(run: Run) -> bool:
    """Whether a run has replaced what may be such tables."""
    return any(map(_is_replaced, run.effects.pending))


def settle_tables(run: Run, held: HeldTables, is_decided: bool) -> None:
    """At the end of a trace that has found shorter tables: its graph is about those that are held. Raises GraphBreak
    if the program uses one itself, or leaves other changes that a later call may see: it was not traced from the state
    that is there. is_decided: a second trace has shown that the program is the same from any such state.
    """
    left = [*run.effects.pending, *run.effects.dropped]
    is_right = is_decided and all(map(held.has, left)) and held.settle(run.recorder)
    if not is_right:
        target = "a table of the module"
        raise run.tracer.graph_break("python-state", target=target, old="its contents", new="another one")
    run.effects.pending = [*map(held.as_held, run.effects.pending)]


def _is_replaced(change: Any) -> bool:
    return type(change.old) in (int, tuple, torch.Tensor) and bool(symbolic_within([change.new]))


def _of(run: Run) -> HeldTables | None:
    changes = [*run.effects.pending, *run.effects.dropped]
    return held_tables(changes, run.fingerprint()) if any(map(_is_replaced, changes)) else None


def _longer(run: Run) -> dict[Symbol, int] | None:
    """Return sizes for which the branches take the other side that the example's sizes have closed to longer inputs;
    None if there are no such branches."""
    assert run.declared is not None
    table = run.declared.table
    hints = {symbol: int(symbol.hint or 0) for symbol in table.symbols()}
    auto = [symbol for symbol in hints if isinstance(table.spec_of(symbol), Auto)]
    sizes = dict(hints)
    for relation in dict.fromkeys(run.tracer.own(SizeBranches).left):
        for symbol in symbols_of(relation) & hints.keys():
            size = _first_other(relation, symbol, hints)
            if size is not None:
                equal = [other for other in auto if hints[other] == hints[symbol]] if symbol in auto else [symbol]
                sizes.update((other, max(size, sizes[other])) for other in equal)
    return sizes if sizes != hints else None


def _first_other(relation: Bool, symbol: Symbol, sizes: dict[Symbol, int]) -> int | None:
    """The least larger size for which a relation, which may be so from there on, has another truth."""
    try:
        truth = evaluate(relation, sizes)
        same, other = sizes[symbol], max(2 * sizes[symbol], 2)
        while evaluate(relation, {**sizes, symbol: other}) is truth:
            same, other = other, 2 * other
            if other > min(_LONGEST, symbol.hi):
                return None
        while other - same > 1:
            middle = (other + same) // 2
            is_same = evaluate(relation, {**sizes, symbol: middle}) is truth
            same, other = (middle, other) if is_same else (same, middle)
        return other
    except (ArithmeticError, ValueError, KeyError):
        return None


def _inputs_of(run: Run, sizes: dict[Symbol, int]) -> FlatInputs | None:
    """The inputs of a call with these sizes, of which the run reads no data; None if they cannot be made."""
    assert run.declared is not None
    if run.inputs.is_foreign:
        return None
    made: dict[int, Any] = {}
    for leaf, policy in zip(run.inputs.leaves, run.declared.policies):
        if policy is not None and id(leaf) not in made:
            made[id(leaf)] = _longer_leaf(leaf, policy, sizes)
            if made[id(leaf)] is None:
                return None
    rows = zip(run.inputs.leaves, run.declared.policies)
    leaves = [leaf if policy is None else made[id(leaf)] for leaf, policy in rows]
    args, kwargs = run.inputs.unflatten(leaves)
    return replace(run.inputs, args=args, kwargs=kwargs, leaves=leaves)


def _longer_leaf(leaf: Any, policy: Any, sizes: dict[Symbol, int]) -> Any:
    if isinstance(policy, Int):
        return evaluate(policy, sizes)
    if not isinstance(policy, TensorPolicy) or type(leaf) is not torch.Tensor or not leaf.is_contiguous():
        return None
    if not all(expression is None or isinstance(expression, Int) for expression in policy.sizes):
        return None
    shape = [evaluate(expression, sizes) if isinstance(expression, Int) else size
             for size, expression in zip(leaf.shape, policy.sizes)]  # fmt: skip
    return torch.empty(shape, dtype=leaf.dtype, device=leaf.device).requires_grad_(leaf.requires_grad)
