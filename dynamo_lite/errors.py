"""Every error that dynamo-lite raises on purpose.

`GraphBreak` is the family of "this Python cannot be captured as it stands". Each has an `id` (the key of the
refusals table, tracing/refusals.py), the program's stack in Python's own format with carets, what happened
and what to write instead. Nothing here imports torch, so that tools can catch these without paying for it.
"""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class UserFrame:
    """One frame of the traced program. Lines are 1-based, columns 0-based UTF-8 byte offsets as in `co_positions`."""

    filename: str
    lineno: int
    name: str
    end_lineno: int | None = None
    colno: int | None = None
    end_colno: int | None = None

    @property
    def source(self) -> str:
        """The source line, stripped; empty when the file cannot be read."""
        return linecache.getline(self.filename, self.lineno).strip()

    def format(self, carets: bool = True) -> str:
        """The frame in the format of `traceback`, with a caret line when the columns are known."""
        text = f'  File "{self.filename}", line {self.lineno}, in {self.name}\n'
        raw = linecache.getline(self.filename, self.lineno).rstrip("\n")
        if not raw.strip():
            return text
        text += f"    {raw.strip()}\n"
        if carets and self.colno is not None and self.end_colno is not None and self.end_lineno == self.lineno:
            indent = len(raw) - len(raw.lstrip())
            encoded = raw.encode()
            start = len(encoded[: self.colno].decode(errors="replace"))
            stop = len(encoded[: self.end_colno].decode(errors="replace"))
            if indent <= start < stop and (stop - start) < len(raw.strip()):
                text += "    " + " " * (start - indent) + "^" * (stop - start) + "\n"
        return text


class DynamoLiteError(Exception):
    """The base of all errors raised on purpose. `id` is stable and may be searched for."""

    id = "error"


class InternalError(DynamoLiteError):
    """A promise between our own layers was broken. Please report it with the program that shows it."""

    id = "internal"


class InvalidArguments(DynamoLiteError, ValueError):
    """`export` was called with arguments that it cannot take (the message says which)."""

    id = "invalid-arguments"


class GraphBreak(DynamoLiteError):
    """The program cannot be captured as it stands.

    Attributes: `id`; `frames`, the program's stack, outermost first; `what`, what happened; `instead`, what to
    write instead.
    """

    id = "graph-break"

    def __init__(self, id: str, what: str, instead: str, frames: Sequence[UserFrame] = ()) -> None:
        self.id = id
        self.what = what
        self.instead = instead
        self.frames = tuple(frames)
        super().__init__(self._text())

    @property
    def frame(self) -> UserFrame | None:
        """The innermost frame of the program: the line to look at."""
        return self.frames[-1] if self.frames else None

    def _text(self) -> str:
        parts = [f"[{self.id}] {self.what}"]
        if self.frames:
            shown = [f.format() for f in self.frames]
            if len(shown) > 12:
                shown = [*shown[:4], f"  ... {len(shown) - 8} frames ...\n", *shown[-4:]]
            parts.append("The program was here (most recent call last):\n" + "".join(shown).rstrip("\n"))
        parts.append(f"What to write instead: {self.instead}")
        return "\n\n".join(parts)


class DataDependent(GraphBreak):
    """Python asked for a value that only the data of a tensor holds."""


class UnrecordableValue(GraphBreak):
    """An answer depends on something that cannot be written down: an address, the clock, Python's random numbers."""


class UnsupportedEffect(GraphBreak):
    """The program changes something outside of itself that the exported program cannot carry."""


class UnsupportedCall(GraphBreak):
    """A function was called that cannot be captured."""


class UnsupportedOperator(GraphBreak):
    """An ATen operator has no meta kernel, or its output's shape depends on data."""
