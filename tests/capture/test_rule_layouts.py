"""Layouts that operator rules have to answer, and layouts that they answered wrongly once, against torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from dynamo_lite.capture import recorder as recorders
from dynamo_lite.capture.fakes import known_results, results, static_cache
from dynamo_lite.capture.operator_rules import table

Call = Callable[[], Any]


def laid_out(shape: tuple[int, ...], stride: tuple[int, ...], dtype: torch.dtype = torch.float32) -> torch.Tensor:
    size = 1 + sum((a - 1) * b for a, b in zip(shape, stride))
    return torch.zeros(size, dtype=dtype).as_strided(shape, stride)


def answers(call: Call, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any, Any]]:
    """(operator, what its rule says or None, what torch gives) of each operator of the call."""
    found: list[tuple[Any, Any, Any]] = []
    recorder = recorders.Recorder()
    run = recorder._run

    def watched(func: Any, args: Any, kwargs: Any) -> Any:
        key = static_cache.key_of(func, args, kwargs)
        said = None if key is None else table.result_of(func, args, kwargs)
        try:
            out = run(func, args, kwargs)
        except Exception as error:
            found.append((func, said, error))
            raise
        found.append((func, said, results.recipe_of(args, kwargs, out)))
        return out

    monkeypatch.setattr(known_results, "SHADOW", True)
    monkeypatch.setattr(table, "check", lambda *args: None)
    monkeypatch.setattr(recorder, "_run", watched)
    static_cache.forget()
    with recorder:
        try:
            call()
        except (RuntimeError, ValueError):
            pass
    return found


def query(stride: tuple[int, ...] = (3072, 16, 192, 1)) -> torch.Tensor:
    """One of three that a linear layer made together."""
    return laid_out((2, 4, 16, 16), stride)


ANSWERED: dict[str, Call] = {
    "attention over parts of one tensor": lambda: F.scaled_dot_product_attention(query(), query(), query()),
    "attention with one head": lambda: F.scaled_dot_product_attention(*[laid_out((3, 1, 4, 8), (96, 8, 24, 1))] * 3),
    "attention with dropout": lambda: F.scaled_dot_product_attention(query(), query(), query(), None, 0.1),
    "layer_norm of a slice": lambda: F.layer_norm(laid_out((2, 32), (544, 1)), [32], torch.ones(32), torch.ones(32)),
    "layer_norm of channels first": lambda: F.layer_norm(laid_out((2, 5, 4), (20, 1, 5)), [4], torch.ones(4)),
    "a slice, element by element": lambda: torch.sin(laid_out((1, 2, 2, 8), (64, 32, 16, 2))),
    "two that broadcast": lambda: torch.zeros(1, 3, 1) + torch.zeros(2, 1, 4),
    "a gap and a broadcast": lambda: laid_out((2, 4, 7, 8), (224, 8, 32, 1)) * torch.zeros(7, 8),
    "a view with one element more": lambda: laid_out((1, 4, 9, 8), (288, 8, 32, 1)).view(1, 4, 9, 8, 1),
    "a view of one batch": lambda: laid_out((1, 4, 9, 8), (288, 72, 8, 1)).view(1, -1, 9, 8),
    "a reshape that copies": lambda: laid_out((1, 4, 9, 8), (288, 8, 32, 1)).reshape(1, 36, 8),
    "flattened channels-last": lambda: laid_out((1, 8, 4, 4), (128, 1, 32, 8)).flatten(2),
    "cat of a strided one": lambda: torch.cat([torch.zeros(2, 32), laid_out((2, 16), (40, 1))], 1),
    "indexed by numbers": lambda: torch.zeros(49, 2)[torch.zeros(256, dtype=torch.int64)],
    "indexed by numbers that broadcast": lambda: torch.zeros(2, 7)[
        torch.zeros(2, 1, dtype=torch.int64), torch.zeros(7, dtype=torch.int64)
    ],
}


@pytest.mark.parametrize("name", ANSWERED)
def test_a_rule_answers_as_torch_does(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, said, torch_says = answers(ANSWERED[name], monkeypatch)[-1]
    assert said is not None
    assert said == torch_says


IMAGE = laid_out((2, 1, 2, 2), (4, 1, 2, 1))
"""Contiguous, and channels-last too: the stride of its channel is another than a new tensor's."""

PINNED: dict[str, Call] = {
    "tril": lambda: laid_out((3, 1, 1, 1), (1, 1, 3, 3)).tril(),
    "flip": lambda: laid_out((1, 1, 2, 2), (2, 2, 2, 1)).flip(0),
    "pad": lambda: F.pad(IMAGE, [0, 2, 2, 2]),
    "cat": lambda: torch.cat([IMAGE], 2),
    "stack": lambda: torch.stack([IMAGE, IMAGE]),
    "index": lambda: laid_out((3, 3, 1, 3), (9, 3, 1, 1))[torch.zeros(2, 1, dtype=torch.int64)],
    "layer_norm with such a weight": lambda: F.layer_norm(
        torch.zeros(5, 1, 4, 1), [5, 1, 4, 1], laid_out((5, 1, 4, 1), (4, 20, 1, 1))
    ),
    "rms_norm with such a weight": lambda: F.rms_norm(torch.zeros(5, 1, 4, 1), [4, 1], laid_out((4, 1), (1, 4))),
    "clone of one element": lambda: laid_out((1,), (3,)).clone(),
    "conversion of one element": lambda: laid_out((1,), (3,)).to(torch.int64),
    "avg_pool3d of an image smaller than its window": lambda: F.avg_pool3d(torch.zeros(4, 5, 1, 2), 3, 2, 1),
    "logical_and, which compares before": lambda: torch.logical_and(
        laid_out((2, 3, 5), (17, 1, 3)), laid_out((1, 3, 5), (15, 1, 3))
    ),
    "where of two types": lambda: torch.where(
        torch.tensor(True), laid_out((2, 3), (1, 2), torch.bool), laid_out((2, 3), (1, 0), torch.float16)
    ),
    "small floats, which are converted before": lambda: laid_out((2, 5), (1, 0), torch.float16)
    + laid_out((2, 5), (1, 2), torch.float16),
    "rsub, which takes them in the other order": lambda: torch.rsub(
        laid_out((2, 4), (1, 2)), laid_out((2, 4), (4, 1))
    ),
}


@pytest.mark.parametrize("name", PINNED)
def test_a_rule_says_nothing_else_than_torch(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for func, said, torch_says in answers(PINNED[name], monkeypatch):
        assert said is None or said == torch_says, func


def test_elements_taken_by_a_mask_are_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    def call() -> Any:
        return torch.zeros(3)[torch.ones(3, dtype=torch.bool)]

    assert [said for func, said, _ in answers(call, monkeypatch) if func is torch.ops.aten.index.Tensor] == [None]
