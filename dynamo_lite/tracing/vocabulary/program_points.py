"""Where the program is: cheap to take at each write, made into frames on demand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from dynamo_lite.errors import UserFrame
from dynamo_lite.interpreter.frames.tracebacks import is_own_code
from dynamo_lite.symbolic_shapes import Origin

_TORCH = str(Path(torch.__file__).parent)

Mark = tuple[tuple[Any, Any, int], ...]
"""The program's stack, innermost frame first: code object, decoded code, index of the next instruction."""


def frames_at(mark: Mark) -> tuple[UserFrame, ...]:
    """Return the stack of a mark, outermost first."""
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


def is_in_torch(mark: Mark | None) -> bool:
    """Whether the innermost frame is torch's own."""
    if not mark:
        return False
    innermost: str = mark[0][0].co_filename
    return innermost.startswith(_TORCH)


def origin_of(mark: Mark) -> Origin:
    """The line of a mark for a fact about sizes: the innermost one that is not torch's own."""
    frames = frames_at(mark)
    if not frames:
        return Origin("user line", note="outside of the program")
    at = next((f for f in reversed(frames) if not f.filename.startswith(_TORCH)), frames[-1])
    return Origin("user line", at.filename, at.lineno, at.source, stack=frames)
