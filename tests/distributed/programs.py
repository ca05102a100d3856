"""Modules that communicate, for two ranks. Each rank makes its inputs from its number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch import Tensor, nn

RANKS = 2


class Layer(nn.Module):
    """A linear layer whose result `communicate` gets."""

    def __init__(self, communicate: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.communicate = communicate

    def forward(self, x: Tensor) -> Any:
        return self.communicate(self.linear(x))


class RunningMean(nn.Module):
    """A buffer that every rank updates alike."""

    mean: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x: Tensor) -> Tensor:
        mean = x.mean(0)
        dist.all_reduce(mean, op=dist.ReduceOp.AVG if dist.get_backend() != "gloo" else dist.ReduceOp.SUM)
        self.mean.mul_(0.9).add_(mean / dist.get_world_size(), alpha=0.1)
        dist.broadcast(self.mean, src=1)
        return x - self.mean


class ColumnParallel(nn.Module):
    """A layer of which each rank holds half of the rows, as tensor parallelism does."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(4, 6), nn.Linear(6, 4, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        partial = self.down(torch.relu(self.up(x)))
        dist.all_reduce(partial)
        return partial


def reduced(op: Any) -> Callable[[Tensor], Tensor]:
    def communicate(y: Tensor) -> Tensor:
        dist.all_reduce(y, op=op)
        return y * 2

    return communicate


def asynchronous(y: Tensor) -> Tensor:
    handle = dist.all_reduce(y, async_op=True)
    other = torch.ones(4) * 3
    handle.wait()
    return y + other


def broadcast(y: Tensor) -> Tensor:
    dist.broadcast(y, src=1)
    return y


def broadcast_of_a_view(y: Tensor) -> Tensor:
    dist.broadcast(y[0], src=0)
    return y + 1


def all_gather(y: Tensor) -> Tensor:
    shares = [torch.empty_like(y) for _ in range(dist.get_world_size())]
    dist.all_gather(shares, y)
    return torch.cat(shares)


def all_gather_of_scalars(y: Tensor) -> Tensor:
    shares = [torch.zeros(()) for _ in range(RANKS)]
    dist.all_gather(shares, y.sum())
    return torch.stack(shares)


def all_gather_in_a_row(y: Tensor) -> Tensor:
    out = y.new_empty(RANKS * y.shape[0], 4)
    dist.all_gather_into_tensor(out, y.detach())  # gloo, in eager, takes no tensor that requires gradients
    return out


def reduce_scatter(y: Tensor) -> Tensor:
    out = torch.empty(1, 4)
    dist.reduce_scatter_tensor(out, y)
    return out


def reduce_scatter_of_a_list(y: Tensor) -> Tensor:
    out = torch.empty(2, 4)
    dist.reduce_scatter(out, [y, y * 2])
    return out


def all_to_all(y: Tensor) -> Tensor:
    out = torch.empty_like(y)
    dist.all_to_all_single(out, y)
    return out


def all_to_all_with_splits(y: Tensor) -> Tensor:
    rank = dist.get_rank()
    given = torch.cat([y, y])[: 3 if rank == 0 else 4]
    out = torch.empty(4 if rank == 0 else 3, 4)
    dist.all_to_all_single(out, given, [1, 3] if rank == 0 else [2, 1], [1, 2] if rank == 0 else [3, 1])
    return out


def of_a_subgroup(y: Tensor) -> Tensor:
    dist.all_reduce(y, group=dist.group.WORLD)
    return y.relu()


def complex_numbers(y: Tensor) -> Tensor:
    z = torch.complex(y, y + 1)
    dist.all_reduce(z)
    return torch.view_as_real(z)


def transposed(y: Tensor) -> Tensor:
    functional_sum = functional.all_reduce(y.t(), "sum", dist.group.WORLD)
    turned = y.t().contiguous().t()
    dist.broadcast(turned, src=0)
    return functional_sum.t() + turned


