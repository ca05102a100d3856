"""A TorchDispatchMode in forward

Such a mode works below the operators that are recorded, and the graph would not show what it does. A TorchFunctionMode
works above them: it is traced.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

TAGS = ("operators", "context-managers")
ERROR = "dispatch-mode"


class DoubledSines(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        return result * 2 if func is torch.ops.aten.sin.default else result


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        with DoubledSines():  # stops here
            return x.sin() + 1


class DoubledSinesAbove(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        return result * 2 if func is torch.Tensor.sin else result


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        with DoubledSinesAbove():
            return x.sin() + 1


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
