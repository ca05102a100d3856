"""A gradient through a loop on data, of an input for which no guard can be written

torch 2.13 computes the gradient of its while_loop wrongly, so a program with such a loop is not called with inputs that
require grad, if that of the example does not: a guard says so. (Loops whose gradient torch's scan can give become one
where the example requires grad; of others the gradient is lost, with a note, and the program is called under
torch.no_grad().) A guard is a text with the input's name, which cannot be written of a key with a quote in it.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch._higher_order_ops.while_loop import while_loop

TAGS = ("data-dependent", "control-flow", "gradients", "inputs")
ERROR = "loop-gradient"


def halved(x: Tensor) -> Tensor:
    return while_loop(lambda y: y.norm() > 0.3, lambda y: (y * 0.5,), (x,))[0]


class Module(nn.Module):
    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        return halved(batch["user's"])


class Rewrite(nn.Module):
    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        return halved(batch["user"])


def inputs() -> tuple[dict[str, Tensor]]:
    return ({"user's": torch.ones(3, 2)},)


def rewrite_inputs() -> tuple[dict[str, Tensor]]:
    return ({"user": torch.ones(3, 2)},)
