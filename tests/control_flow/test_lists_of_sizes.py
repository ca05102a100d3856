"""Lists that a program makes with a length that varies: `[x] * n`, `list(range(n))`, `list(x.split(4))`.

The oracle is eager at each length. A use that no such list answers leaves the list with the example's length: an error
where the length was promised, and a guard where it was left to `Dim.AUTO`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.export import Dim

import dynamo_lite

Run = Callable[[torch.Tensor], Any]
SIZES = (1, 2, 3, 4, 5, 8, 9, 13)


def table_of_positions(x: torch.Tensor) -> Any:
    return torch.tensor(list(range(x.shape[0]))[::-1])[None, :].repeat(2, 1), x * 1


def numbers(x: torch.Tensor) -> Any:
    return x * torch.tensor([1.5] * x.shape[0]).unsqueeze(1)


def flags(x: torch.Tensor) -> Any:
    return x * torch.tensor([True] * x.shape[0]).unsqueeze(1)


def sizes_in_a_list(x: torch.Tensor) -> Any:
    return torch.tensor([x.shape[1]] * x.shape[0]).cumsum(0) + x[:, 0]


def rows_of_numbers(x: torch.Tensor) -> Any:
    return torch.tensor([[7, 8]] * x.shape[0]) + x[:, :2]


def pairs_beside_rows(x: torch.Tensor) -> Any:
    windows = [(2, 1)] * x.shape[0]
    return torch.stack([row[:width] * scale for row, (width, scale) in zip(x, windows)])


def indices(x: torch.Tensor) -> Any:
    order = list(range(x.shape[0]))
    return x[order] + len(order) + order[-1]


def loop_over_it(x: torch.Tensor) -> Any:
    total = 0
    for i in list(range(x.shape[0])):
        total = total + x[i] * i
    return total


def every_second(x: torch.Tensor) -> Any:
    order = list(range(0, x.shape[0], 2))
    return x[order], x[order[0]]


def of_a_range(x: torch.Tensor) -> Any:
    return torch.tensor(range(x.shape[0])) + x[:, 0]


def a_tuple(x: torch.Tensor) -> Any:
    return x / torch.tensor(tuple(range(1, x.shape[0] + 1)), dtype=torch.float32).unsqueeze(1)


def summed(x: torch.Tensor) -> Any:
    zeros = [0] * x.shape[0]
    zeros.append(2)
    return x + len(zeros) + sum(zeros)


def one_tensor_many_times(x: torch.Tensor) -> Any:
    many = [x[0]] * x.shape[0]
    return torch.stack(many) + many[0], torch.cat([x[:1]] * x.shape[0])


def one_tensor_that_is_changed(x: torch.Tensor) -> Any:
    y = x * 1
    many = [y[0]] * y.shape[0]
    before = torch.stack(many)
    y.add_(1)
    return before, torch.stack(many)


def pieces(x: torch.Tensor) -> Any:
    parts = list(x.split(4))
    return torch.cat([part.cumsum(0) for part in parts])


def rows(x: torch.Tensor) -> Any:
    return torch.stack(list(x)[::-1])


def held_by_an_ordered_dict(x: torch.Tensor) -> Any:
    held: OrderedDict[str, Any] = OrderedDict()
    held["rows"] = list(x)
    return torch.stack(held["rows"])


def left_early(x: torch.Tensor) -> Any:
    total: Any = 0
    for i, value in enumerate([2] * x.shape[0]):
        total = total + x[i] * value
        if i == 3:
            break
    return total


def changed_shape_of_the_source(x: torch.Tensor) -> Any:
    y = x.sin()
    rows = list(y)
    y.unsqueeze_(0)
    return torch.stack(rows)


def same_object(x: torch.Tensor) -> Any:
    first = x[0]
    many = [first] * x.shape[0]
    return x * (many[0] is first) * (many[-1] is many[0])


def extended_in_place(x: torch.Tensor) -> Any:
    out = []
    for row in x:
        out.append(row * 2)
    again = out
    out += [x[0]]
    return torch.stack(again)


def numbers_by_a_condition(x: torch.Tensor) -> Any:
    count = x.shape[0] if x.shape[0] > 8 else 2
    return x * 1, count


def sliced(x: torch.Tensor) -> Any:
    return x[list(range(x.shape[0]))[1:]]


PROGRAMS = [
    same_object, extended_in_place, numbers_by_a_condition,
    table_of_positions, numbers, flags, sizes_in_a_list, rows_of_numbers, pairs_beside_rows, indices, loop_over_it,
    every_second, of_a_range, a_tuple, summed, one_tensor_many_times, one_tensor_that_is_changed, pieces, rows,
    held_by_an_ordered_dict, left_early, sliced,
]  # fmt: skip


@pytest.mark.parametrize("run", PROGRAMS)
def test_every_length_is_taken(run: Run) -> None:
    program = dynamo_lite.export(run, (torch.randn(5, 3),), dynamic_shapes={"x": {0: Dim("length", min=1)}})
    made = [program.module(), program.run_decompositions().module()]
    for length in SIZES:
        x = torch.randn(length, 3)
        for module in made:
            torch.testing.assert_close(module(x.clone()), run(x.clone()))


def unpacked(x: torch.Tensor) -> Any:
    a, b = [x[0]] * (x.shape[0] - 3)
    return a + b


def as_arguments(x: torch.Tensor) -> Any:
    def count(*values: Any) -> int:
        return len(values)

    return x * count(*([1] * x.shape[0]))


def sorted_items(x: torch.Tensor) -> Any:
    order = list(range(x.shape[0]))
    return x * sorted(order)[0]


def searched(x: torch.Tensor) -> Any:
    return x * (2 in list(range(x.shape[0])))


def compared(x: torch.Tensor) -> Any:
    return x * (list(range(x.shape[0])) == [0, 1, 2, 3, 4])


def returned(x: torch.Tensor) -> Any:
    return [x[0]] * x.shape[0]


def in_a_set(x: torch.Tensor) -> Any:
    order = list(range(x.shape[0]))
    return x * len(set(order))


def doubled(x: torch.Tensor) -> Any:
    return x * len(([1] * x.shape[0]) * 2)


def assigned(x: torch.Tensor) -> Any:
    values = [1] * x.shape[0]
    values[0] = 5
    return x * sum(values)


def position_of(x: torch.Tensor) -> Any:
    return x[list(range(x.shape[0])).index(2)]


def taken_out(x: torch.Tensor) -> Any:
    return x * list(range(x.shape[0])).pop()


def nested(x: torch.Tensor) -> Any:
    return x + torch.tensor([[0] * x.shape[0]] * 3).t()


def identity_of_an_item(x: torch.Tensor) -> Any:
    rows = list(x)
    return x * (rows[0] is rows[0])


def identity_of_the_ends(x: torch.Tensor) -> Any:
    rows = list(x)
    return x * (rows[0] is rows[-5])


def an_item_as_a_key(x: torch.Tensor) -> Any:
    rows = list(x)
    return x * {rows[0]: 3}[rows[0]]


def an_item_with_an_attribute(x: torch.Tensor) -> Any:
    rows = list(x)
    rows[0].scale = 3  # type: ignore[attr-defined]
    return x * rows[0].scale  # type: ignore[attr-defined]


def an_item_of_another_shape(x: torch.Tensor) -> Any:
    rows = list(x.sin())
    rows[0].unsqueeze_(0)
    return rows[0]


def a_plain_list_in_place(x: torch.Tensor) -> Any:
    def add(out: list[Any], more: list[Any]) -> None:
        out += more

    out = [x[0]]
    add(out, [x[0]] * x.shape[0])
    return torch.stack(out)


def of_texts(x: torch.Tensor) -> Any:
    return x * len("".join(["a"] * x.shape[0]))


@pytest.mark.parametrize(
    "run",
    [changed_shape_of_the_source, identity_of_an_item, identity_of_the_ends, an_item_as_a_key,
     an_item_with_an_attribute, an_item_of_another_shape, a_plain_list_in_place, of_texts, unpacked, as_arguments,
     sorted_items, searched, compared, returned, in_a_set, doubled, assigned, position_of, taken_out,
     nested],
)  # fmt: skip
def test_other_uses_fix_the_length(run: Run) -> None:
    with pytest.raises(dynamo_lite.ConstraintViolation, match="only works for 5"):
        dynamo_lite.export(run, (torch.randn(5, 3),), dynamic_shapes={"x": {0: Dim("length", min=1)}})
    program = dynamo_lite.export(run, (torch.randn(5, 3),), dynamic_shapes={"x": {0: Dim.AUTO}}).module()
    x = torch.randn(5, 3)
    torch.testing.assert_close(program(x), run(x))
    for length in (1, 4, 6):
        with pytest.raises(dynamo_lite.program.InputMismatch):
            program(torch.randn(length, 3))
