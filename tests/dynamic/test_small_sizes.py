"""Operators of one formula for all sizes: exported at 4 and 5, the program takes 0 and 1 where eager does."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.export import Dim
from torch.utils import _pytree as pytree

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
    "spectrogram": lambda x: torch.stft(
        x.flatten(1)[:, :8], 4, hop_length=2, window=torch.ones(4), center=False, return_complex=True
    ).abs(),
    "spectrum_and_back": lambda x: torch.fft.irfft2(torch.fft.rfft2(x[:, :1]), s=(1, 8)),
    "grid": lambda x: F.affine_grid(x.new_ones(x.shape[0], 2, 3), (x.shape[0], 1, x.shape[1], 4), align_corners=False),
    "grid_in_space": lambda x: F.affine_grid(
        torch.arange(12.0).view(1, 3, 4).expand(x.shape[0], 3, 4), (x.shape[0], 1, x.shape[1], 4, 3), False
    ),
    "sampled": lambda x: F.grid_sample(
        x[:, None], F.affine_grid(x[:, 0, :6].reshape(-1, 2, 3), (x.shape[0], 1, 3, 4), False), align_corners=False
    ),
    "result_that_is_a_copy": lambda x: (x * 2).transpose(0, 1).contiguous(),
    "result_of_nested_attention": lambda x: (x * 2)[None, :, :, None].transpose(0, -2).squeeze(-2).contiguous(),
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
        except (RuntimeError, IndexError, ValueError):
            with pytest.raises((RuntimeError, IndexError, ValueError)):
                run(x)
            continue
        if name == "loss" and batch == 0:
            continue  # the kernel of cross_entropy asks for a batch
        torch.testing.assert_close(run(x), want)
        compared += 1
    assert compared >= 9


def test_results_that_may_be_one_tensor() -> None:
    """The program has the operator, which gives a view at a size of 1 and a copy above, as in eager."""

    def beside(x: Tensor) -> tuple[Tensor, Tensor]:
        y = (x * 2).transpose(0, 1)
        return y, y.contiguous()

    def of_the_input(x: Tensor) -> Tensor:
        return x.transpose(0, 1).contiguous()

    for program in (beside, of_the_input):
        run = dynamo_lite.export(program, (torch.rand(4, 5, 8),), dynamic_shapes=({0: Dim.AUTO},)).module()
        for size in (1, 3):
            x = torch.rand(size, 5, 8)
            ours, eager = (pytree.tree_leaves(f(x)) for f in (run, program))
            for one, other in zip(ours, eager, strict=True):
                assert torch.equal(one, other) and one.stride() == other.stride()
            assert _sharing([x, *ours]) == _sharing([x, *eager])


def _sharing(tensors: list[Tensor]) -> list[bool]:
    places = [tensor.untyped_storage().data_ptr() for tensor in tensors]
    return [one == other for one, other in itertools.combinations(places, 2)]
