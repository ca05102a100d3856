"""Running a program natively and interpreted, and catching what CPython evaluated behind the interpreter's back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from dynamo_lite.interpreter import interpret
from dynamo_lite.interpreter.frame_audit import is_substitute


def outcome(run: Callable[[], Any]) -> tuple[str, Any]:
    """("returned", value) or ("raised", type and message)."""
    try:
        return "returned", run()
    except Exception as error:
        return "raised", (type(error), str(error))


def native_frames(run: Callable[[], Any], filename: str) -> tuple[tuple[str, Any], list[str]]:
    """The outcome of `run()`, and the functions of the file whose own frames CPython evaluated."""
    seen: dict[CodeType, None] = {}

    def profile(frame: FrameType, event: str, arg: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename == filename and not is_substitute(code):
            seen[code] = None

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        result = outcome(run)
    finally:
        sys.setprofile(before)
    return result, [code.co_qualname for code in seen]


def check(program: Callable[[], Any]) -> None:
    """`program` gives the same interpreted as natively, and none of its file's functions ran natively."""
    expected = outcome(program)

    result, native = native_frames(lambda: interpret(program), program.__code__.co_filename)
    assert result == expected, (result, expected)
    assert not native, f"evaluated natively: {native}"
