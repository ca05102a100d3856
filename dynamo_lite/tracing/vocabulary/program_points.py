"""Where the program is: cheap to take at each write, made into frames on demand."""

from __future__ import annotations

from typing import Any

from dynamo_lite.errors import UserFrame
from dynamo_lite.interpreter.frames.tracebacks import is_own_code

Mark = tuple[tuple[Any, Any, int], ...]
"""The program's stack, innermost frame first: code object, decoded code, index of the next instruction."""


def frames_at(mark: Mark) -> tuple[UserFrame, ...]:
    """The stack that a mark stands for, outermost first."""
    frames = []
    for code, info, pc in reversed(mark):
        if is_own_code(code):  # a builtin that control_flow has written in Python
            continue
        at = info.positions_at(code, max(pc - 1, 0))
        lineno = at.lineno or code.co_firstlineno
        frames.append(
            UserFrame(code.co_filename, lineno, code.co_name, at.end_lineno, at.col_offset, at.end_col_offset)
        )
    return tuple(frames)
