"""Branches on tensors with several sizes that vary: what they return lies as in eager, for sizes of 1 too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.export import Dim
from torch.nn import functional as F

import dynamo_lite
from dynamo_lite.errors import GraphBreak


def branch(x: Tensor) -> Any:
    return x + 1 if x.sum() > 0 else x * 2


def made(x: Tensor) -> Any:
    return torch.ones_like(x).cumsum(1) if x.sum() > 0 else torch.zeros(x.shape)


def twice(x: Tensor) -> Any:
    for _ in range(2):
        if x.sum() > 0:
            x = x - 3 if x.max() > 1 else x.clone()
    return x


def unknown_columns(x: Tensor) -> Any:
    chosen = x.reshape(-1).nonzero().t().float()
    return (chosen + 1 if x.sum() > 0 else chosen * 2).shape[1] * x


def loop(x: Tensor) -> Any:
    while x.norm() > 1:
        x = x * 0.5
    return x


def operator(x: Tensor) -> Any:
    return torch.cond(x.sum() > 0, lambda t: t + 1, lambda t: t * 2, (x,))


def transposed(x: Tensor) -> Any:
    y = x.t()
    return y + 1 if x.sum() > 0 else y * 2


@pytest.mark.parametrize("program", [branch, made, twice, unknown_columns, operator], ids=lambda f: f.__name__)
def test_sizes_of_one_and_decompositions(program: Callable[[Tensor], Any]) -> None:
    sizes = ({0: Dim.DYNAMIC, 1: Dim.DYNAMIC},)
    exported = dynamo_lite.export(program, (torch.randn(3, 4),), dynamic_shapes=sizes)
    for module in (exported.module(), exported.run_decompositions().module()):
        for shape in ((3, 4), (5, 1), (1, 1), (1, 7)):
            for x in (torch.ones(shape), -torch.ones(shape), torch.full(shape, 0.01)):
                got, expected = module(x), program(x)
                assert torch.equal(got, expected) and got.stride() == expected.stride()


def written_through(x: Tensor) -> Any:
    y = branch(x)
    y.reshape(-1).add_(1)  # a copy, if x is not contiguous
    return y


@pytest.mark.parametrize("program", [branch, made, operator, written_through], ids=lambda f: f.__name__)
def test_inputs_that_lie_otherwise_where_sizes_vary(program: Callable[[Tensor], Any]) -> None:
    sizes = ({0: Dim.DYNAMIC, 1: Dim.DYNAMIC},)
    module = dynamo_lite.export(program, (torch.randn(4, 4),), dynamic_shapes=sizes).module()
    for x in (torch.ones(2, 3), -torch.ones(3, 2)):
        for other in (x.t(), torch.stack([x, x], -1)[..., 0]):
            got, want = module(other), program(other)
            assert torch.equal(got, want) and got.stride() == want.stride()


@pytest.mark.parametrize("program", [branch, made, twice, loop, operator], ids=lambda f: f.__name__)
def test_inputs_that_lie_otherwise(program: Callable[[Tensor], Any]) -> None:
    """What is asked of strides to build sub-graphs is not the program's question, and makes no guard."""
    module = dynamo_lite.export(program, (torch.randn(4, 4),)).module()
    for x in (torch.ones(4, 4), -torch.ones(4, 4), torch.randn(4, 4) + 1):
        for other in (x.t().contiguous().t(), torch.stack([x, x], -1)[..., 0], x.new_ones(4, 1).expand(4, 4)):
            torch.testing.assert_close(module(other), program(other))


def test_results_that_lie_otherwise() -> None:
    """torch's own rule: the sides of a transposed result agree."""
    exported = dynamo_lite.export(transposed, (torch.randn(3, 4),), dynamic_shapes=({0: Dim.DYNAMIC, 1: None},))
    for x in (torch.ones(5, 4), -torch.ones(2, 4)):
        assert torch.equal(exported.module()(x), transposed(x))


def padded(x: Tensor) -> Any:
    missing = -x.shape[0] % 4
    if missing:
        x = torch.nn.functional.pad(x, (0, 0, 0, missing))
    return x * 2


def strides_of_padded(x: Tensor) -> Any:
    y = padded(x).view(-1, 4, 3)
    return y.as_strided((y.shape[0], 2, 3), y.stride()), y.stride(0)


def strides_of_transposed(x: Tensor) -> Any:
    y = padded(x.t().contiguous().t())
    return y * y.stride(0)


@pytest.mark.parametrize("rows", [1, 3, 4, 6, 8])
def test_strides_behind_sides_that_are_contiguous_in_their_own_sizes(rows: int) -> None:
    program = dynamo_lite.export(strides_of_padded, (torch.randn(6, 3),), dynamic_shapes=({0: Dim("rows", min=1)},))
    x = torch.randn(rows, 3)
    got, want = program.module()(x), strides_of_padded(x)
    assert got[1] == want[1]
    torch.testing.assert_close(got[0], want[0])


def test_strides_behind_sides_that_lie_otherwise() -> None:
    with pytest.raises(dynamo_lite.DynamoLiteError):
        dynamo_lite.export(strides_of_transposed, (torch.randn(6, 3),), dynamic_shapes=({0: Dim("rows", min=1)},))


CopyOrView = Callable[[Tensor, Tensor], Any]


def _two_layouts(x: Tensor, t: Tensor) -> Tensor:
    y: Tensor = x.t() * 2 if t else x * 2
    return y


def _written_reshape(x: Tensor, t: Tensor) -> Tensor:
    y = _two_layouts(x, t)
    y.reshape(-1).add_(1)
    return y


def _written_contiguous(x: Tensor, t: Tensor) -> Tensor:
    y = _two_layouts(x, t)
    y.contiguous().mul_(3)
    return y


