"""The private torch API for function transforms, in one place. Checked with torch 2.13.0."""

from __future__ import annotations

from torch._C._functorch import _add_batch_dim as _add_batch_dim
from torch._C._functorch import _remove_batch_dim as _remove_batch_dim
from torch._C._functorch import get_unwrapped as get_unwrapped
from torch._C._functorch import is_batchedtensor as is_batchedtensor
from torch._C._functorch import is_functorch_wrapped_tensor as is_functorch_wrapped_tensor
from torch._C._functorch import maybe_current_level as maybe_current_level
from torch._C._functorch import unwrap_if_dead as unwrap_if_dead

__all__ = [
    "_add_batch_dim",
    "_remove_batch_dim",
    "get_unwrapped",
    "is_batchedtensor",
    "is_functorch_wrapped_tensor",
    "maybe_current_level",
    "unwrap_if_dead",
]
