"""Branches on sizes (`tracing/size_branches`): the record of the feature, and `x.squeeze()`.

Whether `x.squeeze()` leaves out a dimension that may have one element is a branch on its size. torch's kernel branches
on it, and the example's answer becomes a guard. As a branch of the program it has another side, which is handled like
that of any branch on a size.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any, cast

import torch

from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.feature import Feature
from dynamo_lite.tracing.interfaces import Step, TracerView
from dynamo_lite.tracing.size_branches.compared_sides import ComparedSides
from dynamo_lite.tracing.size_branches.flags import ATTENTION, call_attention
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor


def call_squeeze(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """x.squeeze(), x.squeeze(dim), x.squeeze(dims): branches on each size that may be 1, and may be another."""
    env = tracer.recorder.env
    if env is None or not args or not is_tensor(args[0]) or len(args) > 2 or not kwargs.keys() <= {"dim"}:
        return NOT_HANDLED
    x, given = args[0], args[1] if len(args) == 2 else kwargs.get("dim")
    dims = range(x.dim()) if given is None else given if type(given) in (tuple, list) else (given,)
    if not all(type(dim) is int and -x.dim() <= dim < x.dim() for dim in dims):
        return NOT_HANDLED
    left_out: list[tuple[int, bool | None]] = []
    for dim in sorted({dim % x.dim() for dim in dims}, reverse=True):
        answer = x.shape[dim] == 1
        truth = answer if type(answer) is bool else env.decide_node(answer.node)
        if truth is not False:
            left_out.append((dim, truth))
    if all(truth for _, truth in left_out):
        return NOT_HANDLED
    return tracer.vm.interpret_function(cast(FunctionType, _squeezed), (x, left_out))


def _squeezed(x: torch.Tensor, dims: list[tuple[int, bool | None]]) -> torch.Tensor:
    """dims: the last one first, and whether it is known to have one element."""
    result = x
    for dim, is_one in dims:
        if is_one or result.shape[dim] == 1:
            result = result.squeeze(dim)
    return result if result is not x else x.squeeze(())


def _watch_jumps(run: Any) -> None:
    run.tracer.own(ComparedSides).attach(run.declared.table)


_RULES: dict[int, Step] = dict.fromkeys((id(torch.Tensor.squeeze), id(torch.squeeze)), call_squeeze)

FEATURE = Feature(
    name="size_branches",
    rules=lambda: _RULES,
    before={id(ATTENTION): (call_attention,)},
    on={"declared": _watch_jumps},
)
