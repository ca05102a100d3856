"""Answers that torch keeps with a tensor of symbolic sizes from the first question on (SymbolicShapeMeta in c10/core).

That is its number of elements, and whether it is contiguous. An answer that is found on one side of a branch, where a
size is known to be 0, would be the answer everywhere. So these questions are asked before a side begins.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch

from dynamo_lite.capture.graph.unrecorded import unrecorded

_FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}


def ask_first(tensors: Iterable[torch.Tensor | None], mode: object) -> None:
    """Have torch keep what holds now. mode: the FakeTensorMode."""
    with unrecorded():
        varying = [t for t in tensors if t is not None and any(type(size) is torch.SymInt for size in t.shape)]
        if not varying:
            return
        with mode:  # type: ignore[attr-defined]
            for tensor in varying:
                tensor.numel()
                if any(type(size) is torch.SymInt and size.node.has_hint() for size in tensor.shape):
                    continue  # the example would answer, with a guard
                for layout in (torch.contiguous_format, _FORMATS.get(tensor.dim())):
                    if layout is not None:
                        torch.ops.aten.sym_is_contiguous.default(tensor, layout)
