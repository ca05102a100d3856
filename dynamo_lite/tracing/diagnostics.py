"""Locations, notes and graph breaks: the program's position, the notes of the trace, and why a trace stops."""

from __future__ import annotations

import html
import traceback
from collections.abc import Mapping
from typing import Any, NoReturn

from dynamo_lite.capture import CaptureError
from dynamo_lite.errors import DataDependent, DynamoLiteError, GraphBreak, InternalError, UnsupportedCall, UserFrame
from dynamo_lite.interpreter import Interpreter
from dynamo_lite.interpreter.observer import Observer
from dynamo_lite.symbolic_shapes import Origin
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.policy.native_modules import in_library, libraries, stateless_code_at_work
from dynamo_lite.tracing.sizes import decisions_in_c
from dynamo_lite.tracing.vocabulary.exception_handlers import leaves_as
from dynamo_lite.tracing.vocabulary.graph_breaks import GRAPH_BREAKS
from dynamo_lite.tracing.vocabulary.program_points import Mark, frames_at, origin_of
from dynamo_lite.undoing import pass_on


class Abort(BaseException):
    """Carries a GraphBreak through the program: not an Exception, so that its handlers let it pass."""

    def __init__(self, error: DynamoLiteError) -> None:
        super().__init__(str(error))
        self.error = error


class RunAgain(InternalError):
    """Ends a run that is made again in another way."""

    def changed(self, request: Any) -> Any:
        """The request (run/request.py) of the next run."""
        raise NotImplementedError


class Refusing(Observer):
    """The part of a tracer that rules and capture call when the program cannot be recorded as it stands.

    Attributes:
        vm: the interpreter that runs the program.
        broken: the first error that stopped the trace, which counts even if the program suppresses the exception.
    """

    goes_on = False
    """Whether the run continues after an error, to find more (`explain`)."""

    drops = False
    """Whether effects that the program cannot carry are left out of it, with a note (`effects="drop"`)."""

    uncarried: Mapping[str, str] = {}
    """Why the backward of an autograd.Function is not part of the program, by its key (a run is made again so)."""

    def __init__(self) -> None:
        self._notes: dict[str, Mark] = {}
        self.broken: DynamoLiteError | None = None
        self.vm = Interpreter(self)
        self.vm.inherits_handled = False  # an exception that export's caller is handling is not the program's

    # ---- where the program is

    def where(self) -> tuple[UserFrame, ...]:
        """The program's stack, outermost first."""
        return frames_at(self.mark())

    def mark(self) -> Mark:
        """Where the program is: cheap enough for each write, made into frames (`frames_at`) on demand."""
        marks = []
        frame = self.vm.frame
        while frame is not None:
            marks.append((frame.code, frame.info, frame.pc))
            frame = frame.back
        return tuple(marks)

    def origin(self) -> Origin:
        """The program's line for a fact about sizes: the innermost one that is not torch's own."""
        return origin_of(self.mark())

    def in_library(self) -> bool:
        """Whether the innermost frame is the standard library's or trusted code."""
        frame = self.vm.frame
        if frame is None:
            return False
        name = frame.globals.get("__name__", "")
        known = libraries.get(name) if type(name) is str else None
        return in_library(str(name)) if known is None else known

    @property
    def notes(self) -> Notes:
        """Return the notes of the report: text → where it first happened."""
        return Notes({text: frames_at(mark) for text, mark in self._notes.items()})

    # ---- refusing and noting

    def note(self, text: str, mark: Mark | None = None) -> None:
        """Add a note for the report (once a text, with the line of the first time, or of `mark`)."""
        if text not in self._notes:
            self._notes[text] = self.mark() if mark is None else mark

    def noted(self) -> set[str]:
        """The notes so far."""
        return set(self._notes)

    def forget_notes(self, but: set[str]) -> None:
        """Drop the notes made since, except for `but`: they are about work that was undone."""
        for text in self._notes.keys() - but:
            del self._notes[text]

    def refuse(self, id: str, **names: Any) -> NoReturn:
        """Stop the trace with the graph break `id` at the program's line."""
        self.abort(self.graph_break(id, **names))

    def graph_break(self, id: str, mark: Mark | None = None, **names: Any) -> GraphBreak:
        """Return the error of graph break `id`, at `mark` or at the program's position."""
        row = GRAPH_BREAKS[id]
        where = frames_at(self.mark() if mark is None else mark)
        instead = row.instead_by_name.get(str(names.get("name")), row.instead)
        return row.error(id, spelled(row.what.format_map(names)), instead.format_map(names), where)

    def leaves_as(self, kinds: frozenset[type[BaseException]]) -> frozenset[type[BaseException]] | None:
        """The classes of what leaves the program after an exception of `kinds` here; None if the program may go on."""
        return leaves_as(self.vm.frame, kinds)

    def lets_pass(self, text: str) -> bool:
        """Whether the trace continues though `text` is true, which a strict one refuses."""
        return False

    def abort(self, error: DynamoLiteError) -> NoReturn:
        """Stop the trace. The first error counts, even if the program suppresses the exception raised here."""
        if self.broken is None:
            self.broken = error
            if isinstance(error, DataDependent):
                error.native_code = stateless_code_at_work()
        raise Abort(self.broken)

    def internal(self, error: Exception) -> DynamoLiteError:
        pass_on(error)
        if self.broken is None:
            text = "".join(traceback.format_exception(error))
            self.broken = InternalError(f"the tracer itself failed; please report this program\n{text}")
        return self.broken

    # ---- what data decides, and what capture cannot record

    def undecided(self: TracerView, error: Any) -> NoReturn:
        """Stop the trace: a question about sizes (a `DataDependentError`) depends on data."""
        self.abort(data_dependent(self, error.question))

    def too_large(self: TracerView, error: Exception) -> NoReturn:
        """Stop the trace: `error` names the size that is an expression of too many operands."""
        where = frames_at(self.mark())
        self.abort(UnsupportedCall("unbound-size", f"The size is {error}.", "compute it on tensors", where))

    def refused(self: TracerView, error: CaptureError) -> DynamoLiteError:
        """The error for what capture cannot record."""
        if error.id == "data-dependent-question":
            return data_dependent(self, error.names["question"])
        if error.id in ("internal", "unknown-tensor") and error.id not in GRAPH_BREAKS:
            return InternalError(f"{error.what}\n{error.instead}")
        id = error.id
        if id == "data-dependent-value" and "is_nonzero" in str(error.names.get("what")):  # bool(tensor)
            id = "data-dependent-branch"
        if id == "data-dependent-branch" and (by := decisions_in_c.decision(self)) is not None:
            return DataDependent(id, by.what, by.instead, frames_at(self.mark()))
        if id in GRAPH_BREAKS:
            names: dict[str, Any] = dict(error.names)
            return self.graph_break(id, **names)
        return UnsupportedCall(error.id, error.what, error.instead, frames_at(self.mark()))


