"""Operators at large: a program for each gap that the sweep over torch's samples (benchmarks/operators.py) showed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim

import dynamo_lite
from dynamo_lite.errors import ConstraintViolation, GraphBreak
from dynamo_lite.symbolic_shapes.torch_versions import Variant, current

_REFUSES_RESIZE = Variant(GraphBreak, until=(2, 14)), Variant(ConstraintViolation, since=(2, 14))
"""resize_ of a symbolic size has a meta kernel since torch 2.14."""


class Call(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *tensors: torch.Tensor) -> Any:
        return self.function(*tensors)


@pytest.mark.parametrize("function", [torch.quantile, torch.nanquantile], ids=["quantile", "nanquantile"])
def test_kernels_may_format_tensors(function: Callable[..., Any]) -> None:
    x = torch.randn(3, 4)
    program = dynamo_lite.export(Call(lambda x: function(x, 0.25, dim=1)), (x,))
    torch.testing.assert_close(program.module()(x + 1), function(x + 1, 0.25, dim=1))


@pytest.mark.parametrize("function", [torch.fft.ifft, torch.conj, lambda x: torch.fft.fft(x).conj().imag])
def test_conjugated_tensors_of_varying_sizes(function: Callable[..., Any]) -> None:
    x = torch.randn(4, 6, dtype=torch.complex64)
    program = dynamo_lite.export(Call(function), (x,), dynamic_shapes=(({0: Dim("n"), 1: Dim.AUTO},),))
    for module in (program.module(), program.run_decompositions().module()):
        other = torch.randn(7, 6, dtype=torch.complex64)
        torch.testing.assert_close(module(other), function(other))


class Traced(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.jit.trace(nn.Linear(4, 3), torch.randn(2, 4))

    def forward(self, x: torch.Tensor) -> Any:
        return self.linear(x) + 1


@torch.jit.script
def scripted(x: torch.Tensor, times: int) -> torch.Tensor:
    for _ in range(times):
        x = x.sin() + 1
    return x


@pytest.mark.parametrize("module", [Traced(), Call(lambda x: scripted(x, 3))], ids=["traced", "scripted"])
def test_operators_that_torchscript_runs(module: nn.Module) -> None:
    program = dynamo_lite.export(module, (torch.randn(2, 4),))
    x = torch.randn(2, 4)
    torch.testing.assert_close(program.module()(x), module(x))


def test_packed_sequences_have_as_many_steps_as_the_lengths_say() -> None:
    def pack(x: torch.Tensor, lengths: torch.Tensor) -> Any:
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        return packed.data * packed.data.shape[0], packed.batch_sizes

    program = dynamo_lite.export(Call(pack), (torch.randn(3, 6, 4), torch.tensor([6, 3, 2])))
    x, lengths = torch.randn(3, 6, 4), torch.tensor([5, 5, 1])
    torch.testing.assert_close(program.module()(x, lengths), pack(x, lengths))


def test_an_operator_that_resizes_a_tensor_of_varying_size_is_refused() -> None:
    module, shapes = Call(lambda x: x.clone().resize_(2, 2)), (({0: Dim("n")},),)
    with pytest.raises(current(*_REFUSES_RESIZE)) as caught:
        dynamo_lite.export(module, (torch.randn(4),), dynamic_shapes=shapes)
    if isinstance(caught.value, ConstraintViolation):
        assert "n = Dim('n', min=4)" in str(caught.value)
        program = dynamo_lite.export(module, (torch.randn(5),), dynamic_shapes=(({0: Dim("n", min=4)},),)).module()
        assert torch.equal(program(torch.arange(7.0)), torch.arange(4.0).reshape(2, 2))
    else:
        assert caught.value.id == "no-meta-kernel"
