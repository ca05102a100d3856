"""A collective without a result

A program holds collectives as operators that return what they communicate. A barrier returns nothing, so no operator
of the program would depend on it; `dist.send`, `gather` and `scatter` differ from rank to rank. all_reduce, broadcast,
all_gather, reduce_scatter and all_to_all are recorded, in place or functional.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor, nn

TAGS = ("distributed",)
ERROR = "collective"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        if not dist.is_initialized():
            dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)

    def forward(self, x: Tensor) -> Tensor:
        dist.barrier()  # stops here
        dist.all_reduce(x := x * 2)
        return x


class Rewrite(Module):
    def forward(self, x: Tensor) -> Tensor:
        dist.all_reduce(x := x * 2)
        return x


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
