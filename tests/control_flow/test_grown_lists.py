"""A list to which each iteration adds is a list, of its own length, for what the program asks of it; or it is
refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import dynamo_lite
from dynamo_lite.control_flow import reachable

EQUAL: dict[str, Callable[[list[Tensor], Tensor], Any]] = {
    "type": lambda outs, x: torch.stack(outs) if type(outs) is list else x * 0,
    "__class__": lambda outs, x: torch.stack(outs) if outs.__class__ is list else x * 0,
    "isinstance": lambda outs, x: torch.stack(outs) if isinstance(outs, list) else x * 0,
    "len": lambda outs, x: x * len(outs),
    "list": lambda outs, x: torch.stack(list(outs)),
    "list is another one": lambda outs, x: (list(outs).append(x[0]), torch.stack(outs))[1],
    "tuple": lambda outs, x: torch.cat(tuple(outs)) if type(tuple(outs)) is tuple else x * 0,
    "isinstance of tuple": lambda outs, x: torch.stack(outs) if isinstance(tuple(outs), tuple) else x * 0,
    "items of a tuple": lambda outs, x: tuple(outs)[-1] + (again := tuple(outs))[0] * len(again),
}
REFUSED: dict[str, Callable[[list[Tensor], Tensor], Any]] = {
    "torch.hstack": lambda outs, x: torch.hstack(outs),
    "torch.column_stack": lambda outs, x: torch.column_stack(outs),
    "torch.atleast_1d": lambda outs, x: torch.atleast_1d(outs),
    "__len__": lambda outs, x: x * outs.__len__(),
    "list.__len__": lambda outs, x: x * list.__len__(outs),
    "list.copy": lambda outs, x: x * len(list.copy(outs)),
    "copy.copy": lambda outs, x: torch.stack(copy.copy(outs)),
    "an attribute that it has and a list has not": lambda outs, x: x * hasattr(outs, "parts"),
    "such an attribute, read": lambda outs, x: x * len(getattr(outs, "tracer", ())),
}


def _exported(use: Callable[[list[Tensor], Tensor], Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def program(x: Tensor) -> Any:
        outs = []
        for row in range(x.shape[0]):
            outs.append(x[row] * 2)
        return use(outs, x)

    shapes = ({0: torch.export.Dim("n", min=1, max=50)},)
    example = (torch.randn(4, 3),)
    return program, dynamo_lite.export(program, example, dynamic_shapes=shapes, control_flow="capture").module()


@pytest.mark.parametrize("name", EQUAL)
def test_equals_eager_at_other_lengths(name: str) -> None:
    program, run = _exported(EQUAL[name])
    for n in (1, 2, 7):
        x = torch.randn(n, 3)
        torch.testing.assert_close(run(x), program(x))


def test_one_side_adds_the_row_itself() -> None:
    """The row lies where only run time knows; what the other side adds, at the beginning of its memory."""

    def program(x: Tensor) -> Any:
        outs = []
        for row in x:
            if row.sum() > 0:
                outs.append(row)
            else:
                outs.append(-row)
        return torch.stack(outs)

    shapes = ({0: torch.export.Dim("n", min=1, max=50)},)
    run = dynamo_lite.export(program, (torch.randn(4, 3),), dynamic_shapes=shapes, control_flow="capture").module()
    for n in (1, 2, 7):
        x = torch.randn(n, 3)
        torch.testing.assert_close(run(x), program(x))


@pytest.mark.parametrize("name", REFUSED)
def test_what_it_is_made_of_is_not_seen(name: str) -> None:
    with pytest.raises(dynamo_lite.errors.DataDependent, match="whose length depends on the data"):
        _exported(REFUSED[name])


def test_leaves_of_a_container_that_holds_it() -> None:
    """pytree goes over the items one by one: that fixes the length, which was promised to vary."""
    with pytest.raises(dynamo_lite.errors.ConstraintViolation):
        _exported(lambda outs, x: torch.utils._pytree.tree_leaves({"outs": (outs,)})[0])


def test_what_the_process_holds_is_not_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The iterator of the loop holds the tracer, which leads to all that a long process has: more than is looked at."""
    monkeypatch.setattr(reachable, "_LIMIT", 200)
    program, run = _exported(EQUAL["len"])
    x = torch.randn(7, 3)
    torch.testing.assert_close(run(x), program(x))


class Filtered(torch.nn.Module):
    """Its list has the rows with a positive sum, scaled."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))

    def forward(self, x: Tensor) -> Tensor:
        out = [x[0] * self.scale]
        for row in x:
            if row.sum() > 0:
                out.append(row * self.scale)
        return torch.stack(out)


@pytest.mark.parametrize("shapes", [None, ({0: torch.export.Dim("n", min=1, max=50)},)])
def test_items_that_may_not_be_there_have_gradients(shapes: Any) -> None:
    """As torch.cond and, where the length varies, within torch's scan."""
    model = Filtered()
    made = dynamo_lite.export(model, (torch.randn(4, 3),), dynamic_shapes=shapes).module()
    for n in (4,) if shapes is None else (4, 1, 7):
        x, grads = torch.randn(n, 3, generator=torch.Generator().manual_seed(n)), []
        for run in (model, made):
            run.zero_grad()
            (run(x) ** 2).sum().backward()
            grads.append(run.scale.grad)
        torch.testing.assert_close(*grads)


