"""torch.tensor([x.sum(), n, 2.0]) and the like: C code takes the numbers of the list's items, which are not known yet.

It becomes a stack of scalars. Shape, dtype, device and errors are torch's own: it is called with ones of the same
types. (torch/csrc/utils/tensor_new.cpp: a tensor in the list counts as one number, of its dtype, if it has one
element.)
"""

from __future__ import annotations

from typing import Any

import torch

from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.torch_internals._torch_tensors import TensorBase
from dynamo_lite.tracing.calls.run_native import run_native
from dynamo_lite.tracing.interfaces import Step, TracerView
from dynamo_lite.tracing.vocabulary.symbolic_numbers import PYTHON_TYPE, SYMBOLIC
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

_OPTIONS = ("device", "requires_grad")
"""Options that are left to the result: the query needs no device, and no gradient. (pin_memory may be an error.)"""


def _literal(position: int, keyword: str | None, sizes_are_data: bool = True) -> Step:
    """The rule for a constructor whose numbers are the argument at `position`, or `keyword`.

    sizes_are_data: a torch.Size, or one number, is data like any other; else it is the shape (torch.Tensor(n)).
    """

    def rule(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
        if len(args) > position:
            data = args[position]
        elif keyword is not None and keyword in kwargs:
            data, args = kwargs[keyword], (*args, kwargs[keyword])
        else:
            return NOT_HANDLED
        if is_tensor(data) or not (sizes_are_data or _is_list(data)) or not _is_unknown(data):
            return NOT_HANDLED
        options = {name: value for name, value in kwargs.items() if name != keyword}
        return _made(tracer, fn, position, args, options)

    return rule


def _made(tracer: TracerView, fn: Any, position: int, args: tuple, options: dict) -> torch.Tensor:
    """Return the stack of the list's items."""
    data, owner = args[position], args[0] if position else None
    like = _made_of_ones(tracer, fn, args, {name: value for name, value in options.items() if name not in _OPTIONS})
    device = options.get("device")
    if device is None:
        device = like.device if owner is None else owner.device
    leaves = [_scalar(leaf, like.dtype, device) for leaf in _leaves(data)]
    made = leaves[0] if like.dim() == 0 else torch.stack(leaves)
    if like.dim() > 1:
        made = made.reshape(like.shape)
    if options.get("pin_memory"):
        made = made.pin_memory()
    return made.requires_grad_() if options.get("requires_grad") else made


def _made_of_ones(tracer: TracerView, fn: Any, args: tuple, options: dict) -> torch.Tensor:
    """Return the constructor's result for ones. Raises its error: the program's."""
    with tracer.suspended():
        return run_native(fn, tuple(map(_ones, args)), options)


def _is_list(data: Any) -> bool:
    return isinstance(data, (list, tuple)) and not isinstance(data, torch.Size)


def _is_unknown(data: Any) -> bool:
    """Whether a size or a tensor is in nested lists."""
    if isinstance(data, (list, tuple)):
        return any(_is_unknown(item) for item in data)
    return type(data) in SYMBOLIC or is_tensor(data)


def _ones(data: Any) -> Any:
    """The same nested lists with a one of the same type for each number that is not known."""
    if isinstance(data, (list, tuple)):
        return [_ones(item) for item in data]
    if type(data) in SYMBOLIC:
        return PYTHON_TYPE[type(data)](1)
    return torch.ones((1,) if data.numel() == 1 else (2,), dtype=data.dtype) if is_tensor(data) else data


def _leaves(data: Any) -> list[Any]:
    if isinstance(data, (list, tuple)):
        return [leaf for item in data for leaf in _leaves(item)]
    return [data]


def _scalar(leaf: Any, dtype: torch.dtype, device: Any) -> torch.Tensor:
    if is_tensor(leaf):
        return leaf.detach().reshape(()).to(dtype=dtype, device=device)
    return torch.scalar_tensor(leaf, dtype=dtype, device=device)


def _otherwise(rule: Step, before: Step | None) -> Step:
    def both(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
        answer = rule(tracer, fn, args, kwargs)
        return before(tracer, fn, args, kwargs) if answer is NOT_HANDLED and before is not None else answer

    return both


_LEGACY = ("Float", "Double", "Half", "BFloat16", "Byte", "Char", "Short", "Int", "Long", "Bool")

OTHERS: tuple[Any, ...] = (
    *(TensorBase.new_tensor, TensorBase.new, torch.Tensor),
    *(getattr(torch, f"{name}Tensor") for name in _LEGACY),
)
"""Constructors of tensors from numbers, besides torch.tensor, as_tensor and asarray."""


def table(rows: dict[int, Step]) -> dict[int, Step]:
    """id(callable) → rule. `rows` are the rules before these, which have what these do not handle."""
    found = {id(fn): _literal(0, keyword) for fn, keyword in ((torch.tensor, "data"), (torch.as_tensor, "data"))}
    found[id(torch.asarray)] = _literal(0, "obj")
    found[id(TensorBase.new_tensor)] = _literal(1, "data")
    found[id(TensorBase.new)] = _literal(1, None, sizes_are_data=False)
    for cls in OTHERS[2:]:
        found[id(cls)] = _literal(0, None, sizes_are_data=False)
    return {key: _otherwise(rule, rows.get(key)) for key, rule in found.items()}
