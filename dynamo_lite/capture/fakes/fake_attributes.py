"""Attributes of a fake tensor and its class that a tensor does not have, hidden from the program.

Checked against torch 2.13.0 to 2.15.0 (torch/_subclasses/fake_tensor.py, FakeTensor): the names of a class or an
instance are read from FakeTensor itself. Where it overrides an attribute of tensors, the value is the tensor's
(`device`, `tolist`; since 2.15 `layout`, `is_mkldnn`, `to_dense`), except for the names of the class.
"""

from __future__ import annotations

from types import FunctionType, MethodType
from typing import Any

import torch

from dynamo_lite.capture._torch import FakeTensor

_OF_CLASSES = frozenset({"__module__", "__doc__", "__annotations__", "__torch_dispatch__"})
"""Names of every class, whose value for FakeTensor differs from that for a tensor's class."""
_OF_INSTANCES = frozenset({"constant", "dispatch_keys", "fake_mode", "pytype", "real_tensor", "_is_param"})
_MARKS = ("_dynamo_lite", "_fake_device", "_item_memo", "_nested_int_memo", "_nonzero_memo", "_unique_memo",
          "_unique_consecutive_memo")  # fmt: skip


def is_hidden(name: str) -> bool:
    """Whether `name` on a fake tensor is absent from the tensor, or has another value there."""
    if name in _OF_INSTANCES or name.startswith(_MARKS):
        return True
    return name in vars(FakeTensor) and (name in _OF_CLASSES or not hasattr(torch.Tensor, name))


def of_the_user(tensor: torch.Tensor) -> dict[str, Any]:
    """The attributes that the program, or the caller, has put on a tensor."""
    is_fake = isinstance(tensor, FakeTensor)
    return {name: value for name, value in vars(tensor).items() if not (is_fake and is_hidden(name))}


def is_mark_of_torch(name: str) -> bool:
    """Whether torch._dynamo.mark_dynamic or a relative puts this attribute on a tensor (torch/_dynamo/decorators.py,
    torch 2.13.0): it concerns the argument of an export, not values computed from it."""
    return name.startswith("_dynamo_") or name in ("_specialize_on", "_has_dynamo_dim_marking")


def read(kind: type[torch.Tensor], owner: torch.Tensor, name: str) -> Any:
    """`owner.<name>` for a hidden name, of a tensor of class `kind`. Raises AttributeError as a tensor does."""
    if hasattr(torch.Tensor, name):
        return getattr(kind, name)
    raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}", name=name, obj=owner)


def as_of_tensors(kind: type[torch.Tensor], owner: torch.Tensor, value: Any) -> Any:
    """`value`, read from the fake tensor of a tensor of class `kind`; the tensor's method in place of FakeTensor's."""
    if type(value) is MethodType and value.__self__ is owner:
        name = value.__name__
        if type(value.__func__) is FunctionType and vars(FakeTensor).get(name) is value.__func__:
            return getattr(torch.Tensor, name).__get__(owner, kind)
    return value
