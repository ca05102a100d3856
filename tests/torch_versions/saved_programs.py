"""Programs that are saved under each version and loaded under the others.

    python -m tests.torch_versions.saved_programs

writes saved/<version>/<name>.pt2 for the installed torch: ours, and torch.export's own (<name>.theirs.pt2), with what
eager gives for inputs of other sizes (<name>.pt).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.export import Dim

from dynamo_lite.symbolic_shapes.torch_versions import installed

FOLDER = Path(__file__).parent / "saved"


class Program(NamedTuple):
    """A module, example arguments, dynamic shapes, other arguments to run it on, and arguments that it rejects."""

    make: Callable[[], nn.Module]
    args: tuple[Any, ...]
    shapes: Any
    others: tuple[Any, ...]
    rejected: tuple[Any, ...] | None = None


class Static(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear, self.norm = nn.Linear(3, 4), nn.BatchNorm1d(4)
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return torch.nn.functional.dropout(self.norm(self.linear(x)), 0.5, self.training)


class Dynamic(nn.Module):
    def forward(self, x: torch.Tensor, others: dict[str, torch.Tensor]) -> torch.Tensor:
        return torch.cat([x, others["y"]]) @ x.mT


class Branches(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))
        return found


class DataDependent(nn.Module):
    def forward(self, x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        size = n.item()
        torch._check(size >= 0)
        torch._check(size <= x.shape[0])
        return x[:size] * 2


_N = Dim("n", min=2, max=16)

PROGRAMS: dict[str, Program] = {
    "static": Program(lambda: Static().eval(), (torch.ones(2, 3),), None, (torch.arange(6.0).reshape(2, 3),),
                      (torch.ones(3, 3),)),
    "dynamic": Program(Dynamic, (torch.ones(4, 3), {"y": torch.ones(5, 3)}),
                       ({0: _N}, {"y": {0: _N + 1}}),
                       (torch.arange(18.0).reshape(6, 3), {"y": torch.ones(7, 3)}),
                       (torch.ones(6, 3), {"y": torch.ones(6, 3)})),
    "branches": Program(Branches, (torch.ones(3),), ({0: Dim("m")},), (-torch.ones(5),)),
    "data_dependent": Program(DataDependent, (torch.arange(8), torch.tensor(3)), None,
                              (torch.arange(8), torch.tensor(5)), (torch.arange(8), torch.tensor(9))),
}  # fmt: skip


def folder(version: tuple[int, int]) -> Path:
    return FOLDER / f"{version[0]}.{version[1]}"


def write() -> None:
    """Save the programs of the installed torch."""
    import dynamo_lite

    here = folder(installed())
    here.mkdir(parents=True, exist_ok=True)
    for name, program in PROGRAMS.items():
        torch.manual_seed(0)
        module = program.make()
        expected = module(*program.others)
        torch.manual_seed(0)
        module = program.make()
        ours = dynamo_lite.export(module, program.args, dynamic_shapes=program.shapes)
        theirs = torch.export.export(module, program.args, dynamic_shapes=program.shapes, strict=False)
        torch.export.save(ours, here / f"{name}.pt2")
        torch.export.save(theirs, here / f"{name}.theirs.pt2")
        torch.save(expected, here / f"{name}.pt")


if __name__ == "__main__":
    write()
