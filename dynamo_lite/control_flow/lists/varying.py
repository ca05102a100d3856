"""Lists that a program makes with a length that varies: `[x] * n`, `list(range(n))`, `list(x.split(4))`."""

from __future__ import annotations

from typing import Any

import torch

from dynamo_lite.control_flow.emission import note_list
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.lists.grown import GrownList, GrownTuple
from dynamo_lite.control_flow.lists.parts import NUMBERS
from dynamo_lite.control_flow.loops.counted import Iterations, RepeatedIterations
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor


def make_list(kind: type[GrownList], tracer: Forking, iterations: Iterations) -> GrownList:
    """Return list() or tuple() of the items of a loop."""
    tracer.made_list = True
    kept = iterations.kept()
    for tensor in kept.tensors():
        note_list(tracer, tensor)
    return kind(tracer, [kept])


def repeated(tracer: Forking, left: Any, right: Any) -> Any:
    """`[x] * n`, `n * (x,)` for a size that varies; else NOT_HANDLED. (Of several items the number is taken.)"""
    items, count = (left, right) if type(left) in (list, tuple) else (right, left)
    is_open = type(count) is torch.SymInt and count.node.maybe_as_int() is None
    if not is_open or len(items) != 1 or not _may_be_repeated(items[0]):
        return NOT_HANDLED
    kind = None if is_tensor(items[0]) else NUMBERS[type(items[0])][0] if type(items[0]) in NUMBERS else "other"
    iterations = RepeatedIterations(tracer, items[0], torch.sym_max(count, 0), kind)
    return make_list(GrownList if type(items) is list else GrownTuple, tracer, iterations)


def _may_be_repeated(item: Any) -> bool:
    """Whether an item is a tensor, a number, or a tuple or list of such."""
    if type(item) in (tuple, list):
        return all(map(_may_be_repeated, item))
    return is_tensor(item) or type(item) in NUMBERS or type(item) is bool


def as_tensor(tracer: Forking, fn: Any, items: GrownList, kwargs: dict[str, Any]) -> Any:
    """torch.tensor([[1, 2]] * n); None if it is another list."""
    parts = items.known()
    if len(parts) != 1 or type(parts[0]) is not RepeatedIterations or parts[0].kind is None:
        return None
    if not items.has_item():  # torch.tensor([]) has another shape
        items.check_filled(parts[0].count, kind=Exception)
        tracer.note("torch.tensor() of a list of numbers that may be empty: the program asserts that it is not")
    one = tracer.vm.call(fn, ([parts[0].value],), kwargs)
    return one.repeat(parts[0].count, *[1] * (one.dim() - 1))
