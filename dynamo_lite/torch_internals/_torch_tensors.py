"""The private torch API for tensors below the public class.

Checked with torch 2.13.0, 2.14.1 and 2.15.0.
"""

from __future__ import annotations

import torch
from torch import _conj as _conj
from torch import _debug_has_internal_overlap as _debug_has_internal_overlap
from torch import _neg_view as _neg_view
from torch import _tensor_str as _tensor_str
from torch._C import TensorBase as TensorBase
from torch._C._autograd import _unsafe_set_version_counter

from dynamo_lite.symbolic_shapes.torch_versions import Symbol

_make_subclass = torch.Tensor._make_subclass
_make_wrapper_subclass = torch.Tensor._make_wrapper_subclass
_version = torch.Tensor._version


def set_version(tensor: torch.Tensor, version: int) -> None:
    """Set the version counter of a tensor, which in-place operators count up, back."""
    _unsafe_set_version_counter((tensor,), (version,))


DISABLES = "every export and trace"
"""The features that fail if one of these is missing."""

SYMBOLS = (
    Symbol("torch:_conj", "the conjugate as a view, in steps from a base to its view"),
    Symbol("torch:_debug_has_internal_overlap", "whether a tensor overlaps itself, which in-place operators refuse"),
    Symbol("torch:_neg_view", "the negative as a view, in steps from a base to its view"),
    Symbol("torch:_tensor_str", "repr of a tensor, read by print"),
    Symbol("torch._C:TensorBase", "the class that has the methods of Tensor written in C"),
    Symbol("torch._C._autograd:_unsafe_set_version_counter", "a side of a branch is undone to autograd as well"),
    Symbol("torch:Tensor._make_subclass", "a call of it makes a subclass that a fake tensor cannot be: refused"),
    Symbol("torch:Tensor._make_wrapper_subclass", "a call of it makes a tensor around others"),
    Symbol("torch:Tensor._version", "reads of the version counter are seen"),
)

__all__ = [
    "TensorBase",
    "_conj",
    "_debug_has_internal_overlap",
    "_make_subclass",
    "_make_wrapper_subclass",
    "_neg_view",
    "_tensor_str",
    "_version",
    "set_version",
]
