"""A line of a source file, for stack traces: only the lines up to it are taken apart.

linecache makes a string of each line of a file. A first export shows some lines of a dozen files of thousands.
"""

from __future__ import annotations

import linecache
import os
import time
from dataclasses import dataclass


@dataclass
class _Source:
    """A file whose first lines are taken apart, without their ends; the rest follows."""

    lines: list[bytes]
    rest: bytes
    written: int
    """When the file was last written, in nanoseconds: a module may be reloaded."""
    looked: float
    """When that was last checked, in seconds."""

    def line_at(self, lineno: int) -> bytes:
        missing = lineno - len(self.lines)
        if missing > 0 and self.rest:
            *more, self.rest = self.rest.split(b"\n", missing)
            self.lines += more
        return self.lines[lineno - 1] if 0 < lineno <= len(self.lines) else b""


_LOOKS = 0.1
"""Seconds for which a file is taken to be as it was."""
_sources: dict[str, _Source] = {}
"""By the name of the file."""


def line_at(filename: str, lineno: int) -> str:
    """The line, counted from 1, without its end; empty where there is none."""
    try:
        source = _sources.get(filename)
        if source is None or time.monotonic() - source.looked > _LOOKS:
            source = _current(filename, source)
    except (OSError, ValueError):  # no file (`<string>`, which linecache may have cached), another encoding
        return linecache.getline(filename, lineno).rstrip("\n")
    return source.line_at(lineno).decode(errors="replace")


def _current(filename: str, known: _Source | None) -> _Source:
    written = os.stat(filename).st_mtime_ns
    if known is not None and known.written == written:
        known.looked = time.monotonic()
        return known
    source = _sources[filename] = _read(filename, written)
    return source


def _read(filename: str, written: int) -> _Source:
    """Raises: OSError; ValueError for a file that is not UTF-8 with plain ends of lines."""
    with open(filename, "rb") as file:
        content = file.read()
    start = content[:400].split(b"\n", 2)[:2]
    if b"\r" in content or content.startswith(b"\xef\xbb\xbf") or any(b"coding" in line for line in start):  # PEP 263
        raise ValueError(filename)
    return _Source([], content if content.endswith(b"\n") else content + b"\n", written, time.monotonic())
