"""What a stand-in has and a tensor has not: names of its class and of its instances, which the program is not shown.

Checked against torch 2.13.0 (torch/_subclasses/fake_tensor.py, FakeTensor): what a class or an instance has there is
asked of FakeTensor itself.
"""

from __future__ import annotations

from typing import Any

import torch

from dynamo_lite.capture._torch import FakeTensor

_OF_TENSORS = frozenset({"device", "tolist", "__new__", "__init__", "__hash__", "__torch_function__"})
"""Names that FakeTensor defines again, and that answer as a tensor's."""
_OF_INSTANCES = frozenset({"constant", "dispatch_keys", "fake_mode", "pytype", "real_tensor", "_is_param"})
_MARKS = ("_dynamo_lite", "_fake_device", "_item_memo", "_nested_int_memo", "_nonzero_memo", "_unique_memo",
          "_unique_consecutive_memo")  # fmt: skip


def is_hidden(name: str) -> bool:
    """Whether the program would find `name` on a stand-in and not on the tensor, or find another thing."""
    if name in _OF_INSTANCES or name.startswith(_MARKS):
        return True
    return name in vars(FakeTensor) and name not in _OF_TENSORS


def of_the_user(tensor: torch.Tensor) -> dict[str, Any]:
    """The attributes that the program, or the caller, has put on a tensor."""
    is_fake = isinstance(tensor, FakeTensor)
    return {name: value for name, value in vars(tensor).items() if not (is_fake and is_hidden(name))}


def read(kind: type[torch.Tensor], owner: torch.Tensor, name: str) -> Any:
    """`owner.<name>` for a hidden name, of a tensor of class `kind`. Raises AttributeError as a tensor does."""
    if hasattr(torch.Tensor, name):
        return getattr(kind, name)
    raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}", name=name, obj=owner)
