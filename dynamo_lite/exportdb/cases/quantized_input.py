"""A quantized tensor as an argument

FakeTensors, on which operators run during a trace, cannot stand for quantized tensors. Pass the integers and the
scale, and let the program compute with them.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("inputs", "dtype", "call of export")
ERROR = "invalid-arguments"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.dequantize() * 2


class Rewrite(nn.Module):
    def forward(self, x: Tensor, scale: Tensor) -> Tensor:
        return x * scale * 2


def inputs() -> tuple[Tensor, ...]:
    return (torch.quantize_per_tensor(torch.tensor([1.0, 2.0, 4.0]), 0.5, 0, torch.qint8),)


def rewrite_inputs() -> tuple[Tensor, ...]:
    return (torch.tensor([2, 4, 8], dtype=torch.int8), torch.tensor(0.5))
