"""Decisions on tensors that a program computes from constants alone: the same in each call, so they can be taken."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import dynamo_lite
from dynamo_lite.errors import DataDependent

X = torch.tensor([1.0, -2.0, 3.0])


def _mask(x: Tensor) -> Tensor:
    mask = torch.full((3, 3), float("-inf")).triu(1)
    return x @ mask.exp() if bool((mask == nn.Transformer.generate_square_subsequent_mask(3)).all()) else x


def _number(x: Tensor) -> Tensor:
    return x * int(torch.arange(5).max()) + float(torch.linspace(0, 1, 4)[1])


def _written_in_place(x: Tensor) -> Tensor:
    z = torch.zeros(3)
    z[1] = 2.0
    z.add_(1)
    return x * 5 if z.sum() > 4 else x


def _written_through_a_view(x: Tensor) -> Tensor:
    z = torch.zeros(2, 3)
    row = z[1]
    before = bool(z.any())
    row.masked_fill_(torch.tensor([True, False, True]), 7.0)
    return x + int(z.sum()) if not before and z.view(-1)[3] == 7 else x


def _literal(x: Tensor) -> Tensor:
    table = torch.tensor([1, 2, 3])
    table.mul_(2)
    return x - 1 if (table > 5).any() else x


def _several_results(x: Tensor) -> Tensor:
    values, indices = torch.tensor([3.0, 1.0, 2.0]).sort()
    low, high = torch.arange(6).chunk(2)
    return x * values[0].item() + indices[0].item() + high.min().item() - low.max().item()


def _equal(x: Tensor) -> Tensor:
    return x * 3 if torch.equal(torch.eye(2), torch.diag(torch.ones(2))) else x


def _in_a_loop(x: Tensor) -> Tensor:
    i = torch.zeros((), dtype=torch.int64)
    while i < 4:
        x, i = x + i, i + 1
    return x


def _rows(x: Tensor) -> Tensor:
    """As torchdiffeq's solvers go through times, and monai's losses sum over `arange(2, x.dim()).tolist()`."""
    times = torch.linspace(0, 1, 4)
    for before, after in itertools.pairwise(times):
        x = x + 1 if after > before and before < 0.5 else x - 1
    smallest, position = torch.tensor([[3.0, 1.0], [0.0, 2.0]]).min(dim=1)
    return x[None].sum(torch.arange(0, 1).tolist()) if smallest[1] < smallest[0] and position[0] == 1 else x


def _written_through_rows(x: Tensor) -> Tensor:
    table = torch.zeros(2, 3)
    first, second = table.unbind()
    second.add_(first + 2)
    return x * 4 if table.sum() == 6 and second[0] == 2 and first[0] == 0 else x


def _in_autocast(x: Tensor) -> Tensor:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        product = torch.full((2, 2), 1.001) @ torch.ones(2, 2)
    return x + 1 if product.float().max() == 2.0 else x - 1


def _as_an_index(x: Tensor) -> Tensor:
    return x[torch.tensor([0, 2])[1].item()] + x[: int(torch.ones(2).sum())]


def _filled(x: Tensor) -> Tensor:
    mask = torch.empty(3, 3)
    mask.fill_(float("-inf"))
    mask.triu_(1)
    return x @ mask.exp() if mask[0, 1].isinf() and not mask[1, 0].isinf() else x


TAKEN: list[Callable[[Tensor], Tensor]] = [
    _mask, _number, _written_in_place, _written_through_a_view, _literal, _several_results, _equal, _in_a_loop,
    _as_an_index, _filled, _rows, _written_through_rows,
]  # fmt: skip


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("program", TAKEN, ids=lambda f: f.__name__)
def test_as_in_eager(program: Callable[[Tensor], Tensor], strict: bool) -> None:
    run = dynamo_lite.export(program, (X,), strict=strict).module()
    for x in (X, -X, X * 100):
        torch.testing.assert_close(run(x), program(x), rtol=0, atol=0)


@pytest.mark.parametrize("program", [*TAKEN, _in_autocast], ids=lambda f: f.__name__)
def test_as_in_eager_where_branches_are_captured(program: Callable[[Tensor], Tensor]) -> None:
    run = dynamo_lite.export(program, (X,), control_flow="capture").module()
    for x in (X, -X):
        torch.testing.assert_close(run(x), program(x), rtol=0, atol=0)


def test_an_if_on_constants_makes_no_operator() -> None:
    program = dynamo_lite.export(_mask, (X,), control_flow="capture")
    assert not any("cond" in str(node.target) for node in program.graph.nodes)


class _Varies(nn.Module):
    def __init__(self, ask: Callable[[Any, Tensor], Any]) -> None:
        super().__init__()
        self.ask = ask
        self.plain = torch.ones(2)
        self.numpy = torch.from_numpy(torch.ones(2).numpy())
        self.register_buffer("buffer", torch.ones(2))
        self.weight = nn.Parameter(torch.ones(2))

    def forward(self, x: Tensor) -> Tensor:
        return x + 1 if self.ask(self, x) else x


def _input_written_in(self: Any, x: Tensor) -> Tensor:
    z = torch.zeros(3)
    row = z[:1]
    z.copy_(x)
    return row.sum() > 0


def _size_of_an_input(self: Any, x: Tensor) -> Tensor:
    return torch.arange(x.shape[0]).sum() > 2


@torch.library.custom_op("dynamo_lite_tests::counted", mutates_args=())
def _counted(x: Tensor) -> Tensor:
    CALLS.append(1)
    return x + len(CALLS)


_counted.register_fake(lambda x: torch.empty_like(x))
CALLS: list[int] = []


def _input_written_into_a_row(self: Any, x: Tensor) -> Tensor:
    table = torch.zeros(2, 3)
    first, second = table.unbind()
    first.add_(1)
    second.copy_(x)
    return table[1].sum() > 0


VARIES: dict[str, Callable[[Any, Tensor], Any]] = {
    "an input": lambda self, x: x.sum() > 0,
    "an input written into it": _input_written_in,
    "a row of an input": lambda self, x: x.expand(2, -1).unbind()[0].sum() > 0,
    "an input written into a row": _input_written_into_a_row,
    "a row that an input is written into": lambda self, x: torch.zeros(2, 3).unbind()[1].copy_(x).sum() > 0,
    "a row of random numbers": lambda self, x: torch.rand(2, 3).unbind()[0].sum() > 0,
    "a row of memory that is not filled": lambda self, x: torch.empty(2, 3).unbind()[0].sum() > 0,
    "random numbers": lambda self, x: torch.rand(3).sum() > 0,
    "a buffer": lambda self, x: self.buffer.sum() > 0,
    "a parameter": lambda self, x: self.weight.sum() > 0,
    "a constant from outside": lambda self, x: self.plain.sum() > 0,
    "memory from outside": lambda self, x: self.numpy.sum() > 0,
    "a size": _size_of_an_input,
    "a custom operator": lambda self, x: _counted(torch.ones(2)).sum() > 0,
    "memory that is not filled": lambda self, x: torch.empty(3).sum() > 0,
    "memory that is partly filled": lambda self, x: _half_filled() > 0,
    "autocast": lambda self, x: _autocast_product() > 0,
}


def _half_filled() -> Tensor:
    z = torch.empty(2, 3)
    z[0].fill_(1.0)
    return z.sum()


def _autocast_product() -> Tensor:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return (torch.ones(2, 2) @ torch.ones(2, 2)).sum()


@pytest.mark.parametrize("what", VARIES)
def test_what_varies_is_refused(what: str) -> None:
    with pytest.raises(DataDependent):
        shapes = {"x": {0: torch.export.Dim("n")}}
        dynamo_lite.export(_Varies(VARIES[what]), (X,), dynamic_shapes=shapes, control_flow="refuse")
    assert CALLS == []


def test_a_transformer_with_a_mask_of_its_own() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Transformer(8, 2, 1, 1, 16, batch_first=True)

        def forward(self, source: Tensor, target: Tensor) -> Tensor:
            mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
            return self.inner(source, target, tgt_mask=mask)

    model = Model().eval()
    batch = torch.export.Dim("batch")
    shapes = {"source": {0: batch, 1: torch.export.Dim("length")}, "target": {0: batch}}
    run = dynamo_lite.export(model, (torch.rand(2, 5, 8), torch.rand(2, 6, 8)), dynamic_shapes=shapes).module()
    for sizes in ((2, 5), (1, 3)):
        given = torch.rand(*sizes, 8), torch.rand(sizes[0], 6, 8)
        torch.testing.assert_close(run(*given), model(*given))


def _changed_by_iterations(x: Tensor) -> Tensor:
    step = torch.tensor(1)
    while x.sum() < 20:
        x = x + int(step)
        step += 1
    return x * int(step)


def _changed_by_one_side(x: Tensor) -> Tensor:
    step = torch.tensor(1)
    if x.sum() > 20:
        step += 1
        x = x * int(step)
    return x + int(step)


def _changed_between_iterations(x: Tensor) -> Tensor:
    step = torch.tensor(1)
    while x.sum() < 20:
        x = x + step.item() if x.max() > 3 else x + 1
        step.add_(1)
    return x


@pytest.mark.parametrize(
    "program", [_changed_by_iterations, _changed_by_one_side, _changed_between_iterations], ids=lambda f: f.__name__
)
def test_a_constant_that_a_sub_graph_changes_is_none(program: Callable[[Tensor], Tensor]) -> None:
    """The value of the first round was once that of all."""
    run = dynamo_lite.export(program, (X,)).module()
    for x in (X, -X, X * 20, X + 2.5):
        torch.testing.assert_close(run(x), program(x), rtol=0, atol=0)


def _read_on_one_side(x: Tensor) -> Tensor:
    sizes = torch.tensor([1, 2])
    if x.sum() > 0:
        for size in sizes.tolist():
            x = x[:size].sum() + x
    return x


def _read_in_iterations(x: Tensor) -> Tensor:
    sizes = torch.tensor([1, 2])
    while x.sum() < 20:
        first, second = x.split(sizes.tolist())
        x = torch.cat([second + 1, first + 2])
    return x


@pytest.mark.parametrize("program", [_read_on_one_side, _read_in_iterations], ids=lambda f: f.__name__)
def test_a_sub_graph_reads_a_constant_from_around(program: Callable[[Tensor], Tensor]) -> None:
    made = dynamo_lite.export(program, (X,))
    assert not made.range_constraints  # no number is read at run time
    for x in (X, -X, X * 20):
        torch.testing.assert_close(made.module()(x), program(x), rtol=0, atol=0)
