"""Numbers and flags chosen by data that an operator wants as constants: a side for each value, equal to eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import dynamo_lite
from dynamo_lite.errors import GraphBreak

X = torch.arange(9, dtype=torch.float32).reshape(3, 3) / 9
FLAGS = (torch.tensor(True), torch.tensor(False))


def _dim(x: Tensor, flag: Tensor) -> Tensor:
    return x.softmax(0 if flag else 1)


def _dim_of_a_branch(x: Tensor, flag: Tensor) -> Tensor:
    dim = 0
    if flag:
        x, dim = x * 2, 1
    return x.cumsum(dim) + 1


def _three(x: Tensor, flag: Tensor) -> Tensor:
    kernel = 1
    if flag:
        kernel = 3
    elif x.sum() > 3:
        kernel = 2
    return F.avg_pool2d(x.repeat(3, 3)[None, None], kernel, stride=3)


def _causal(x: Tensor, flag: Tensor) -> Tensor:
    q = x[None, None]
    return F.scaled_dot_product_attention(q, q, q, is_causal=bool(flag))


def _sum(x: Tensor, flag: Tensor) -> Tensor:
    return x.sum(int(flag))


def _keeps(x: Tensor, flag: Tensor) -> Tensor:
    return x.sum(1, keepdim=bool(flag)).sum() + x.transpose(0, 1 if flag else 0)


def _twice(x: Tensor, flag: Tensor) -> Tensor:
    dim = 1 if flag else 0
    return x.softmax(dim) + x.cumsum(dim=dim).flip((dim,))


def _starred(x: Tensor, flag: Tensor) -> Tensor:
    options = {"dim": 0 if flag else 1, "descending": bool(x.sum() > 1)}
    return torch.sort(x, **options)[0]


def _within_a_loop(x: Tensor, flag: Tensor) -> Tensor:
    while x.abs().sum() < 20:
        x = x.roll(1, 0 if flag else 1) + x.softmax(1 if x[0, 0] > 1 else 0)
    return x


def _in_a_helper(x: Tensor, flag: Tensor) -> Tensor:
    def normed(value: Tensor, dim: int) -> Tensor:
        return value.cumsum(dim).softmax(dim)

    return normed(x, int(flag)) @ normed(x, 1 - int(flag))


PROGRAMS: list[Callable[[Tensor, Tensor], Tensor]] = [
    _dim, _dim_of_a_branch, _three, _causal, _sum, _keeps, _twice, _starred, _within_a_loop, _in_a_helper,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_as_in_eager(program: Callable[[Tensor, Tensor], Tensor]) -> None:
    made = dynamo_lite.export(program, (X, FLAGS[0]))
    for run in (made.module(), made.run_decompositions().module()):
        for x in (X, X * 3, -X):
            for flag in FLAGS:
                torch.testing.assert_close(run(x, flag), program(x, flag))


@pytest.mark.parametrize("program", [_dim, _sum, _twice], ids=lambda f: f.__name__)
def test_gradients(program: Callable[[Tensor, Tensor], Tensor]) -> None:
    x = X.clone().requires_grad_()
    run = dynamo_lite.export(program, (x, FLAGS[0])).module()
    weight = torch.arange(3.0)
    for flag in FLAGS:
        ours, eager = (torch.autograd.grad((f(x, flag) * weight).sum(), x)[0] for f in (run, program))
        torch.testing.assert_close(ours, eager)


def test_an_error_of_one_side_is_eagers() -> None:
    def program(x: Tensor, flag: Tensor) -> Tensor:
        return x.sum(5 if flag else 0)

    run = dynamo_lite.export(program, (X, FLAGS[1])).module()
    torch.testing.assert_close(run(X, FLAGS[1]), program(X, FLAGS[1]))
    with pytest.raises(RuntimeError, match="Dimension out of range"):
        run(X, FLAGS[0])


def test_a_number_of_any_value_is_refused_by_its_name() -> None:
    def program(x: Tensor, n: Tensor) -> Tensor:
        count = int(n)
        return x.sum(count)

    with pytest.raises(GraphBreak, match="The number count depends on the data") as caught:
        dynamo_lite.export(program, (X, torch.tensor(1)))
    assert caught.value.id == "data-dependent-value"


SIZE = 5
CAUSAL = nn.Transformer.generate_square_subsequent_mask(SIZE)
OTHER = torch.zeros(SIZE, SIZE).masked_fill(torch.eye(SIZE).roll(2, 1).bool(), float("-inf"))
PADDING = torch.tensor([[False] * SIZE, [False] * 3 + [True] * 2])


def _encoder(first: bool) -> tuple[nn.Module, list[str]]:
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=first)
    return nn.TransformerEncoder(layer, 2), ["mask"]


def _decoder(first: bool) -> tuple[nn.Module, list[str]]:
    layer = nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, batch_first=first)
    return nn.TransformerDecoder(layer, 2), ["tgt_mask"]


def _both(first: bool) -> tuple[nn.Module, list[str]]:
    return nn.Transformer(8, 2, 1, 1, 16, dropout=0.0, batch_first=first), ["src_mask", "tgt_mask"]


@pytest.mark.parametrize("as_bool", [False, True], ids=["floats", "bools"])
@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
@pytest.mark.parametrize("make", [_encoder, _decoder, _both], ids=lambda f: f.__name__)
def test_transformers_with_masks(make: Callable[..., Any], training: bool, as_bool: bool) -> None:
    """torch asks whether a mask is the causal one, and gives its attention the answer as a flag."""
    torch.manual_seed(0)
    module, names = make(not as_bool)
    module.train(training)
    source = torch.randn(2, SIZE, 8)
    args = (source,) if make is _encoder else (source, source.flip(1))
    masks = [mask.isinf() if as_bool else mask for mask in (CAUSAL, OTHER)]
    if as_bool:
        args = tuple(arg.transpose(0, 1) for arg in args)
    for example in masks:
        run = dynamo_lite.export(module, args, dict.fromkeys(names, example)).module()
        for mask in masks:
            given: dict[str, Any] = dict.fromkeys(names, mask)
            ours, eager = run(*args, **given), module(*args, **given)
            torch.testing.assert_close(ours, eager)
            if training:
                _same_gradients(ours, run, eager, module)


def _same_gradients(ours: Tensor, run: nn.Module, eager: Tensor, module: nn.Module) -> None:
    weights, others = dict(run.named_parameters()), dict(module.named_parameters())
    found = torch.autograd.grad(ours.square().sum(), [weights[name] for name in others])
    wanted = torch.autograd.grad(eager.square().sum(), [*others.values()])
    for one, other in zip(found, wanted):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


def test_an_encoder_with_a_mask_and_padding() -> None:
    torch.manual_seed(0)
    module = _encoder(True)[0].eval()
    source = torch.randn(2, SIZE, 8)
    run = dynamo_lite.export(module, (source,), {"mask": CAUSAL, "src_key_padding_mask": PADDING}).module()
    for mask in (CAUSAL, OTHER):
        given = {"mask": mask, "src_key_padding_mask": PADDING}
        torch.testing.assert_close(run(source, **given), module(source, **given))
