"""Indexing by a mask without dimensions, and by a mask beside an integer that only run time knows, against eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import dynamo_lite

Program = Callable[[Tensor, Tensor], Any]


def no_nan(x: Tensor, c: Tensor) -> Any:
    loss = x.sum() / c.clamp(min=0).sum()
    loss[loss.isinf()] = 0.0
    return loss


def ratio(x: Tensor, c: Tensor) -> Any:
    scores, rest, total = torch.ones(()), x.sum(), c.sum()
    holds = total > 0
    scores[holds] = 1 - rest[holds] / total[holds]
    return scores


def in_place(x: Tensor, c: Tensor) -> Any:
    x = x.clone()
    x[:, c.sum() > 0] += 1
    return x


def changed_between(x: Tensor, c: Tensor) -> Any:
    m = c.sum() > 0
    before = x[m]
    m.logical_not_()
    return before, x[m]


def changed_through_a_view(x: Tensor, c: Tensor) -> Any:
    masks = torch.stack([c.sum() > 0, c.sum() > 9])
    m = masks[0]
    before = x[m]
    masks.logical_not_()
    return before, x[m]


def on_one_side(x: Tensor, c: Tensor) -> Any:
    m = c[0] > 0
    if c.sum() > 1:
        x = x + x[m].sum()
    return x + x[m].sum()


def in_iterations(x: Tensor, c: Tensor) -> Any:
    total = torch.zeros(())
    for row in c:
        total = total + x[row > 0].sum()
    return total


def known(x: Tensor, c: Tensor) -> Any:
    flag = torch.tensor(x.shape[0] == 2)
    return x[flag].view(1, 2, 3) + c.sum(), x[~flag].view(0, 2, 3), x[flag, c.long().sum() * 0]


def of_the_input(x: Tensor, c: Tensor) -> Any:
    return x[c.bool().all()]


PROGRAMS = (
    no_nan, ratio, in_place, changed_between, changed_through_a_view, on_one_side, in_iterations, known, of_the_input
)  # fmt: skip


@pytest.mark.parametrize("strict", (True, False), ids=("strict", "non-strict"))
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda fn: fn.__name__)
def test_masks_of_scalars(program: Program, strict: bool) -> None:
    if program is on_one_side and not strict:
        pytest.skip("strict=False captures no branches")
    x, c = torch.randn(2, 3), torch.tensor([2.0, 1.0])
    run = dynamo_lite.export(program, (x, c), strict=strict).module()
    for other in (c, -c, c * 9, torch.tensor([1.0, -3.0]), torch.zeros(2)):
        torch.testing.assert_close(run(x, other), program(x, other), equal_nan=True)


def test_a_mask_of_inference_mode() -> None:
    with torch.inference_mode():
        x, mask = torch.randn(2, 3), torch.tensor(True)
    run = dynamo_lite.export(lambda x, mask: x[mask] * 2, (x, mask)).module()
    for other in (mask, ~mask):
        with torch.inference_mode():
            torch.testing.assert_close(run(x, other), x[other] * 2)


class Indexed(nn.Module):
    """x[key], and x with that changed: the key has `m`, a mask of one, and `n`, a number, that run time knows."""

    def __init__(self, key: tuple[Any, ...]) -> None:
        super().__init__()
        self.key = key

    def forward(self, x: Tensor, m: Tensor, n: Tensor) -> Any:
        known = {"m": m.any(), "n": n.sum()}
        key = tuple([known[item] if isinstance(item, str) else item for item in self.key])
        changed = x.clone()
        changed[key] = 7.0
        return x[key], changed


LISTS = [True, False, True], [[True, False, True], [False, True, True], [True, True, False]]
ITEMS = ("m", "n", 0, slice(None), slice(1, None), None, [0, 2], torch.tensor([1, 2]), *LISTS, torch.tensor(LISTS[1]))


def _numpy_masks() -> list[Any]:
    numpy = pytest.importorskip("numpy")
    return [numpy.array(mask) for mask in LISTS]


@pytest.mark.parametrize("varies", (True, False), ids=("of sizes", "of data"))
@pytest.mark.parametrize("kind", ("list", "array", "tensor"))
def test_a_mask_beside_a_number(kind: str, varies: bool) -> None:
    """The number picked in the mask's second dimension."""
    mask: Any = {"list": LISTS[1], "array": _numpy_masks()[1], "tensor": torch.tensor(LISTS[1])}[kind]

    def program(x: Tensor, rows: Tensor) -> Any:
        return x[mask, rows.shape[0] - 4 if varies else rows.sum().long()]

    x, rows = torch.randn(3, 3, 3), torch.tensor([1.0, 0, 0, 0, 0])
    shapes = (None, {0: torch.export.Dim("n", min=4, max=6)}) if varies else None
    run = dynamo_lite.export(program, (x, rows), dynamic_shapes=shapes).module()
    for other in (rows, torch.tensor([2.0, 0, 0, 0, 0, 0])[: None if varies else 5], torch.zeros(4 if varies else 5)):
        torch.testing.assert_close(run(x, other), program(x, other))


def _expected(module: Indexed, args: tuple[Tensor, ...]) -> Any:
    try:
        return module(*args)
    except IndexError:  # too many indices, masks of another size, what cannot be broadcast
        return None


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_keys(data: st.DataObject) -> None:
    """What is exported equals eager for both values of the mask; or it is refused, or asserts, where eager broadcasts
    none with several, or two masks."""
    items = st.sampled_from([*range(len(ITEMS)), -1, -2])
    drawn = data.draw(st.lists(items, min_size=1, max_size=4))
    key = [ITEMS[i] if i >= 0 else _numpy_masks()[i] for i in drawn]
    if data.draw(st.booleans()):
        key.insert(data.draw(st.integers(0, len(key))), ...)
    module, x = Indexed(tuple(key)), torch.randn(3, 3, 3)
    examples = [(x, torch.tensor([bit]), torch.tensor([1, n])) for bit in (True, False) for n in (0, 1)]
    expected = [_expected(module, args) for args in examples]
    if expected[0] is None:
        return
    try:
        run = dynamo_lite.export(module, examples[0]).module()
    except dynamo_lite.errors.GraphBreak as refusal:
        advanced = [item for item in key if item is ITEMS[0] or isinstance(item, list) or hasattr(item, "ndim")]
        assert len(advanced) > 1, refusal  # how many a mask takes has to be what the others take
        return
    for args, result in zip(examples, expected):
        if result is None:
            continue
        try:
            given_back = run(*args)
        except RuntimeError as error:
            assert "assertion failed" in str(error), error
            continue
        torch.testing.assert_close(given_back, result)
