"""The rules by operator, and the result that one of them says.

A rule is a function with the operator's parameters: tensors are `Operand`s, what it returns is `Out`s. None says that
it cannot tell, that torch would raise included; then the operator runs. A rule knows constant sizes only; the switches
that it does not know of (autocast, inference mode) keep all rules from being asked.

tests/capture/test_operator_rules.py holds each against torch's FakeTensors on the samples of torch's own tests.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from dynamo_lite.capture._torch import FakeTensor, OpOverload
from dynamo_lite.capture.fakes.results import Like, Result, recipe_of
from dynamo_lite.capture.operator_rules import (
    attention,
    casts,
    convolution,
    factories,
    joining,
    matmul,
    norms,
    pointwise,
    reductions,
    views,
)
from dynamo_lite.capture.operator_rules.operands import Operand, Out, Outs
from dynamo_lite.errors import InternalError

RULES: dict[OpOverload, Callable[..., Outs]] = {
    **matmul.RULES,
    **convolution.RULES,
    **norms.RULES,
    **attention.RULES,
    **views.RULES,
    **joining.RULES,
    **pointwise.RULES,
    **reductions.RULES,
    **factories.RULES,
    **casts.RULES,
}

OFF = os.environ.get("DYNAMO_LITE_RULES") == "0" or not torch.__version__.startswith("2.13.")
"""Whether all operators run: for comparisons, and with another torch than the rules were held against."""

SHADOW = os.environ.get("DYNAMO_LITE_SHADOW") == "1"
"""Whether operators run although a rule says their result, to compare the two."""

_CPU = torch.device("cpu")


def result_of(func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> Result | None:
    """What the operator gives for FakeTensors of constant sizes and other constants; None where no rule says it."""
    rule = RULES.get(func)
    if rule is None or OFF or torch.is_inference_mode_enabled():
        return None
    operands: list[Operand] = []
    try:
        given = [_described(value, operands) for value in args]
        named = {name: _described(value, operands) for name, value in kwargs.items()}
    except _Unknown:
        return None
    device = operands[0].device if operands else _CPU
    if any(operand.device != device for operand in operands):
        return None
    outs = rule(*given, **named)
    if outs is None:
        return None
    grows = torch.is_grad_enabled() and any(operand.requires_grad for operand in operands)
    if type(outs) is Out:
        return Result(None, (_like(outs, device, grows),))
    several: Iterable[Any] = outs
    return Result(type(outs), tuple([_like(out, device, grows) for out in several]))


def check(func: OpOverload, said: Result, args: Sequence[Any], kwargs: dict[str, Any], out: Any) -> None:
    """Holds a rule's result against what the operator has returned. Raises InternalError where they differ."""
    found = recipe_of(args, kwargs, out)
    if found != said:
        raise InternalError(f"the rule for {func} says {said}, and torch {found}")


class _Unknown(Exception):
    """An argument is of a kind that no rule knows."""


def _described(value: Any, operands: list[Operand]) -> Any:
    """The argument as rules see it; its tensors are added to `operands`, in the order of results.tensors_among."""
    kind = type(value)
    if kind is FakeTensor:
        if value.dtype.is_complex or value.is_neg() or value.is_inference():
            raise _Unknown
        operand = Operand(len(operands), tuple(value.shape), value.stride(), int(value.storage_offset()), value.dtype,
                          value.fake_device, value.requires_grad)  # fmt: skip
        operands.append(operand)
        return operand
    if kind is list or kind is tuple or kind is torch.Size:
        return [_described(item, operands) for item in value]
    if kind is complex:
        raise _Unknown
    return value


def _like(out: Out, device: torch.device, grows: bool) -> Like:
    source = out.source
    if source is None:
        requires_grad = grows and out.differentiable and out.dtype.is_floating_point
        return Like(out.shape, out.stride, out.offset, out.dtype, device, requires_grad, None, False)
    requires_grad = source.requires_grad and out.differentiable
    return Like(out.shape, out.stride, out.offset, out.dtype, device, requires_grad, source.number, out.whole)
