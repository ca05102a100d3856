"""The private torch API for containers as trees.

Checked with torch 2.13.0, 2.14.1 and 2.15.0.
"""

from __future__ import annotations

from torch.fx._pytree import register_pytree_flatten_spec as register_pytree_flatten_spec
from torch.utils import _pytree as pytree
from torch.utils._pytree import keystr as keystr

from dynamo_lite.symbolic_shapes.torch_versions import Symbol

DISABLES = "every export and trace"
"""What does not work if one of these is missing."""

SYMBOLS = (
    Symbol(
        "torch.fx._pytree:register_pytree_flatten_spec",
        "containers registered on the way are known to fx graphs too",
    ),
    Symbol("torch.utils:_pytree", "flattening of inputs and outputs, with torch's own TreeSpec"),
    Symbol("torch.utils._pytree:keystr", "a path of keys as text"),
)

__all__ = [
    "keystr",
    "pytree",
    "register_pytree_flatten_spec",
]
