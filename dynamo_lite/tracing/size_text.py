"""The text of a size during a trace: the number of the example, which becomes a condition if somebody reads the text.

`check(n > 1, f"bad shape {x.shape}")` makes a text of each size of `x`, for nobody. The instruction at work asks the
sizes for their texts through C code (`SizeTexts.ask`), and what it makes of them is an `UnreadText` (`made`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dynamo_lite.tracing import dropped_text
from dynamo_lite.tracing.size_kinds import number
from dynamo_lite.tracing.unread_text import unread

if TYPE_CHECKING:
    from dynamo_lite.tracing.tracer import Tracer

_INTERPRETER = "dynamo_lite.interpreter"


class SizeTexts:
    """The sizes whose texts the instruction at work has asked for."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._at: Any = None
        self._sizes: list[Any] = []

    def ask(self, size: Any, depth: int) -> bool:
        """Whether `size` is asked for a text that nobody reads as yet, by the code `depth` frames further out.

        That is one for nobody at all, or one that an instruction of the program makes through C code only: then the
        interpreter's own code asks.
        """
        if dropped_text.is_dropped(self._tracer):
            return True
        frame, asking = self._tracer.vm.frame, str(sys._getframe(depth + 1).f_globals.get("__name__", ""))
        if frame is None or not asking.startswith(_INTERPRETER) or dropped_text.text_at_work(self._tracer) is None:
            return False
        at = frame, frame.pc
        if self._at != at:
            self._at, self._sizes = at, []
        self._sizes.append(size)
        return True

    def made(self, text: Any) -> Any:
        """What the instruction at work has made; an `UnreadText` if it has asked sizes."""
        frame = self._tracer.vm.frame
        if not self._sizes or frame is None or self._at != (frame, frame.pc):
            return text
        sizes, self._at, self._sizes = self._sizes, None, []
        self._tracer.uses_texts = True
        return unread(text, self._reader(sizes)) if type(text) is str else text

    def _reader(self, sizes: list[Any]) -> Callable[[], None]:
        tracer = self._tracer
        mark = tracer.mark()
        waiting = sizes

        def read() -> None:
            env = tracer.recorder.env
            if tracer.vm.retired or env is None:
                return  # an error's message, which the user sees: the text is of this call
            where, env.where = env.where, lambda: tracer.origin_of(mark)
            try:
                while waiting:
                    number(waiting[-1])
                    waiting.pop()
            finally:
                env.where = where

        return read
