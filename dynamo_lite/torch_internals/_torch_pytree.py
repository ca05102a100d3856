"""The private torch API for containers as trees, in one place. Checked with torch 2.13.0."""

from __future__ import annotations

from torch.fx._pytree import register_pytree_flatten_spec as register_pytree_flatten_spec
from torch.utils import _pytree as pytree
from torch.utils._pytree import keystr as keystr

__all__ = [
    "keystr",
    "pytree",
    "register_pytree_flatten_spec",
]
