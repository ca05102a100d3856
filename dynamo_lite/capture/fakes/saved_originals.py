"""The copy that autograd keeps of a tensor before an in-place operator changes it.

The formula of `x.pow_(2)`'s gradient needs the value that x had: autograd's C++ code clones it first (`original_self`
in tools/autograd/gen_variable_type.py; torch 2.13 to 2.15), below the operators that a recorder sees. A backward that
runs within the program reads that clone, so it has a node of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from dynamo_lite.torch_internals._torch_dispatch import TorchDispatchMode

_CLONE = torch.ops.aten.clone.default


class OriginalsSaved(TorchDispatchMode):
    """Clones the tensors `changed` before an operator within changes them; `clones` has (tensor, its clone)."""

    def __init__(self, changed: Iterable[torch.Tensor]) -> None:
        super().__init__()
        self._changed = {id(tensor) for tensor in changed}
        self.clones: list[tuple[torch.Tensor, torch.Tensor]] = []

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """As of capture/dispatch_modes.py's mode: TorchDynamo is not imported."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func._schema.is_mutable:
            self._changed.clear()  # a later copy has another value
        out = func(*args, **(kwargs or {}))
        if func is _CLONE and id(args[0]) in self._changed:
            self.clones.append((args[0], out))
        return out
