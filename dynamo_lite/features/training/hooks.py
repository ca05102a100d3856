"""Hooks on gradients that `backward()` runs in forward: they are part of the step.

The engine calls them where it does in eager, with a fake gradient, and they are interpreted. A parameter has its hooks
from before the run; the fake tensor that the engine knows gets one that calls them. A hook after the accumulation may
read any `.grad`, and `optimizer.step()` may be called there: then each gradient is accumulated when the engine has it,
in the engine's order, and not after all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch

from dynamo_lite.run.finished_run import FinishedRun
from dynamo_lite.torch_internals._torch_dispatch import DisableTorchFunction
from dynamo_lite.tracing.higher_order import autograd
from dynamo_lite.tracing.higher_order.autograd import HOOKS, HookKind, RegisteredHooks
from dynamo_lite.tracing.interfaces import FeatureState, TracerView
from dynamo_lite.tracing.tensors.autograd_nodes import GraphNodes
from dynamo_lite.tracing.vocabulary.type_tests import is_fake

Accumulate = Callable[[torch.Tensor, torch.Tensor], None]
"""(leaf, gradient): adds to the `.grad` of a leaf."""


class HooksRun(FeatureState):
    """The parameters whose hooks the program has run, with the hooks of each kind."""

    stays = "a guard of one side is a guard of the program"

    def __init__(self, tracer: TracerView) -> None:
        self.all: dict[int, tuple[torch.Tensor, dict[str, Sequence[Any]]]] = {}


def _hooks_of(tensor: torch.Tensor, kind: HookKind) -> list[Any]:
    with DisableTorchFunction():
        return [*(getattr(tensor, kind.attribute, None) or {}).values()]


def has_hooks(tensor: torch.Tensor, expected: dict[str, Sequence[Any]]) -> bool:
    """Whether a tensor has these hooks of each kind, in this order."""
    found = {kind.attribute: _hooks_of(tensor, kind) for kind in HOOKS}
    return found.keys() == expected.keys() and all(
        len(found[name]) == len(hooks) and all(one is other for one, other in zip(found[name], hooks))
        for name, hooks in expected.items()
    )


@contextmanager
def attached(tracer: TracerView, leaves: Sequence[torch.Tensor], accumulate: Accumulate) -> Iterator[set[int]]:
    """Have the engine call the hooks of parameters. Yields the ids of the leaves whose gradients are accumulated when
    the engine has been called."""
    for function, mark in tracer.own(GraphNodes).left_out:
        tracer.abort(tracer.graph_break("gradient-hook", mark, function=function))
    rows: list[tuple[torch.Tensor, list[Any], list[Any]]] = []
    for leaf in leaves:
        owner = tracer.recorder.original(leaf)
        if is_fake(owner) or tracer.recorder.input_number(leaf) is not None:
            autograd.check_hooks(tracer, leaf)
            rows.append((leaf, [], []))
            continue
        before, after = (_hooks_of(owner, kind) for kind in HOOKS)
        if not before and not after:
            autograd.check_hooks(tracer, leaf)  # which makes the guard
        else:
            names = (kind.attribute for kind in HOOKS)
            tracer.own(HooksRun).all[id(owner)] = owner, dict(zip(names, (before, after)))
        rows.append((leaf, before, after))
    done: set[int] = set()
    in_order = any(after for _, _, after in rows)
    handles = []
    for leaf, before, after in rows:
        if before or in_order:
            put = accumulate if in_order else None
            call = partial(_on_gradient, tracer, leaf, before, after, put, done)
            handles.append(torch.Tensor.register_hook(leaf, call))
    try:
        yield done
    finally:
        for handle in handles:
            handle.remove()


def _on_gradient(
    tracer: TracerView,
    leaf: torch.Tensor,
    before: Sequence[Any],
    after: Sequence[Any],
    accumulate: Accumulate | None,
    done: set[int],
    gradient: torch.Tensor,
) -> torch.Tensor:
    """The engine has the gradient of a leaf."""
    for hook in before:
        gradient = autograd.call_registered(tracer, hook, gradient)
    if accumulate is not None and gradient is not None:
        accumulate(leaf, gradient)
        done.add(id(leaf))
        for hook in after:
            tracer.vm.call(hook, (tracer.recorder.original(leaf),), {})
    return gradient


def guard(walk: Any, tracer: TracerView) -> None:
    """Guards on the hooks that the program has run: the parameter has these and no others."""
    for owner, hooks in tracer.own(HooksRun).all.values():
        source = walk.reached.get(id(owner)) or walk.constant(owner)
        walk.add("contents", source, partial(has_hooks, expected=hooks), None)


def judge(run: FinishedRun) -> None:
    """Refuse hooks registered in forward on the graph of a tensor that outlives the call: a later backward would run
    them in eager."""
    registered = run.tracer.own(RegisteredHooks).all
    if not registered:
        return
    changes = (*run.effects.pending, *run.effects.dropped, *run.effects.assigned.values())
    left = [*run.outputs.leaves, *(change.new for change in changes), *run.recorder.from_outside()]
    tensors = (value for value in left if isinstance(value, torch.Tensor))
    if any(tensor.requires_grad and not (tensor.is_leaf and run.recorder.is_input(tensor)) for tensor in tensors):
        function, mark = registered[0]
        raise run.tracer.graph_break("gradient-hook", mark, function=function)