@pytest.mark.parametrize("use", ["torch.stack(keep)", "torch.cat(keep)"])
def test_an_empty_list_raises_as_in_eager(use: str) -> None:
    space: dict[str, Any] = {"torch": torch}
    exec(f"def program(x):\n    keep = [r for r in x if r.sum() > 0]\n    return {use}", space)
    x = torch.ones(2, 3)
    run = dynamo_lite.export(space["program"], (x,)).module()
    torch.testing.assert_close(run(x), space["program"](x))
    for call in (space["program"], run):
        with pytest.raises((RuntimeError, ValueError)):
            call(-x)


def test_numbers_that_may_be_none_are_no_float_tensor() -> None:
    """torch.tensor([]) is one in eager; the program asserts that there is a number, and says so."""

    def program(x: Tensor) -> Tensor:
        keep = []
        for i in range(3):
            if x[i] > 0:
                keep.append(i)
        return torch.tensor(keep)

    trace = dynamo_lite.trace(program, (torch.ones(3),))
    assert any("may be empty" in str(note) for note in trace.notes)
    run = trace.program.module()
    x = torch.tensor([1.0, -1.0, 1.0])
    torch.testing.assert_close(run(x), program(x))
    with pytest.raises(RuntimeError, match="u0 >= 1"):
        run(-torch.ones(3))


def test_a_handler_of_what_an_empty_list_raises_is_refused() -> None:
    def program(x: Tensor) -> Tensor:
        keep = [r for r in x if r.sum() > 0]
        try:
            return torch.stack(keep)
        except RuntimeError:
            return x

    with pytest.raises(dynamo_lite.errors.DataDependent, match="may catch"):
        dynamo_lite.export(program, (torch.ones(2, 3),))


def _positive(x: Tensor, first: Tensor) -> list[Tensor]:
    outs = [first]
    for row in x:
        if row.sum() > 0:
            outs.append(row)
    return outs


def _one_of_them(x: Tensor, first: Tensor) -> Tensor:
    return _positive(x, first)[0]


def _second(x: Tensor, first: Tensor) -> Tensor:
    return _positive(x, first)[1]


def _one_by_one(x: Tensor, first: Tensor) -> Tensor:
    total = x[0] * 0
    for row in _positive(x, first):
        total = total + (row * 2 if row.dtype == torch.int64 else row)
    return total


def _stacked(x: Tensor, first: Tensor) -> Tensor:
    return torch.stack(_positive(x, first))


def _joined(x: Tensor, first: Tensor) -> Tensor:
    return torch.cat(_positive(x, first))


@pytest.mark.parametrize("take", [_second, _one_by_one, _stacked], ids=lambda f: f.__name__)
@pytest.mark.parametrize("first", [torch.ones(3, dtype=torch.int64), torch.ones(2, 3)], ids=["dtype", "shape"])
def test_unlike_items_are_refused(take: Any, first: Tensor) -> None:
    """They would be rows of one tensor, which has one dtype: that of eager's result depends on which are there."""
    _is_refused(take, first)


def test_joined_items_of_unlike_dtypes_are_refused() -> None:
    _is_refused(_joined, torch.ones(3, dtype=torch.int64))


def _is_refused(take: Any, first: Tensor) -> None:
    with pytest.raises(dynamo_lite.errors.GraphBreak) as caught:
        dynamo_lite.export(take, (torch.ones(4, 3), first))
    assert caught.value.id == "branch-unsupported" and "items are not all of one" in str(caught.value)


def test_an_item_that_is_there_keeps_its_dtype() -> None:
    first = torch.ones(3, dtype=torch.int64)
    program = dynamo_lite.export(_one_of_them, (torch.ones(4, 3), first)).module()
    for x in (torch.ones(4, 3), -torch.ones(4, 3)):
        assert program(x, first).dtype == torch.int64 and torch.equal(program(x, first), first)


@pytest.mark.parametrize("of_row", [lambda row: (row > 0).sum(), lambda row: row * 2], ids=["dtype", "shape"])
def test_unlike_items_of_a_loop_in_a_loop_are_refused(of_row: Any) -> None:
    """What the inner loop adds are rows of one tensor for each iteration of the outer."""

    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        outs, i = [], 0
        while i < x.sum().long() % 4 + 1:
            for row in x:
                outs.append(of_row(row))
                outs.append(row.sum())
            i = i + 1
        return outs[-2], outs[-1]

    with pytest.raises(dynamo_lite.errors.GraphBreak, match="items are not all of one"):
        dynamo_lite.export(forward, (torch.ones(3, 2),))
