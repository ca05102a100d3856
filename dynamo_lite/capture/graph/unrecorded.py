"""Running operators without recording them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from dynamo_lite.capture._torch import _pop_mode_temporarily


@contextmanager
def unrecorded() -> Iterator[None]:
    """What runs here makes stand-ins, but no nodes: examples for the arguments of a sub-graph."""
    with torch._C.DisableTorchFunction(), _pop_mode_temporarily(torch._C.DispatchKey.PreDispatch):
        yield
