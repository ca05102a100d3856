"""Sizes that the program stores in its Python state: if a later call would see them, they are the example's.

`self.window = min(self.window, x.shape[2])` stores a size. The next call finds a number, so the program is right for
the sizes that give this number. A trace that ends so is made again with that known from the start (`PersistedFacts`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from dynamo_lite.symbolic_shapes import Origin
from dynamo_lite.symbolic_shapes.expressions.expr import Atom, Int, symbols_of
from dynamo_lite.symbolic_shapes.expressions.substitution import substitute
from dynamo_lite.symbolic_shapes.proofs.facts import Fact
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv
from dynamo_lite.symbolic_shapes.torch_env.inputs import TensorPolicy
from dynamo_lite.symbolic_shapes.torch_node.symbolic_types import PYTHON_TYPE
from dynamo_lite.tracing.heap.journal import Change
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.later_calls.free_sizes import symbolic
from dynamo_lite.tracing.vocabulary.program_points import frames_at

if TYPE_CHECKING:
    from dynamo_lite.program.shapes.dynamic_shapes import DeclaredInputs


class PersistedFacts(Exception):
    """The facts without which a later call would see other numbers. A trace with them may need no others."""

    def __init__(self, facts: Sequence[Fact]) -> None:
        super().__init__(*map(str, facts))
        self.facts = tuple(facts)


def fix(tracer: TracerView, changes: Sequence[Change]) -> list[Change]:
    """Return the changes with the example's numbers, also on the heap, for the sizes that they store.

    Those that restore the old value are left out.
    """
    return [change for change in (_fixed(tracer, change) for change in changes) if change is not None]


def sizes_in(changes: Sequence[Change]) -> list[tuple[Change, Any]]:
    """The sizes that the changes leave, in containers and as sizes of tensors too, each with its change."""
    return [(change, size) for change in changes for value in symbolic([change]) for size in _sizes(value)]


def facts_of(tracer: TracerView, found: Sequence[tuple[Change, Any]]) -> list[Fact] | None:
    """Return the facts about sizes once these are the example's. None if there are none, or some have no example."""
    env = tracer.recorder.env
    if env is None or not found or any(size.node.hint is None for _, size in found):
        return None
    for change, size in found:
        _number(env, change, size)
    return [fact for fact in env.core.facts if fact.kind == "guard"]


def _sizes(value: Any) -> list[Any]:
    """The sizes that a size, or a tensor, is made of."""
    sizes = value.shape if isinstance(value, torch.Tensor) else (value,)
    return [size for size in sizes if type(size) in PYTHON_TYPE]


def fix_inputs(env: TorchShapeEnv, declared: DeclaredInputs) -> None:
    """The inputs' sizes that `assume` made constant are numbers from the start."""

    def fixed(size: Any) -> Any:
        return env.core.simplify(size) if isinstance(size, Int) else size

    for number, policy in enumerate(declared.policies):
        if isinstance(policy, TensorPolicy):
            declared.policies[number] = TensorPolicy([*map(fixed, policy.sizes)], policy.source)
        else:
            declared.policies[number] = fixed(policy)


def assume(env: TorchShapeEnv, facts: Sequence[Fact]) -> None:
    """Assume the facts that an earlier trace of the same call found, for the symbols of the same names."""
    for fact in facts:
        symbols, ours = symbols_of(fact.relation), env.core.symbols
        if any(symbol.name not in ours for symbol in symbols):
            continue  # a value that the program reads from data
        mapping: dict[Atom, Int] = {symbol: ours[symbol.name].as_int() for symbol in symbols}
        env.core.assume(substitute(fact.relation, mapping), fact.origin, fact.kind)


def _fixed(tracer: TracerView, change: Change) -> Change | None:
    place, kind = _place(change), PYTHON_TYPE.get(type(change.new))
    env = tracer.recorder.env
    if place is None or kind is None or env is None or change.new.node.hint is None:
        return change
    place[change.key] = number = _number(env, change, change.new)
    return None if type(change.old) is kind and change.old == number else change._replace(new=number)


def _number(env: TorchShapeEnv, change: Change, size: Any) -> Any:
    """The example's number for a size that a change leaves. It becomes a fact."""
    where, frames = env.where, frames_at(change.mark)
    if frames:  # none with strict=False, where changes are found after the run
        at, note = frames[-1], "(a later call finds this size)"
        env.where = lambda: Origin("user line", at.filename, at.lineno, at.source, note, frames)
    try:
        return PYTHON_TYPE[type(size)](size)
    finally:
        env.where = where


def _place(change: Change) -> Any:
    """The dict that holds the changed entry, if it is a plain one."""
    holder = getattr(change.owner, "__dict__", None) if change.part == "attributes" else change.owner
    return holder if type(holder) is dict and change.key in holder else None
