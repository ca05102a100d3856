"""The private torch API for containers as trees.

Checked with torch 2.13.0, 2.14.1 and 2.15.0.
"""

from __future__ import annotations

from contextlib import suppress

from torch.fx._pytree import _deregister_pytree_flatten_spec, register_pytree_flatten_spec
from torch.utils import _pytree as pytree
from torch.utils._pytree import keystr as keystr

from dynamo_lite.symbolic_shapes.torch_versions import Symbol

DISABLES = "every export and trace"
"""The features that fail if one of these is missing."""

SYMBOLS = (
    Symbol("torch.fx._pytree:_deregister_pytree_flatten_spec", "an export that fails leaves no container behind"),
    Symbol(
        "torch.fx._pytree:register_pytree_flatten_spec",
        "containers registered on the way are known to fx graphs too",
    ),
    Symbol("torch.utils:_pytree", "flattening of inputs and outputs, with torch's own TreeSpec"),
    Symbol("torch.utils._pytree:_cxx_pytree_imported", "the same for pytree in C++, which forgets no class"),
    Symbol("torch.utils._pytree:_cxx_pytree_pending_imports", "the same for pytree in C++, before it is imported"),
    Symbol("torch.utils._pytree:_deregister_pytree_node", "an export that fails leaves no container behind"),
    Symbol("torch.utils._pytree:keystr", "a path of keys as text"),
)

__all__ = [
    "forget_container",
    "keystr",
    "pytree",
    "register_pytree_flatten_spec",
]


def forget_container(cls: type) -> None:
    """Undoes `register_pytree_node` and `register_pytree_flatten_spec` of a class, unless pytree in C++ has it too."""
    if pytree._cxx_pytree_imported:
        return
    pending = pytree._cxx_pytree_pending_imports
    pending[:] = [call for call in pending if call[0][0] is not cls]
    if cls in pytree.SUPPORTED_NODES:  # it may have been interrupted
        pytree._deregister_pytree_node(cls)
    with suppress(KeyError):
        _deregister_pytree_flatten_spec(cls)
