"""Modules whose inputs and parameters are DTensors, for two ranks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn


class Doubled(nn.Module):
    """Operators on an input, none of which communicates."""

    def forward(self, x: Tensor) -> Tensor:
        return (x * 2).relu() + 1


class Sharded(nn.Module):
    """A layer of which each rank holds some rows; its input is on every rank."""

    def __init__(self, mesh: Any) -> None:
        super().__init__()
        from torch.distributed.tensor import Shard, distribute_tensor

        self.weight = nn.Parameter(distribute_tensor(torch.arange(12.0).reshape(4, 3), mesh, [Shard(0)]))

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.linear(x, self.weight)


class Local(nn.Module):
    """The part of this rank, as a plain tensor."""

    def forward(self, x: Any) -> Tensor:
        return x.to_local() * 2 + x.placements[0].dim


class Moved(nn.Module):
    """A DTensor that the ranks exchange parts of."""

    def forward(self, x: Any) -> Any:
        return x.redistribute(x.device_mesh, [type(x.placements[0])(1)])


class Made(nn.Module):
    """A DTensor made in forward."""

    def forward(self, x: Any) -> Any:
        from torch.distributed.tensor import DTensor

        return DTensor.from_local(x.to_local(), x.device_mesh, x.placements)


NAMES = ["doubled", "sharded", "local", "moved", "made"]


def export(rank: int, folder: Path, name: str) -> dict[str, Any]:
    """What the program and eager give on this rank, as the local tensors and the placements."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    import dynamo_lite

    mesh = init_device_mesh("cpu", (2,))
    modules = {"doubled": Doubled, "sharded": lambda: Sharded(mesh), "local": Local, "moved": Moved, "made": Made}
    placement = Replicate() if name == "sharded" else Shard(0)
    x = distribute_tensor(torch.arange(12.0).reshape(4, 3) - 5, mesh, [placement])
    module = modules[name]()
    try:
        program = dynamo_lite.export(module, (x,))
    except dynamo_lite.errors.DynamoLiteError as error:
        return {"refused": error.id}
    x = distribute_tensor(torch.arange(12.0).reshape(4, 3) * 2 - 7, mesh, [placement])
    return {"given": _plain(program.module()(x)), "wanted": _plain(module(x))}


def _plain(value: Any) -> tuple[Tensor, str]:
    local = value.to_local() if hasattr(value, "to_local") else value
    return local.detach().clone(), str(getattr(value, "placements", ""))
