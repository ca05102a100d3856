"""The private torch API for tensors below the public class, in one place. Checked with torch 2.13.0."""

from __future__ import annotations

import torch
from torch import _conj as _conj
from torch import _debug_has_internal_overlap as _debug_has_internal_overlap
from torch import _neg_view as _neg_view
from torch import _tensor_str as _tensor_str
from torch._C import TensorBase as TensorBase

_make_subclass = torch.Tensor._make_subclass
_make_wrapper_subclass = torch.Tensor._make_wrapper_subclass
_version = torch.Tensor._version

__all__ = [
    "TensorBase",
    "_conj",
    "_debug_has_internal_overlap",
    "_make_subclass",
    "_make_wrapper_subclass",
    "_neg_view",
    "_tensor_str",
    "_version",
]
