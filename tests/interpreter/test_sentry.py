"""The sentry lists what CPython evaluated itself; without torch it says what is missing."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from dynamo_lite.interpreter import interpret
from dynamo_lite.interpreter.frame_audit import Sentry, SentryUnavailable

HAS_TORCH = importlib.util.find_spec("torch") is not None


def _twice(x: int) -> int:
    return 2 * x


def _sorted_by_itself() -> list[int]:
    return sorted([3, 1], key=_twice)


@pytest.mark.skipif(not HAS_TORCH, reason="the frame evaluator is torch's")
def test_native_frames_are_listed_with_their_counts() -> None:
    with Sentry() as sentry:
        _sorted_by_itself()
    assert [(frame.name, frame.times) for frame in sentry.frames] == [("_sorted_by_itself", 1), ("_twice", 2)]
    assert sentry.frames[0].filename == __file__


@pytest.mark.skipif(not HAS_TORCH, reason="the frame evaluator is torch's")
def test_an_interpreted_program_leaves_no_native_frame() -> None:
    watched: Any = interpret(_sorted_by_itself, sentry=True)
    assert watched.value == [1, 3]
    assert [frame.name for frame in watched.native_frames if frame.filename == __file__] == []


@pytest.mark.skipif(not HAS_TORCH, reason="the frame evaluator is torch's")
def test_what_ran_before_by_itself_is_seen() -> None:
    """A generator started natively goes on natively: the sentry is how one learns of it."""

    def numbers() -> Any:
        yield 1
        yield 2

    started = numbers()
    next(started)
    watched: Any = interpret(next, started, sentry=True)
    assert watched.value == 2
    # Of this file: the collector may run a callback of another test's in between.
    frames = [frame for frame in watched.native_frames if frame.filename == __file__]
    assert [frame.name.split(".")[-1] for frame in frames] == ["numbers"]


@pytest.mark.skipif(HAS_TORCH, reason="torch is there")
def test_without_torch_it_says_so() -> None:
    with pytest.raises(SentryUnavailable, match="torch"), Sentry():
        pass
