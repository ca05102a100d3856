"""A module around a body, for programs about tensors."""

# Programs as users write them, odd ones too.

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn


class Model(nn.Module):
    """`forward(*args)` is `body(self, *args)`; it has a parameter `w`, buffers `b` and `c`, and a plain tensor `k`."""

    def __init__(self, body: Callable[..., Any], **attributes: Any):
        super().__init__()
        self.body = body
        self.w = nn.Parameter(torch.ones(3))
        self.register_buffer("b", torch.ones(3))
        self.register_buffer("c", torch.zeros(3), persistent=False)
        self.k = torch.full((3,), 0.5)
        for name, value in attributes.items():
            setattr(self, name, value)

    def forward(self, *args):
        return self.body(self, *args)
