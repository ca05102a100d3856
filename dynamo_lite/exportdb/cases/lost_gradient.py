"""A gradient of a decomposed program with a custom autograd.Function

`run_decompositions()` inlines the forward of the Function, and torch's passes leave its backward out; a program that is
exported under `torch.no_grad()` has none either. Both compute what the model computes. The gradient would be that of
the operators (zero, for a straight-through estimator), so a backward that flows through there raises.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("autograd", "after-export")
ERROR = "lost-gradient"


class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.round()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        return Round.apply(x * self.weight)


class Rewrite(Module):
    """Trained before it is decomposed."""


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)


def export(module: nn.Module) -> ExportedProgram:
    program = dynamo_lite.export(module, inputs()).run_decompositions()
    program.module()(*inputs()).sum().backward()
    return program


def rewrite_export(module: nn.Module) -> ExportedProgram:
    program = dynamo_lite.export(module, inputs())
    program.module()(*inputs()).sum().backward()
    return program.run_decompositions()
