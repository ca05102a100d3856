"""What the programs about calls have in common."""

# Programs as users write them, odd ones too.

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn


class Model(nn.Module):
    """`forward(*args)` is `body(self, *args)`; the keyword arguments become attributes."""

    def __init__(self, body: Callable[..., Any], **attributes: Any):
        super().__init__()
        self.body = body
        self.register_buffer("b", torch.ones(3))
        for name, value in attributes.items():
            setattr(self, name, value)

    def forward(self, *args):
        return self.body(self, *args)


class Loud:
    """Counts how often its text is asked for."""

    def __init__(self):
        self.n = 1

    def __str__(self):
        self.n += 1
        return "loud"