def _two_names(x: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
    y = _two_layouts(x, t)
    return y.reshape(-1), y


def _computed_from_it(x: Tensor, t: Tensor) -> Tensor:
    y = _two_layouts(x, t) + 1
    y.flatten().add_(1)
    return y


def _dimensions_by_data(x: Tensor, t: Tensor) -> Tensor:
    y = x.permute((1, 0) if t else (0, 1)) * 2
    y.flatten().mul_(2)
    return y


@pytest.mark.parametrize(
    "program", [_written_reshape, _written_contiguous, _two_names, _computed_from_it, _dimensions_by_data]
)
def test_a_view_or_a_copy_as_the_side_goes_is_refused_where_it_shows(program: CopyOrView) -> None:
    """The program viewed what eager copies on one side."""
    with pytest.raises(GraphBreak, match="view or a copy, as the side goes"):
        dynamo_lite.export(program, (torch.arange(9.0).reshape(3, 3), torch.tensor(True)))


def _values_alone(x: Tensor, t: Tensor) -> Tensor:
    return _two_layouts(x, t).reshape(-1) + 1


def _copied_first(x: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
    y = _two_layouts(x, t)
    z = y.reshape(-1).clone()
    z.add_(1)
    return z, y


def _one_layout(x: Tensor, t: Tensor) -> Tensor:
    y = x * 3 if t else x * 2
    y.reshape(-1).add_(1)
    return y


@pytest.mark.parametrize("program", [_values_alone, _copied_first, _one_layout])
def test_where_it_does_not_show_it_is_captured(program: CopyOrView) -> None:
    x = torch.arange(9.0).reshape(3, 3)
    module = dynamo_lite.export(program, (x.clone(), torch.tensor(True))).module()
    for truth in (True, False):
        expected = program(x.clone(), torch.tensor(truth))
        torch.testing.assert_close(module(x.clone(), torch.tensor(truth)), expected, rtol=0, atol=0)


def transposed_by_data(x: Tensor) -> Tensor:
    """A result that one side lays out as a matrix that is transposed."""
    return x.t().contiguous().t() if x.sum() > 0 else x * 1


def strides_of_a_product(x: Tensor) -> Tensor:
    y = F.linear(transposed_by_data(x), torch.ones(4, 3))
    y /= 2
    chunks = y.view(x.shape[0], 2, 2).transpose(0, 1)
    return chunks.as_strided(chunks.shape, chunks.stride()) * chunks.stride(2)


def strides_on_a_later_side(x: Tensor) -> Tensor:
    y = F.layer_norm(transposed_by_data(x) @ torch.ones(3, 3), (3,))
    if x[0, 0] > 1:
        z = F.pad(y, (0, 1))
        y = z.as_strided((x.shape[0], 2), z.stride())
    return y.sum()


@pytest.mark.parametrize("call", [strides_of_a_product, strides_on_a_later_side])
def test_strides_that_do_not_come_from_the_result(call: Any) -> None:
    program = dynamo_lite.export(call, (torch.randn(5, 3),), dynamic_shapes=({0: Dim("rows", min=1)},))
    for x in (torch.randn(5, 3), -torch.ones(2, 3), torch.ones(3, 3) * 2, torch.ones(1, 3)):
        got, want = program.module()(x), call(x)
        assert torch.equal(got, want) and got.stride() == want.stride()


@pytest.mark.parametrize("of", [lambda y: y, torch.relu, lambda y: y[1:], lambda y: (y @ torch.ones(3, 3)) + y])
def test_strides_that_come_from_the_result(of: Any) -> None:
    with pytest.raises(GraphBreak, match="strides of a tensor are asked for"):
        dynamo_lite.export(lambda x: x * of(transposed_by_data(x)).stride(0), (torch.randn(3, 3),))


def test_strides_of_the_result_on_a_later_side() -> None:
    def call(x: Tensor) -> Tensor:
        y = torch.relu(transposed_by_data(x))
        return y * y.stride(0) if x[0, 0] > 1 else y

    with pytest.raises(GraphBreak, match="strides of a tensor are asked for"):
        dynamo_lite.export(call, (torch.randn(5, 3),))


def view_in_a_handler(x: Tensor) -> Tensor:
    y = transposed_by_data(x) * 2
    try:
        return y.view(-1)
    except RuntimeError:
        return y + 1


def test_whether_a_view_fails_is_a_question() -> None:
    with pytest.raises(GraphBreak, match="strides of a tensor are asked for"):
        dynamo_lite.export(view_in_a_handler, (-torch.ones(3, 3),))


@pytest.mark.parametrize(
    "draw",
    [
        F.dropout,
        torch.rand_like,
        lambda y: y * torch.bernoulli(y.sigmoid()),
        lambda y: F.dropout(y) if y[0, 0] > 1 else y,
    ],
)
def test_numbers_drawn_in_the_order_of_the_result(draw: Any) -> None:
    with pytest.raises(GraphBreak, match="random numbers are drawn in the memory order"):
        dynamo_lite.export(lambda x: draw(transposed_by_data(x) * 2), (torch.randn(3, 3),))


def test_numbers_drawn_in_another_order() -> None:
    def call(x: Tensor) -> Tensor:
        y = transposed_by_data(x)
        return (
            F.dropout(F.linear(y, torch.ones(4, 3)), training=True)
            + F.dropout(y, training=False)[:, :1]
            + torch.rand(3, 1)
        )

    program = dynamo_lite.export(call, (torch.randn(3, 3),)).module()
    for x in (torch.ones(3, 3), -torch.ones(3, 3)):
        torch.manual_seed(0)
        got = program(x)
        torch.manual_seed(0)
        assert torch.equal(got, call(x))
