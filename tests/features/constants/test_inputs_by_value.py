"""`constants=`: what a program reads of an input given by value, its guard, and what cannot be one."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn

import dynamo_lite
from dynamo_lite.errors import InputMismatch, InvalidArguments

X = torch.arange(40, dtype=torch.float32).reshape(20, 2)
GRID = torch.tensor([[1, 2, 4], [2, 2, 3]])
OTHER = torch.tensor([[1, 2, 4], [2, 3, 2]])


def _loops(x: Tensor, grid: Tensor) -> Tensor:
    parts, at = [], 0
    for t, h, w in grid.tolist():
        parts.append(x[at : at + t * h * w].softmax(0))
        at += t * h * w
    return torch.cat(parts)


def _branches(x: Tensor, grid: Tensor) -> Tensor:
    if grid.max() > 3:
        x = x * 2
    return x + int(grid[0, 1]) + grid[1, 2].item() if grid.ne(7).all() else x


def _sizes(x: Tensor, grid: Tensor) -> tuple[Tensor, ...]:
    lengths = (grid[:, 1] * grid[:, 2]).repeat_interleave(grid[:, 0])
    bounds = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    windows = [part.mean(0) for part in x.split(lengths.tolist())]
    rows = [x[a:b].sum() for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist())]
    return torch.stack(windows), torch.stack(rows), torch.arange(int(bounds[-1]))


def _found(x: Tensor, grid: Tensor) -> tuple[Tensor, ...]:
    where = (grid > 2).nonzero()
    mask = torch.arange(20) < grid.sum()
    taken = x[mask]
    if where.shape[0] == 2 and taken.shape[0] == 14:
        taken = taken.reshape(7, 2, 2)
    return taken, grid.unique(), grid.masked_select(grid > 1).reshape(5, 1), torch.where(grid == 1)[0]


def _within(x: Tensor, grid: Tensor) -> Tensor:
    if x.sum() > 0:
        for count in grid[0].tolist():
            x = x.repeat(count, 1)[:20]
    while x.abs().sum() < 10_000:
        x = x + x.flip(0) * grid.shape[0] + int(grid[0, 0])
    return x


def _written(x: Tensor, grid: Tensor) -> Tensor:
    grid[0] += 1
    grid.mul_(2)
    return x * sum(grid[0].tolist())


PROGRAMS: list[Callable[..., Any]] = [_loops, _branches, _sizes, _found, _within]


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_as_in_eager(program: Callable[..., Any], strict: bool) -> None:
    if program is _within and not strict:
        pytest.skip("strict=False captures no branch")
    made = dynamo_lite.export(program, (X, GRID), constants={"grid": None}, strict=strict)
    assert [spec.arg.name for spec in made.graph_signature.input_specs if spec.kind.name == "USER_INPUT"] == [
        "x",
        "grid",
    ]
    for x in (X, -X, X + 3):
        torch.testing.assert_close(made.module()(x, GRID.clone()), program(x, GRID), rtol=0, atol=0)


def test_what_is_written_into_it() -> None:
    made = dynamo_lite.export(_written, (X, GRID.clone()), constants=("grid",)).module()
    ours, eager = GRID.clone(), GRID.clone()
    torch.testing.assert_close(made(X, ours), _written(X, eager))
    torch.testing.assert_close(ours, eager)
    with pytest.raises(InputMismatch, match="Input grid: expected the constant"):
        made(X, ours)  # it has another value now


def _modules(made: Any) -> dict[str, Callable[[], Any]]:
    def through_a_file(load: Callable[[Any], Any]) -> Any:
        file = io.BytesIO()
        dynamo_lite.save(made, file)
        file.seek(0)
        return load(file)

    return {
        "module": lambda: made.module(),
        "decomposed": lambda: made.run_decompositions().module(),
        "loaded": lambda: through_a_file(dynamo_lite.load).module(),
        "loaded and decomposed": lambda: through_a_file(dynamo_lite.load).run_decompositions().module(),
        "loaded by torch": lambda: through_a_file(torch.export.load).module(),
        "exported again": lambda: dynamo_lite.export(made.module(), (X, GRID)).module(),
        "exported again by torch": lambda: torch.export.export(made.module(), (X, GRID), strict=False).module(),
        "compiled": lambda: torch.compile(made.module(), backend="eager", fullgraph=True),
    }


@pytest.mark.parametrize("way", _modules(None))
def test_another_value_is_rejected(way: str) -> None:
    run = _modules(dynamo_lite.export(_sizes, (X, GRID), constants={"grid": None}))[way]()
    torch.testing.assert_close(run(X, GRID), _sizes(X, GRID))
    with pytest.raises(Exception) as caught:
        run(X, OTHER)
    if way in ("module", "decomposed", "loaded", "loaded and decomposed"):
        assert "Input grid: expected the constant [[1, 2, 4], [2, 2, 3]], given [[1, 2, 4], [2, 3, 2]]." in str(
            caught.value
        )


def test_the_guard_of_the_trace() -> None:
    trace = dynamo_lite.trace(_loops, (X, GRID), constants={"grid": None})
    assert "L['grid'].tolist() == [[1, 2, 4], [2, 2, 3]]" in trace.explain()
    assert trace.guards.check(_loops, (X, GRID)) is None
    assert trace.guards.check(_loops, (X, OTHER)) is not None


VALUES = {
    "nan and zeros": torch.tensor([float("nan"), 0.0, -0.0, 1.5]),
    "half": torch.tensor([0.1, 2.0], dtype=torch.bfloat16),
    "infinite": torch.tensor([[float("inf")], [-1e300]], dtype=torch.float64),
    "bool": torch.tensor([True, False]),
    "no dimensions": torch.tensor(7),
    "empty": torch.zeros(0, 3, dtype=torch.int64),
    "expanded": torch.tensor([3]).expand(4),
    "transposed": torch.arange(6).reshape(2, 3).t(),
    "part of a tensor": torch.arange(10)[3:7:2],
}


@pytest.mark.parametrize("what", VALUES)
def test_values(what: str) -> None:
    def program(x: Tensor, value: Tensor) -> Tensor:
        return x + len(str(value.tolist())) + sum(part for part in value.double().flatten().tolist() if part == part)

    value = VALUES[what]
    run = dynamo_lite.export(program, (X, value), constants={"value": None}).module()
    torch.testing.assert_close(run(X, value), program(X, value), rtol=0, atol=0)
    if value.numel():
        changed = value.clone()
        changed[(0,) * value.dim()] = 9 * (value.dtype is not torch.bool)
        with pytest.raises(InputMismatch, match="Input value: expected the constant"):
            run(X, changed)


def test_zero_is_not_minus_zero() -> None:
    run = dynamo_lite.export(lambda x, s: x / s.item(), (X, torch.zeros(1)), constants=("s",)).module()
    with pytest.raises(InputMismatch, match=r"expected the constant \[0.0\], given \[-0.0\]"):
        run(X, -torch.zeros(1))


def test_a_long_value_is_cut_in_the_error() -> None:
    value = torch.arange(2_000)
    run = dynamo_lite.export(lambda x, v: x * v.tolist()[5], (X, value), constants="v").module()
    with pytest.raises(InputMismatch, match=r"given \[0, 1, .*\.\.\.\. The first difference is at \[1234\]"):
        run(X, value.clone().index_fill_(0, torch.tensor(1234), 0))


class Batch(NamedTuple):
    grid: Tensor
    sizes: list[Tensor]


def _nested(x: Tensor, batch: Batch, *more: Tensor, **named: Any) -> Tensor:
    return x[: batch.sizes[1].item()] * sum(more[0].tolist()) + named["at"]["first"].item() + batch.sizes[0]


@pytest.mark.parametrize(
    "constants",
    [
        {"batch": {"sizes": {1: None}}, "more": {0: None}, "at": {"first": None}},
        {"batch": {"sizes": {1: None}}, "more": None, "named": {"at": None}},
        ("batch.sizes[1]", "more_0", "at['first']"),
    ],
)
def test_parts_of_arguments(constants: Any) -> None:
    def call(size: int, first: float, free: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
        batch = Batch(GRID, [torch.tensor(free), torch.tensor(size)])
        return (X, batch, torch.tensor([1, 2]), GRID), {"at": {"first": torch.tensor(first)}}

    args, kwargs = call(3, 0.5, 1)
    run = dynamo_lite.export(_nested, args, kwargs, constants=constants).module()
    args, kwargs = call(3, 0.5, 9)  # the first size may vary
    torch.testing.assert_close(run(*args, **kwargs), _nested(*args, **kwargs))
    for wrong in (call(4, 0.5, 1), call(3, 0.25, 1)):
        with pytest.raises(InputMismatch):
            run(*wrong[0], **wrong[1])


def test_gradients_flow_to_it() -> None:
    def program(x: Tensor, scale: Tensor) -> Tensor:
        return x * scale * scale[0].item()

    scale = torch.tensor([2.0, 3.0], requires_grad=True)
    run = dynamo_lite.export(program, (X, scale), constants=("scale",)).module()
    ours, eager = (torch.autograd.grad(f(X, scale).sum(), scale)[0] for f in (run, program))
    torch.testing.assert_close(ours, eager)


def test_one_that_shares_memory_with_another_input() -> None:
    def program(x: Tensor, one: Tensor, other: Tensor) -> Tensor:
        other.add_(1)
        return x * one.sum().item()

    shared = torch.tensor([1, 2])
    for constants in (("one",), ("one", "other")):
        run = dynamo_lite.export(program, (X, shared, shared), constants=constants).module()
        ours, eager = shared.clone(), shared.clone()
        torch.testing.assert_close(run(X, ours, ours), program(X, eager, eager))
        torch.testing.assert_close(ours, eager)


def test_what_is_no_tensor_is_a_constant_anyway() -> None:
    run = dynamo_lite.export(lambda x, n, text: x[:n] if text == "a" else x, (X, 3, "a"), constants=("n", "text"))
    assert run.module()(X, 3, "a").shape == (3, 2)
    with pytest.raises(InputMismatch):
        run.module()(X, 4, "a")


def _no_data(x: Tensor, grid: Tensor) -> Tensor:
    return x


REFUSED: dict[str, tuple[Tensor, dict[str, Any], str]] = {
    "unknown name": (GRID, {"constants": {"gird": None}}, "'gird' is not an argument of the program; its"),
    "unknown in a sequence": (GRID, {"constants": ("gird",)}, "'gird' is not an argument of the program"),
    "not a dict": (GRID, {"constants": 3}, "constants must be a dict of arguments"),
    "parts of a tensor": (GRID, {"constants": {"grid": {0: None}}}, r"grid\[0\] is not an argument"),
    "no parts": (GRID, {"constants": {"grid": 3}}, "must be None, or a dict of its parts"),
    "meta": (torch.zeros(2, device="meta"), {"constants": ("grid",)}, "the input grid has no data"),
    "sparse": (torch.eye(2).to_sparse(), {"constants": ("grid",)}, "whose values no guard compares"),
    "complex": (torch.zeros(2, dtype=torch.complex64), {"constants": ("grid",)}, "whose values no guard compares"),
    "many": (torch.zeros(70_000), {"constants": ("grid",)}, "has 70,000 elements; a guard compares at most 65,536"),
    "dynamic": (
        GRID,
        {"constants": ("grid",), "dynamic_shapes": {"x": None, "grid": {0: torch.export.Dim("n")}}},
        "dynamic_shapes lets grid vary",
    ),
}


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused(what: str, strict: bool) -> None:
    value, options, words = REFUSED[what]
    with pytest.raises(InvalidArguments, match=words):
        dynamo_lite.export(_no_data, (X, value), strict=strict, **options)


class _Module(nn.Module):
    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        return torch.stack([part.sum(0) for part in x.split(lengths.tolist())])


def test_a_converted_module_keeps_the_guard() -> None:
    lengths = torch.tensor([8, 12])
    run = dynamo_lite.export(_Module(), (X, lengths), constants=("lengths",)).module().to(torch.float64)
    torch.testing.assert_close(run(X.double(), lengths), _Module()(X.double(), lengths))
    with pytest.raises(InputMismatch):
        run(X.double(), torch.tensor([9, 11]))