def functional_all(y: Tensor) -> Any:
    world = dist.group.WORLD
    total = functional.all_reduce(y, "sum", world)
    gathered = functional.all_gather_tensor(y, gather_dim=1, group=world)
    scattered = functional.reduce_scatter_tensor(y, "sum", scatter_dim=1, group=world)
    sent = functional.broadcast(y, 1, world)
    swapped = functional.all_to_all_single(y, None, None, world)
    many = functional.all_reduce_coalesced([y, y + 1], "max", world)
    return total, gathered, scattered, sent, swapped, *many


def of_a_literal(y: Tensor) -> Tensor:
    """The literal's value is known during a trace; the sum over the ranks is not."""
    counts = torch.tensor([1.0, 2.0, 3.0, float(dist.get_rank())])
    dist.all_reduce(counts)
    return y * counts + functional.all_reduce(torch.tensor(2.0), "sum", dist.group.WORLD)


def in_a_helper_that_asks(y: Tensor) -> Tensor:
    if dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1:
        dist.all_reduce(y)
        y = y / dist.get_world_size()
    return y


COMMUNICATE: dict[str, Callable[[Tensor], Any]] = {
    "sum": reduced(dist.ReduceOp.SUM),
    "product": reduced(dist.ReduceOp.PRODUCT),
    "min": reduced(dist.ReduceOp.MIN),
    "max": reduced(dist.ReduceOp.MAX),
    **{
        function.__name__: function
        for function in (
            asynchronous,
            broadcast,
            broadcast_of_a_view,
            all_gather,
            all_gather_of_scalars,
            all_gather_in_a_row,
            reduce_scatter,
            reduce_scatter_of_a_list,
            all_to_all,
            all_to_all_with_splits,
            of_a_subgroup,
            complex_numbers,
            transposed,
            functional_all,
            of_a_literal,
            in_a_helper_that_asks,
        )
    },
}

MODULES: dict[str, Callable[[], nn.Module]] = {"running_mean": RunningMean, "column_parallel": ColumnParallel}


def make(name: str) -> nn.Module:
    torch.manual_seed(0)
    return MODULES[name]() if name in MODULES else Layer(COMMUNICATE[name])


def inputs(name: str, rank: int, seed: int = 0) -> tuple[Tensor, ...]:
    size = 6 if seed and name in DYNAMIC else 2
    return (torch.randn(size, 4, generator=torch.Generator().manual_seed(10 * seed + rank)),)


NAMES = [*COMMUNICATE, *MODULES]
DYNAMIC = ("sum", "asynchronous", "all_gather", "all_gather_in_a_row", "all_to_all", "transposed", "running_mean")
"""Exported with a batch of any size, and called with two."""


def short_form(y: Tensor) -> Tensor:
    dist.group.WORLD.allreduce(y).wait()
    return y


def progress(y: Tensor) -> Tensor:
    return y + 1 if dist.all_reduce(y, async_op=True).is_completed() else y


def scaled(y: Tensor) -> Tensor:
    dist.all_reduce(y, op=dist._make_nccl_premul_sum(2.0))
    return y


def barrier(y: Tensor) -> Tensor:
    dist.barrier()
    return y


def to_one(y: Tensor) -> Tensor:
    dist.reduce(y, dst=0)
    return y


def sent(y: Tensor) -> Tensor:
    dist.send(y, dst=1 - dist.get_rank())
    return y


def objects(y: Tensor) -> Tensor:
    names: list[Any] = [None, None]
    dist.all_gather_object(names, "a")
    return y if names[0] == "a" else y + 1


def uneven(y: Tensor) -> Tensor:
    dist.all_gather([torch.empty(2, 4), torch.empty(3, 4)], y)
    return y


REFUSED: dict[str, Callable[[Tensor], Any]] = {
    function.__name__: function for function in (short_form, progress, scaled, barrier, to_one, sent, objects, uneven)
}
