"""A thread that computes a part of forward

A recording follows the frames of forward. What a thread, a process or an event loop runs is not among them; call the
function itself.
"""

from __future__ import annotations

import threading

import torch
from torch import Tensor, nn

TAGS = ("python", "threading")
ERROR = "background-code"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        results: list[Tensor] = []
        worker = threading.Thread(target=lambda: results.append(x * 2))  # stops here
        worker.start()
        worker.join()
        return results[0]


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
