"""The private torch API for function transforms.

Checked with torch 2.13.0, 2.14.1 and 2.15.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from torch._C._functorch import _add_batch_dim as _add_batch_dim
from torch._C._functorch import _jvp_decrement_nesting as _jvp_decrement_nesting
from torch._C._functorch import _jvp_increment_nesting as _jvp_increment_nesting
from torch._C._functorch import _remove_batch_dim as _remove_batch_dim
from torch._C._functorch import _unwrap_for_grad as _unwrap_for_grad
from torch._C._functorch import get_unwrapped as get_unwrapped
from torch._C._functorch import is_batchedtensor as is_batchedtensor
from torch._C._functorch import is_functorch_wrapped_tensor as is_functorch_wrapped_tensor
from torch._C._functorch import maybe_current_level as maybe_current_level
from torch._C._functorch import unwrap_if_dead as unwrap_if_dead
from torch._functorch import config as _config

from dynamo_lite.symbolic_shapes.torch_versions import Symbol
from dynamo_lite.undoing import changed

DISABLES = "programs with torch.func transforms; the import of the tracer"
"""The features that fail if one of these is missing."""

SYMBOLS = (
    Symbol("torch._C._functorch:_add_batch_dim", "a tensor batched by vmap, for the rules of operators inside of vmap"),
    Symbol("torch._C._functorch:_jvp_decrement_nesting", "the end of a dual level of the program's"),
    Symbol("torch._C._functorch:_jvp_increment_nesting", "a dual level of the program's, as torch.func.jvp has it"),
    Symbol("torch._C._functorch:_unwrap_for_grad", "the parts of a dual number, outside of its level"),
    Symbol("torch._C._functorch:_remove_batch_dim", "the result of a vmap, for the rules of operators inside of vmap"),
    Symbol("torch._C._functorch:get_unwrapped", "the tensor below a functorch wrapper"),
    Symbol("torch._C._functorch:is_batchedtensor", "whether a tensor is batched by vmap"),
    Symbol("torch._C._functorch:is_functorch_wrapped_tensor", "whether a tensor belongs to a functorch transform"),
    Symbol("torch._C._functorch:maybe_current_level", "the depth of functorch transforms"),
    Symbol("torch._C._functorch:unwrap_if_dead", "a wrapper whose transform is over stands for what is in it"),
    Symbol("torch._functorch:config", "the gradient of a scan, made to see whether it can be, without inductor"),
)


@contextmanager
def without_common_subexpressions() -> Iterator[None]:
    """Within, graphs of gradients are made without looking for common subexpressions, which imports all of inductor."""
    with changed(partial(setattr, _config, "cse", _config.cse)):
        _config.cse = False
        yield


__all__ = [
    "_add_batch_dim",
    "_jvp_decrement_nesting",
    "_jvp_increment_nesting",
    "_remove_batch_dim",
    "_unwrap_for_grad",
    "get_unwrapped",
    "is_batchedtensor",
    "is_functorch_wrapped_tensor",
    "maybe_current_level",
    "unwrap_if_dead",
    "without_common_subexpressions",
]
