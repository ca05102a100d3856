"""The text that the current instruction formats: an `UnreadText` if it depends on data or on sizes.

`check(n > 1, f"bad shape {x.shape}")` formats each size of `x` and drops the result. The current instruction formats
sizes and tensors through C code, whose `__str__` and `__format__` call this file (`defers_size`, `defers_tensor`); the
result is unread (`made`). Reading it takes the sizes' numbers, of the example, which become conditions; a tensor's text
is refused. So is that of an operator's error, if eager may word it differently (`of_error`).
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import torch

from dynamo_lite.run.finished_run import CallRecord, FinishedRun
from dynamo_lite.tracing.diagnostics import Abort
from dynamo_lite.tracing.interfaces import FeatureState, TracerView
from dynamo_lite.tracing.strings import discarded
from dynamo_lite.tracing.strings.deferred_str import UnreadText, plain, unread
from dynamo_lite.tracing.vocabulary.program_points import Mark, origin_of
from dynamo_lite.tracing.vocabulary.symbolic_numbers import number

_INTERPRETER = "dynamo_lite.interpreter"
_OF_TENSORS = ("torch", *(f"dynamo_lite.{part}" for part in ("tracing", "features", "capture", "symbolic_shapes")))
"""Whose code runs between the interpreter's and the text of a tensor: modes and rules see the call, too."""
OF_A_TENSOR, OF_AN_ERROR = TEXTS = ("tensor-repr", "error-text")
"""The graph breaks of texts that are not known."""


class TextsAtWork(FeatureState):
    """The sizes and tensors that the current instruction formats."""

    stays = "it is about one instruction, which is not a branch"

    def __init__(self, tracer: TracerView) -> None:
        self._tracer = tracer
        self._at: Any = None
        self._sizes: list[Any] = []
        self._graph_break = ""

    def defers_size(self, size: Any, depth: int) -> bool:
        """Whether `size` is formatted for a string that has not been read yet, by the code `depth` frames further out.

        That is one that is discarded, or one that an instruction of the program makes through C code only: then the
        interpreter's own code formats it.
        """
        if discarded.is_dropped(self._tracer):
            return True
        if not self._makes_text(sys._getframe(depth + 1)):
            return False
        self._sizes.append(size)
        return True

    def number(self, node: Any) -> Any:
        """Return a number in place of one known at run time only, for "%.2f" % y.sum() in C code; or None."""
        frame = _asking(sys._getframe(1))
        if frame is None or self._tracer.vm.retired:
            return None
        if not discarded.is_dropped(self._tracer):
            if not self._makes_text(frame):
                return None
            kind = torch.SymFloat if node.pytype is float else torch.SymInt
            self._sizes.append(kind(node))
        return node.pytype(0)

    def defers_tensor(self) -> bool:
        """The same for a tensor, whose text torch's own Python code makes."""
        frame = _asking(sys._getframe(1))
        if frame is None or not self._makes_text(frame):
            return False
        self._graph_break = OF_A_TENSOR
        return True

    def of_error(self, text: str, sizes: list[Any] | None) -> str:
        """Return the text of an error that an operator raised on fake tensors: right for these sizes as they are in the
        example; None if eager may word it differently. Unread, until the program looks at it."""
        self._tracer.plans.wake("texts")
        mark = self._tracer.mark()
        taken, graph_break = sizes or [], OF_AN_ERROR if sizes is None else ""

        def read() -> None:
            if not self._defers_error(taken, graph_break):
                self._read(taken, mark, graph_break)

        return unread(text, read)

    def _defers_error(self, sizes: list[Any], graph_break: str) -> bool:
        """Whether C code reads the text of an error, for a string that has not been read yet."""
        frame = _asking(sys._getframe(1))
        if frame is None or self._tracer.vm.retired:
            return False
        if discarded.is_dropped(self._tracer):
            return True
        if not self._makes_text(frame):
            return False
        self._sizes += sizes
        self._graph_break = self._graph_break or graph_break
        return True

    def _makes_text(self, asking: FrameType) -> bool:
        frame = self._tracer.vm.frame
        if frame is None or not _module(asking).startswith(_INTERPRETER):
            return False
        if discarded.text_at_work(self._tracer) is None:
            return False
        at = frame, frame.pc
        if self._at != at:
            self._at, self._sizes, self._graph_break = at, [], ""
        return True

    def finished(self, text: Any) -> Any:
        """Return the result of the current instruction; an `UnreadText` if it has formatted sizes or tensors."""
        frame = self._tracer.vm.frame
        if self._at is None or frame is None or self._at != (frame, frame.pc):
            return text
        sizes, graph_break = self._sizes, self._graph_break
        self._at, self._sizes, self._graph_break = None, [], ""
        if type(text) is not str or not (sizes or graph_break):
            return text
        self._tracer.plans.wake("texts")
        mark = self._tracer.mark()
        return unread(text, lambda: self._read(sizes, mark, graph_break))

    def _read(self, sizes: list[Any], mark: Mark, graph_break: str) -> None:
        if graph_break and not self._tracer.vm.retired:
            at_work = self._tracer.vm.frame is not None  # else the result is read, when the program has ended
            self._tracer.refuse(graph_break, mark=self._tracer.mark() if at_work else mark)
        self._take(sizes, mark)

    def _take(self, sizes: list[Any], mark: Mark) -> None:
        """Take the numbers of the sizes, at the line that made the text."""
        tracer, env = self._tracer, self._tracer.recorder.env
        if tracer.vm.retired or env is None:
            return  # an error's message, which the user sees: the text is of this call
        where, env.where = env.where, lambda: origin_of(mark)
        try:
            while sizes:
                number(sizes[-1])
                sizes.pop()
        finally:
            env.where = where


def defers_size(tracer: TracerView, size: Any, depth: int) -> bool:
    """`TextsAtWork.defers_size`, as the event "size in text"."""
    return tracer.own(TextsAtWork).defers_size(size, depth + 1)


def number_in_text(tracer: TracerView, node: Any) -> Any:
    """`TextsAtWork.number`, as the event "number in text"."""
    return tracer.own(TextsAtWork).number(node)


def after_call(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
    """A function that makes a text of its arguments has run natively."""
    return tracer.own(TextsAtWork).finished(result)


def finished(tracer: TracerView, text: Any) -> Any:
    """An instruction has made a text."""
    return tracer.own(TextsAtWork).finished(text)


def of_outputs(run: FinishedRun, call: CallRecord) -> None:
    """The caller reads each text that is returned."""
    values = run.outputs.values
    try:
        values[:] = [plain(value) if isinstance(value, UnreadText) else value for value in values]
    except Abort as abort:
        raise abort.error from None


def _asking(frame: FrameType | None) -> FrameType | None:
    """The code that has called torch's, or ours that answers for it."""
    while frame is not None and _module(frame).startswith(_OF_TENSORS):
        frame = frame.f_back
    return frame


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))
