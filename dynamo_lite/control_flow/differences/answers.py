"""Properties of a tensor besides its values for which a result of torch.cond or a loop differs from eager.

A result is a new tensor: not a view, at the beginning of its memory, not a parameter, without a conjugate bit. If a
side, or a value carried before or after an iteration, differs in one of these, later queries of it are rejected
(tracing/tensors/side_differences.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from dynamo_lite.capture.fakes import results
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.torch_internals._torch_dispatch import DisableTorchFunction
from dynamo_lite.torch_internals._torch_tensors import TensorBase
from dynamo_lite.tracing.tensors import side_differences
from dynamo_lite.tracing.tensors.side_differences import SideDifferences
from dynamo_lite.tracing.vocabulary.symbolic_numbers import real_type
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

_ASKED: dict[str, tuple[Any, ...]] = {
    "is_conj": (torch.Tensor.is_conj, torch.is_conj, torch.view_as_real),
    "is_neg": (torch.Tensor.is_neg, torch.is_neg),
    "is_inference": (torch.Tensor.is_inference, torch.is_inference),
    "storage_offset": (torch.Tensor.storage_offset,),
    "_base": (TensorBase._is_view,),
}
"""Query → the functions that evaluate it. Some are attributes, too (tracing/tensors/attributes.py)."""


def note(tracer: Forking, left: torch.Tensor, right: torch.Tensor, result: Any) -> None:
    """`result` is in the place of `left` or `right`."""
    differences = tracer.own(SideDifferences)
    for tensor in (left, right):
        differences.questions |= _answers_otherwise(tracer, tensor)
    if nn.Parameter in (real_type(left), real_type(right)) and is_tensor(result):
        differences.parameters[id(result)] = result
    if left.requires_grad and right.requires_grad and (left.is_leaf or right.is_leaf):
        differences.questions |= {"is_leaf", "grad_fn"}


def _answers_otherwise(tracer: Forking, tensor: torch.Tensor) -> set[str]:
    found = set()
    is_argument = tracer.recorder.input_number(tensor) is not None
    with DisableTorchFunction():
        if tensor.is_conj():
            found.add("is_conj")
        if tensor.is_neg():
            found.add("is_neg")
        if tensor.is_inference():
            found.add("is_inference")
        if tensor.layout is torch.strided:
            offset = tensor.storage_offset()
            if is_argument or type(offset) is not int or offset:
                found.add("storage_offset")
            if is_argument or results.base_of(tensor) is not None:
                found.add("_base")
    return found


def _rule(question: str, otherwise: Any) -> Callable[..., Any]:
    def rule(tracer: Forking, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if args and is_tensor(args[0]) and tracer.recorder.input_number(args[0]) is None:
            side_differences.check(tracer, question)
        return NOT_HANDLED if otherwise is None else otherwise(tracer, fn, args, kwargs)

    return rule


def attach(rules: dict[int, Any]) -> None:
    """Put the rules into a tracer's table, before those that are there."""
    for question, functions in _ASKED.items():
        for fn in functions:
            rules[id(fn)] = _rule(question, rules.get(id(fn)))
