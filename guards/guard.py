"""One guard: a condition on the value at a source, and the line of the program that made it necessary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dynamo_lite.guards.kinds import KINDS
from dynamo_lite.guards.source import Source


class Guard:
    """`kind` is a row of kinds.KINDS; `expected` its constant; `other` the second source of a guard on two places.

    `line` is the line of the program that read the value: any object with a text (made on demand), or None for
    conditions of every program (the form of the call, torch's switches). Its attribute `brief`, if it has one, is a
    text of one line.
    """

    __slots__ = ("expected", "kind", "line", "other", "source")

    def __init__(
        self, kind: str, source: Source | None, expected: Any, line: Any = None, other: Source | None = None
    ) -> None:
        self.kind = kind
        self.source = source
        self.expected = expected
        self.line = line
        self.other = other

    @property
    def text(self) -> str:
        """The guard in one line: `L['self'].eps == 1e-05`."""
        kind, name = self.kind, self.source.text if self.source is not None else ""
        if kind in ("equals", "is"):
            sign = "==" if kind == "equals" else "is"
            return f"{name} {sign} {KINDS[kind].expects(self.expected)}"
        if kind in ("same", "distinct"):
            return f"{name} {'is' if kind == 'same' else 'is not'} {self.other}"
        if kind == "state":
            return f"{self.expected.text} == {self.expected.value!r}"
        if kind == "python":
            return str(self.expected)
        if kind in ("code", "plain_code"):
            return f"{name}.__code__ is {KINDS[kind].expects(self.expected)}"
        return f"{name}: {self.expects()}" if name else self.expects()

    def expects(self) -> str:
        """The expected value or condition, as a phrase."""
        if self.kind == "state":
            return f"{self.expected.text} == {self.expected.value!r}"
        if self.kind in ("same", "distinct"):
            return KINDS[self.kind].expects(self.other)
        return KINDS[self.kind].expects(self.expected)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Guard {self.text}>"


@dataclass(frozen=True)
class State:
    """A process-wide switch: how to read it, its value, its name."""

    text: str
    read: Any
    value: Any

    def __call__(self) -> Any:
        return self.read()


@dataclass(frozen=True)
class Failure:
    """A guard that does not hold. `error` is what reading the value raised, None if it was read."""

    index: int
    guard: Guard
    found: str
    error: Exception | None = None

    def __str__(self) -> str:
        parts = [f"The trace does not hold: {self.guard.text}"]
        if self.guard.kind not in ("python",):
            parts.append(f"  expected: {self.guard.expects()}")
        parts.append(f"  found:    {self.found}")
        if self.guard.line is not None:
            parts.append("  needed by:\n" + str(self.guard.line).rstrip())
        return "\n".join(parts)
