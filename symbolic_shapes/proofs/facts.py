"""Facts: relations known to hold, in the order in which they were recorded, each with where it came from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dynamo_lite.symbolic_shapes.expressions.relations import Bool


@dataclass(frozen=True)
class Origin:
    """Where a fact, a symbol or a question comes from.

    `kind` is one of "user line", "Dim spec", "torch._check", "operator", "declaration", "division".
    `code` is the user's source text, `stack` whatever the caller wants to keep (a traceback summary).
    `eager_raises`: an operator checks it in eager as well: calls for which it does not hold raise there too.
    """

    kind: str
    file: str = ""
    line: int = 0
    code: str = ""
    note: str = ""
    stack: Any = field(default=None, compare=False, repr=False)
    eager_raises: bool = False

    def own_call(self) -> Any:
        """Of a line in an installed library, the innermost frame of `stack` that is in none: whose call led there.
        None if there is none, or the line is the user's own."""
        if "-packages" not in self.file:
            return None
        frames = reversed(self.stack or ())
        return next((frame for frame in frames if not frame.is_library and not frame.is_installed), None)

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.file else ""
        parts = [self.kind, where, f"`{self.code}`" if self.code else "", self.note]
        return " ".join(p for p in parts if p)


UNKNOWN_ORIGIN = Origin("unknown place")


@dataclass(frozen=True, eq=False)
class Fact:
    """A relation that holds. `kind`: "guard" (an answer taken from hints: checked on inputs), "check" (run time
    asserts it), "axiom" (holds by construction: a Dim spec, an operator's contract)."""

    index: int
    relation: Bool
    origin: Origin
    kind: str = "check"

    def __str__(self) -> str:
        return f"{self.relation}  ({self.origin})"
