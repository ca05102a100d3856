"""Two tensors that the same operators make of the same numbers are equal for all sizes: a branch on it is no branch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import dynamo_lite
from dynamo_lite.errors import DynamoLiteError


def causal(n: int, fill: float = float("-inf"), diagonal: int = 1) -> Tensor:
    return torch.triu(torch.full((n, n), fill), diagonal=diagonal)


def compared(x: Tensor) -> Tensor:
    n = x.shape[0]
    return x + 1 if bool((causal(n) == causal(n)).all()) else x - 1


def compared_as_an_item(x: Tensor) -> Tensor:
    n = x.shape[0]
    return x + 1 if (causal(n) == torch.full((n, n), float("-inf")).triu(1)).all().item() else x - 1


def equal(x: Tensor) -> Tensor:
    n = x.shape[0]
    one, other = (torch.arange(n).unsqueeze(1) < torch.arange(n).unsqueeze(0) for _ in range(2))
    return x + 1 if torch.equal(one, other) else x - 1


def views(x: Tensor) -> Tensor:
    n = x.shape[0]
    a, b = (torch.ones(n, n).tril().unsqueeze(0).expand(2, n, n) for _ in range(2))
    return x + 1 if torch.equal(a, b) else x - 1


@pytest.mark.parametrize("program", [compared, compared_as_an_item, equal, views], ids=lambda f: f.__name__)
def test_equal_for_all_sizes(program: Callable[..., Any]) -> None:
    run = dynamo_lite.export(program, (torch.rand(4),), dynamic_shapes=({0: Dim("n", min=1)},)).module()
    for n in (1, 2, 4, 7):
        x = torch.rand(n)
        torch.testing.assert_close(run(x), program(x))


@pytest.mark.parametrize("layers", [1, 2])
def test_encoder_finds_out_that_its_mask_is_causal(layers: int) -> None:
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), layers).eval()

    def program(x: Tensor) -> Any:
        return encoder(x, mask=nn.Transformer.generate_square_subsequent_mask(x.shape[1]))

    sizes = ({0: Dim("batch", min=1), 1: Dim("length", min=1)},)
    run = dynamo_lite.export(program, (torch.rand(2, 5, 8),), dynamic_shapes=sizes).module()
    for shape in ((2, 5), (1, 3), (3, 1)):
        x = torch.rand(*shape, 8)
        torch.testing.assert_close(run(x), program(x))


def no_number(x: Tensor) -> Any:
    n = x.shape[0]
    return (causal(n, float("nan")) == causal(n, float("nan"))).all()


def written(x: Tensor) -> Any:
    a, b = causal(x.shape[0]), causal(x.shape[0])
    a.add_(1)
    return (a == b).all()


def written_through_a_view(x: Tensor) -> Any:
    a, b = causal(x.shape[0]), causal(x.shape[0])
    a.view(-1)[:1] = 5
    return (a == b).all()


def written_after_it_was_compared(x: Tensor) -> Any:
    a, b = causal(x.shape[0]), causal(x.shape[0])
    same = a == b
    same.logical_not_()
    return same.all()


def another_diagonal(x: Tensor) -> Any:
    return (causal(x.shape[0]) == causal(x.shape[0], diagonal=0)).all()


def of_the_input(x: Tensor) -> Any:
    return (x * 2 == x * 2).all()


def other_sizes(x: Tensor) -> Any:
    n = x.shape[0]
    return (torch.arange(n) == torch.arange(n * 2 - n // 2 * 2)[:1]).all()


def random(x: Tensor) -> Any:
    return (torch.rand(x.shape[0]) == torch.rand(x.shape[0])).all()


UNKNOWN = [no_number, written, written_through_a_view, written_after_it_was_compared, another_diagonal, of_the_input,
           other_sizes, random]  # fmt: skip


@pytest.mark.parametrize("asked", UNKNOWN, ids=lambda f: f.__name__)
def test_data_stays_data(asked: Callable[..., Any]) -> None:
    def program(x: Tensor) -> Tensor:
        return x + 1 if asked(x) else x - 1

    shapes = ({0: Dim("n", min=1)},)
    with pytest.raises(DynamoLiteError, match="data"):
        dynamo_lite.export(program, (torch.rand(4),), dynamic_shapes=shapes, control_flow="refuse")
