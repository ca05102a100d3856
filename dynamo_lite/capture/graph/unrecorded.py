"""Running operators without recording them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dynamo_lite.capture._torch import _pop_mode_temporarily
from dynamo_lite.torch_internals._torch_dispatch import DisableTorchFunction, DispatchKey


@contextmanager
def unrecorded() -> Iterator[None]:
    """A block that makes fake tensors, but no nodes: examples for the arguments of a sub-graph."""
    with DisableTorchFunction(), _pop_mode_temporarily(DispatchKey.PreDispatch):
        yield