def data_dependent(tracer: TracerView, question: Any) -> GraphBreak:
    """The error for a question about sizes that depends on data."""
    answer = tracer.features.answers.get("undecided")
    if answer is None:
        return tracer.graph_break("data-dependent-branch")
    error: GraphBreak = answer(tracer, question)
    return error


# Parts of the program that an export skipped or assumed without an error: text → the program's stack.


class Notes(dict[str, tuple[UserFrame, ...]]):
    """`program.notes`: a dict that is printed, and shown by notebooks, as a list: each note with the line that it is
    about."""

    def __str__(self) -> str:
        return "\n".join(f"- {text}{_line_of(frames)}" for text, frames in self.items()) or "no notes"

    def _repr_html_(self) -> str:
        if not self:
            return "<p>No notes.</p>"
        rows = "".join(f"<li>{html.escape(text)}{_place(frames)}</li>" for text, frames in self.items())
        return f"<ul>{rows}</ul>"


def _own_frame(frames: tuple[UserFrame, ...]) -> UserFrame | None:
    """The innermost frame of the user's own code, or of any code."""
    return next((frame for frame in reversed(frames) if not frame.is_library), frames[-1] if frames else None)


def _line_of(frames: tuple[UserFrame, ...]) -> str:
    own = _own_frame(frames)
    return "" if own is None else f"  ({own.filename}:{own.lineno})"


def _place(frames: tuple[UserFrame, ...]) -> str:
    own = _own_frame(frames)
    if own is None:
        return ""
    where = f"{own.filename}:{own.lineno}"
    return f' <small title="{html.escape(where)}"><code>{html.escape(own.source)}</code></small>'


# How functions are called in errors: as programs write them, not by the names that C gave them.

# Names in CPython and torch → names that programs use. The first that fits counts.
SPELLINGS: tuple[tuple[str, str], ...] = (
    ("torch._C.TensorBase.", "torch.Tensor."),
    ("torch._C._TensorBase.", "torch.Tensor."),
    ("_random.Random.", "random."),
    ("random.Random.", "random."),
    ("os._Environ.__setitem__", "os.environ[...] = ..."),
    ("os._Environ.__delitem__", "del os.environ[...]"),
    ("posix.", "os."),
)


def spelled(text: str) -> str:
    """`text` with the names in it as programs write them."""
    for said, written in SPELLINGS:
        text = text.replace(said, written)
    return text
