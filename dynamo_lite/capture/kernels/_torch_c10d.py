"""The private parts of torch.distributed that capture stands on, in one place. Checked with torch 2.13.0."""

from __future__ import annotations

from torch._C._distributed_c10d import ProcessGroup, ReduceOp, Work
from torch.distributed import _functional_collectives as _registers_fake_kernels  # noqa: F401

__all__ = ["ProcessGroup", "ReduceOp", "Work"]
