"""`logger.warning_once(f"padded {n} to {m}")`: a text of sizes in the key of a cache, for a log call alone."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import dynamo_lite
from dynamo_lite.errors import DynamoLiteError

LOG = logging.getLogger("test_cached_log_calls")
CALLS: list[str] = []


@functools.lru_cache(None)
def once(self: Any, *args: Any, **kwargs: Any) -> None:
    self.warning(*args, **kwargs)


@functools.cache
def info_once(logger: Any, text: str) -> None:
    logger.info(text)


@functools.lru_cache(None)
def counted(logger: Any, text: str) -> None:
    logger.info(text)
    CALLS.append("call")


@functools.lru_cache(None)
def length_of(logger: Any, text: str) -> int:
    logger.info(text)
    return len(text)


@functools.lru_cache(None)
def handed_back(logger: Any, text: str) -> str:
    logger.info(text)
    return text


@functools.lru_cache(None)
def number_of(text: str) -> int:
    return int(text)


class Steps(nn.Module):
    def __init__(self, step: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.step = step

    def forward(self, x: Tensor) -> Tensor:
        return self.step(x)


def always(x: Tensor) -> Tensor:
    once(LOG, f"a length of {x.shape[0]}")
    return x + x.shape[0]


def twice(x: Tensor) -> Tensor:
    once(LOG, f"a length of {x.shape[0]}")
    once(LOG, f"a length of {x.shape[0]}")
    info_once(LOG, text=f"{x.shape}")
    return x * 2


def padded(x: Tensor) -> Tensor:
    pad = -x.shape[0] % 4
    if pad > 0:
        once(LOG, f"padded from {x.shape[0]} to {x.shape[0] + pad}")
        x = nn.functional.pad(x, (0, pad))
    return x.view(-1, 4).sum(0)


def of_the_data(x: Tensor) -> Tensor:
    info_once(LOG, "rows: " + str(x.shape[0]))
    return x - 1


def with_an_effect(x: Tensor) -> Tensor:
    counted(LOG, f"{x.shape[0]} rows")
    return x


def with_a_result(x: Tensor) -> Tensor:
    return x + length_of(LOG, f"{x.shape[0]} rows")


def with_the_text(x: Tensor) -> Tensor:
    return x + len(handed_back(LOG, f"{x.shape[0]} rows"))


def with_a_number(x: Tensor) -> Tensor:
    return x + number_of(f"{x.shape[0]}")


def taken(program: Any, step: Callable[[Tensor], Tensor]) -> int:
    count, run = 0, program.module()
    for n in (5, 1, 3, 4, 8, 12, 100):
        x = torch.randn(n)
        try:
            result = run(x)
        except (DynamoLiteError, RuntimeError, AssertionError):
            continue
        assert torch.equal(result, step(x))
        count += 1
    return count


@pytest.mark.parametrize("is_cached", [False, True])
@pytest.mark.parametrize("length", [5, 8])
@pytest.mark.parametrize("step", [always, twice, padded, of_the_data], ids=lambda f: f.__name__)
def test_a_text_that_is_logged_once_fixes_no_size(step: Any, length: int, is_cached: bool) -> None:
    once.cache_clear()
    if is_cached:
        step(torch.randn(length))
    before = once.cache_info(), info_once.cache_info()
    program = dynamo_lite.export(Steps(step), (torch.randn(length),), dynamic_shapes=({0: Dim("n", min=1)},))
    assert (once.cache_info(), info_once.cache_info()) == before
    assert taken(program, step) == 7


READS = [with_an_effect, with_a_result, with_the_text, with_a_number]


@pytest.mark.parametrize("step", READS, ids=lambda f: f.__name__)
def test_what_rests_on_the_text_is_refused_or_right(step: Any) -> None:
    for spec in (Dim("n", min=1), Dim.AUTO):
        try:
            program = dynamo_lite.export(Steps(step), (torch.randn(5),), dynamic_shapes=({0: spec},))
        except DynamoLiteError:
            continue
        taken(program, step)
