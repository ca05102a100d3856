"""Subclasses of torch.Tensor that wrap nothing (`class Image(torch.Tensor)`): when a plain fake tensor suffices.

If the class does not change operators (torch's `__torch_function__`, or none), a fake tensor computes the same as
eager; only the class of results differs. A class with a `__torch_function__` of its own decides the meaning of each
operator, which the nodes of a graph do not show: torch.export records such programs, and runs the function again, on
other operators.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from dynamo_lite.capture._torch import FakeTensor
from dynamo_lite.torch_internals._torch_dispatch import (
    DisableTorchFunction,
    _disable_current_modes,
    _disabled_torch_function_impl,
    _DisablePythonDispatcher,
    is_traceable_wrapper_subclass_type,
)

_ORDINARY = frozenset({torch.Tensor, nn.Parameter, nn.Buffer, FakeTensor})
_NO_BEHAVIOUR = frozenset(
    {"__module__", "__doc__", "__dict__", "__weakref__", "__annotations__", "__slots__", "__torch_function__"}
    | {"__firstlineno__", "__static_attributes__", "__qualname__", "__orig_bases__", "__parameters__"}
)
_DISABLED: Any = _disabled_torch_function_impl
_TORCHS: Any = torch.Tensor.__torch_function__


def is_subclass(cls: type) -> bool:
    """Whether tensors of this class are of a class of the user's that wraps no others."""
    return (
        cls not in _ORDINARY
        and issubclass(cls, torch.Tensor)
        and not issubclass(cls, FakeTensor)
        and not is_traceable_wrapper_subclass_type(cls)
    )


def keeps_operators(cls: Any) -> bool:
    """Whether operators on tensors of this class are torch's."""
    function: Any = cls.__torch_function__
    return function is _DISABLED or getattr(function, "__func__", None) is _TORCHS.__func__


def passes_on(cls: Any) -> bool:
    """Whether results of operators on tensors of this class are of it, too."""
    return is_subclass(cls) and cls.__torch_function__ is not _DISABLED


def has_behaviour(cls: type) -> bool:
    """Whether the class defines anything that a plain tensor has not."""
    own = [base for base in cls.__mro__ if issubclass(base, torch.Tensor) and base not in _ORDINARY]
    others = [base for base in cls.__mro__ if not issubclass(torch.Tensor, base) and not issubclass(base, torch.Tensor)]
    return bool(others) or any(vars(base).keys() - _NO_BEHAVIOUR for base in own)


NESTED = "a NestedTensor, whose ragged size is not a number: pad it, and pass the lengths beside it"
"""The reason why a tensor of such a class is rejected as an input or as state."""


def complaint(cls: type, is_input: bool) -> str | None:
    """The reason why a plain fake tensor cannot represent a tensor of this class, after "x is"; None if it can.

    A parameter or constant stays on the program's heap as it is: its own methods run, those of results do not.
    """
    if not is_subclass(cls):
        return None
    if not keeps_operators(cls):
        reason = "whose __torch_function__ decides what each operator does"
    elif has_behaviour(cls) and (is_input or passes_on(cls)):
        reason = "which has methods or attributes of its own"
    else:
        return None
    return f"a {cls.__qualname__}, a subclass of torch.Tensor {reason}: use a plain tensor"


def as_plain(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of no subclass on the same memory; `tensor` itself if it is of none."""
    if not is_subclass(type(tensor)):
        return tensor
    # Outside of the recording, and past functions of the class.
    off = DisableTorchFunction(), _disable_current_modes(), _DisablePythonDispatcher()
    with torch.no_grad(), off[0], off[1], off[2]:
        return torch.Tensor.detach(tensor).as_subclass(torch.Tensor).requires_grad_(tensor.requires_grad)
