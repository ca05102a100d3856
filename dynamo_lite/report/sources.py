"""The program's source: the functions that ran, and what each of their lines made."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterable, Iterator
from typing import Any

from dynamo_lite.errors import UserFrame
from dynamo_lite.report.groups import rank_of

_FRAME = re.compile(r'File "(?P<file>[^"\n]+)", line (?P<line>\d+), in (?P<name>[^\n]+)')
RANKS = ("yours", "library", "torch")
_WHOLE = 200
"""A file of the user's of so many lines is shown whole."""


class Sources:
    """Collects lines while the other parts of a document are made; `records` then are the files."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        self._links: dict[str, dict[int, dict[str, list[str]]]] = {}
        self._places: dict[tuple[str, int, str], int] = {}
        self.places: list[dict[str, Any]] = []

    def link(self, filename: str, line: int, role: str, identifier: str) -> dict[str, Any] | None:
        """Note that a line made something; the place as data, None if there is no such line."""
        if not filename or not line or not linecache.getline(filename, line).strip():
            return None
        roles = self._links.setdefault(filename, {}).setdefault(line, {})
        found = roles.setdefault(role, [])
        if identifier not in found:
            found.append(identifier)
        return self.place(filename, line)

    def place(self, filename: str, line: int) -> dict[str, Any]:
        """A line as data."""
        return {
            "file": self._ids.setdefault(filename, f"f{len(self._ids)}"),
            "path": filename,
            "line": line,
            "code": linecache.getline(filename, line).strip(),
            "rank": rank_of(filename),
        }

    def stack(self, frames: Iterable[UserFrame]) -> list[int]:
        """A stack as indices of `places`: the nodes of a model share most of theirs."""
        found = []
        for frame in frames:
            key = frame.filename, frame.lineno, frame.name
            if key not in self._places:
                self._places[key] = len(self.places)
                self.places.append(self.place(frame.filename, frame.lineno) | {"function": frame.name})
            found.append(self._places[key])
        return found

    def at(self, frames: Any, role: str, identifier: str) -> dict[str, Any] | None:
        """The same for a stack (outermost first): the innermost line that is not torch's or the standard library's."""
        frame = innermost(frames)
        return None if frame is None else self.link(frame.filename, frame.lineno, role, identifier)

    def records(self) -> list[dict[str, Any]]:
        """The files, the user's own first, each with the functions that have linked lines."""
        rows = [self._file(filename, lines) for filename, lines in self._links.items()]
        return sorted(rows, key=lambda row: (RANKS.index(row["rank"]), -row["links"]))

    def _file(self, filename: str, lines: dict[int, dict[str, list[str]]]) -> dict[str, Any]:
        text = [line.rstrip("\n") for line in linecache.getlines(filename)]
        rank = rank_of(filename)
        whole = rank == "yours" and len(text) <= _WHOLE
        spans = [(1, len(text), "")] if whole else list(_functions(text, sorted(lines)))
        segments = [
            {
                "function": name,
                "lines": [
                    {"number": number, "text": text[number - 1], **lines.get(number, {})}
                    for number in range(first, min(last, len(text)) + 1)
                ],
            }
            for first, last, name in spans
        ]
        return {
            "id": self._ids[filename],
            "path": filename,
            "rank": rank,
            "links": sum(len(found) for roles in lines.values() for found in roles.values()),
            "segments": segments,
        }


def frames_of(stack_trace: str | None) -> Iterator[UserFrame]:
    """The frames of a node's `stack_trace`, outermost first."""
    for found in _FRAME.finditer(stack_trace or ""):
        yield UserFrame(found["file"], int(found["line"]), found["name"])


def innermost(frames: Any) -> UserFrame | None:
    """The line to look at of a stack, outermost first: the user's or a library's rather than torch's."""
    frames = tuple(frames)
    own = [frame for frame in frames if not frame.is_library]
    return next(reversed(own or frames), None)


def _functions(text: list[str], lines: list[int]) -> Iterator[tuple[int, int, str]]:
    """(first line, last line, name) of the outermost functions that the lines are in; lines outside of any, alone."""
    try:
        tree = ast.parse("\n".join(text))
    except SyntaxError:
        tree = ast.Module([], [])
    spans = list(_definitions(tree, ""))
    found: dict[tuple[int, int], str] = {}
    for line in lines:
        within = [span for span in spans if span[0] <= line <= span[1]]
        first, last, name = within[0] if within else (line, line, "")
        found[first, last] = name
    yield from ((first, last, name) for (first, last), name in sorted(found.items()))


def _definitions(tree: ast.AST, prefix: str) -> Iterator[tuple[int, int, str]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield first, node.end_lineno or node.lineno, prefix + node.name
        elif isinstance(node, ast.ClassDef):
            yield from _definitions(node, f"{prefix}{node.name}.")
        else:
            yield from _definitions(node, prefix)
