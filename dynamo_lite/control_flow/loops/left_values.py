"""Values of a side that leaves a loop for variables that are dead after it: zeros, or those of the continuing side.

    for _ in range(20):
        ...
        if done.all(): break        # this side's logits and cache are dead
        logits, cache = step(new, cache)

Without this, both sides would have to agree on the shape of `logits`.
"""

from __future__ import annotations

from typing import Any

import torch

from dynamo_lite.control_flow.differences.layouts import are_equal
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.reachable import Used
from dynamo_lite.control_flow.states import OpenLoop, Side
from dynamo_lite.interpreter.code.sentinels import UNBOUND
from dynamo_lite.interpreter.flow import flow_of
from dynamo_lite.symbolic_shapes.expressions.expr import symbols_of
from dynamo_lite.tracing.heap.snapshots import MISSING
from dynamo_lite.tracing.vocabulary.symbolic_numbers import SYMBOLIC
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor
from dynamo_lite.value_types import CONSTANTS


class _NoValue(Exception):
    """There is no substitute for a value on the other side."""


def fill(tracer: Forking, loop: OpenLoop, goes: Side, leaves: Side) -> None:
    """Change the state of the side that has left the loop, where it is not used."""
    assert goes.state is not None and leaves.state is not None and leaves.left_at is not None
    filling = _Filling(tracer, leaves)
    live = flow_of(loop.frame.info).live(leaves.left_at)
    again = flow_of(loop.frame.info).live(min(loop.again))
    variables = leaves.state.locals
    for index, value in enumerate(goes.state.locals):
        if value is not variables[index] and again >> index & 1 and not live >> index & 1:
            variables[index] = filling.of(value, variables[index])
            loop.filled.add(index)
    used = Used(tracer, loop.frame, leaves, leaves.left_at)
    old = tracer.writes.old_among(snapshot.owner for snapshot, _ in goes.heap.values())
    for key, (snapshot, contents) in [*goes.heap.items()]:
        own = leaves.heap[key][1] if key in leaves.heap else snapshot.contents
        if type(contents) in (dict, list) and id(snapshot.owner) not in old and snapshot.owner not in used:
            leaves.heap[key] = snapshot, filling.contents(contents, own)


class _Filling:
    """Makes values for the side that has left."""

    def __init__(self, tracer: Forking, side: Side) -> None:
        self.tracer, self.side = tracer, side
        self.zeros: dict[int, Any] = {}

    def of(self, value: Any, own: Any) -> Any:
        """Return a substitute for `value`, of the continuing side; `own` if that is suitable, or if there is none."""
        if is_tensor(value) and is_tensor(own) and value.dtype == own.dtype and self._is_shaped(value, own):
            return own
        if type(value) in SYMBOLIC and type(own) is type(value):
            return own
        try:
            return self._made(value)
        except _NoValue:
            return own

    def _is_shaped(self, value: torch.Tensor, own: torch.Tensor) -> bool:
        """Whether two tensors provably have the same shape."""
        sizes = zip(value.shape, own.shape)
        return value.dim() == own.dim() and all(are_equal(self.tracer, one, other) for one, other in sizes)

    def contents(self, contents: Any, own: Any) -> Any:
        """Return the same for the contents of a dict or a list."""
        if type(contents) is dict:
            entries = own if type(own) is dict else {}
            return {key: self.of(value, entries.get(key, MISSING)) for key, value in contents.items()}
        items = own if type(own) is list else []
        return [self.of(value, items[i] if i < len(items) else MISSING) for i, value in enumerate(contents)]

    def _made(self, value: Any) -> Any:
        if value is UNBOUND or isinstance(value, CONSTANTS):
            return value
        if id(value) in self.zeros:
            return self.zeros[id(value)]
        kind = type(value)
        if is_tensor(value):
            made: Any = self._zeros(value)
        elif kind is tuple:
            made = tuple(self._made(part) for part in value)
        elif kind in (list, dict):
            made = kind()
            self.zeros[id(value)] = made
            self.side.new.add(id(made))
            if kind is list:
                made += [self._made(part) for part in value]
            else:
                made.update({key: self._made(part) for key, part in value.items()})
        else:
            raise _NoValue
        self.zeros[id(value)] = made
        self.side.keep += [value, made]
        return made

    def _zeros(self, value: torch.Tensor) -> torch.Tensor:
        env = self.tracer.recorder.env
        if value.layout is not torch.strided or type(value) is torch.nn.Parameter:
            raise _NoValue
        for size in value.shape:
            known = type(size) is int or (
                env is not None and all(symbol.hint is not None for symbol in symbols_of(env.unwrap(size)))
            )  # other sizes may be made on the side that goes on
            if not known:
                raise _NoValue
        with self.tracer.recorder.levels.resumed(self.side.level):
            return torch.zeros(value.shape, dtype=value.dtype, device=value.device)
