"""The private parts of torch.distributed that capture uses.

Checked with torch 2.13.0, 2.14.1 and 2.15.0.
"""

from __future__ import annotations

from torch._C._distributed_c10d import ProcessGroup, ReduceOp, Work
from torch.distributed import _functional_collectives as _registers_fake_kernels  # noqa: F401

from dynamo_lite.symbolic_shapes.torch_versions import Symbol

DISABLES = "every export and trace of a torch that is built with torch.distributed"
"""The features that fail if one of these is missing."""

SYMBOLS = (
    Symbol("torch._C._distributed_c10d:ProcessGroup", "collectives"),
    Symbol("torch._C._distributed_c10d:ReduceOp", "collectives"),
    Symbol("torch._C._distributed_c10d:Work", "collectives: what an asynchronous one returns"),
    Symbol("torch.distributed:_functional_collectives", "registers the fake kernels of collectives"),
)

__all__ = ["ProcessGroup", "ReduceOp", "Work"]
