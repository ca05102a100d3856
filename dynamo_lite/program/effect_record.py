"""One effect of a program, for people: the change outside of it, and its treatment."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import Enum

from dynamo_lite.errors import UserFrame

_TORCH = f"{os.sep}site-packages{os.sep}torch{os.sep}"


class Verdict(Enum):
    """The treatment of an effect in the exported program."""

    CARRIED = "carried"
    """The program makes the same change: a buffer's new value, an input changed in place."""
    INVISIBLE = "invisible"
    """Not observable: written before it is read in each call."""
    FIRST_CALL = "first call only"
    """A one-time initialisation: the second call records the same program and changes nothing more."""
    DROPPED = "dropped"
    """The program does not make it, as permitted by effects="drop"."""


@dataclass(frozen=True)
class Effect:
    """`target` (as Python would name it: `self.layers[0].count`) was `old` and became `new`, in words.

    kind: "attribute", "item", "global", "variable" (of an enclosing function), "class", "buffer", "parameter", "input",
    "argument" (a container that was passed in) or "setting" (of torch or of a context). `frames` is the stack at the
    first write, outermost first; empty where no line of the program wrote it. `rests_on` names the parameters and
    buffers that a tensor kept from the first call on was computed from: the program is right as long as these do not
    change.
    """

    kind: str
    target: str
    old: str
    new: str
    verdict: Verdict
    frames: tuple[UserFrame, ...] = ()
    rests_on: tuple[str, ...] = ()

    @property
    def line(self) -> str | None:
        """ "file:line: source" of the write."""
        if not self.frames:
            return None
        own = [frame for frame in self.frames if _TORCH not in frame.filename]
        frame = (own or self.frames)[-1]
        return f"{frame.filename}:{frame.lineno}: {frame.source}"

    @property
    def text(self) -> str:
        """The change, without the target."""
        change = "is changed in place" if self.old == self.new else f"{self.old} becomes {self.new}"
        assumed = f", as long as nothing changes {', '.join(self.rests_on)}" if self.rests_on else ""
        return f"{change} ({self.verdict.value}{assumed})"

    def __str__(self) -> str:
        at = f"  ({self.line})" if self.line else ""
        return f"{self.target}: {self.text}{at}"
