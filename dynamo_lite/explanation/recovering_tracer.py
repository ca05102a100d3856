"""A tracer that continues after a problem if possible, to find the next one (dynamo_lite.explain).

Its recording is not a valid program: a question about data is answered for the example, a call that is refused is left
out or made once, an effect is dropped. Each problem is kept with the action taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from dynamo_lite.capture.graph.lifting import modes_off
from dynamo_lite.errors import DynamoLiteError, GraphBreak
from dynamo_lite.explanation.example_evaluator import NoShadow, Shadow
from dynamo_lite.explanation.recovering_recorder import LenientRecorder
from dynamo_lite.features.texts.formatting import TEXTS
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.symbolic_shapes.errors import DataDependentQuestion
from dynamo_lite.torch_internals._torch_pytree import pytree
from dynamo_lite.tracing.diagnostics import Abort
from dynamo_lite.tracing.sizes import data_dependent_errors
from dynamo_lite.tracing.strings.nondeterministic import Unrecordable, unrecordable_function
from dynamo_lite.tracing.tracer import Tracer
from dynamo_lite.tracing.vocabulary.symbolic_numbers import SYMBOLIC
from dynamo_lite.tracing.vocabulary.type_tests import is_fake

_LEFT_OUT = frozenset({"global-rng", "process-state", "outside-world", "global-state"})
"""Refused calls that would change something: left out; None replaces the result."""
_MADE_ONCE = frozenset(
    {"opaque-call", "unrecordable-id", "unrecordable-value", "outside-object", "data-dependent-value", *TEXTS}
)
"""Refused calls that give an answer: made once, on the example's values; the answer is a constant."""


_TENSOR_ATTRIBUTE = "tensor-attribute"


@dataclass(frozen=True)
class Problem:
    """`error` is the one that export would raise; `then` is how the search continued, None if it ended here."""

    error: DynamoLiteError
    then: str | None = None


class LenientTracer(Tracer):
    """Keeps `problems` and continues."""

    goes_on = True

    recorder_type = LenientRecorder

    def __init__(self, root: Any, recorder: Any, inputs: Any = None) -> None:
        super().__init__(root, recorder, inputs)
        self.problems: list[Problem] = []
        self.known: dict[str, DynamoLiteError] = {}
        """Functions whose answers the program was seen to use (in an earlier run): they give real ones here."""
        self.used: str | None = None  # the function whose answer ended the run
        self._refused_in: Any = None
        self.shadow = recorder.shadow = Shadow(recorder, inputs.leaves)
        recorder.report = lambda error, then: self.report(self.refused(error), then)

    def report(self, error: DynamoLiteError, then: str | None) -> None:
        """Keep a problem, once per line."""
        self.broken = None
        if (error.id, _place(error)) not in {(p.error.id, _place(p.error)) for p in self.problems}:
            self.problems.append(Problem(error, then))

    # ---- where it goes on

    def refuse(self, id: str, **names: Any) -> Any:
        if id in TEXTS:
            self.report(self.graph_break(id, **names), "some text stands for eager's")
            return "tensor(...)"
        self._refused_in = self.vm.frame
        if id == "unrecordable-value":
            self.used = names["function"]
        return super().refuse(id, **names)

    def before_call(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        frame = self.vm.frame
        try:
            answer = super().before_call(fn, args, kwargs)
            if issubclass(type(answer), Unrecordable) and unrecordable_function(answer) in self.known:
                return self._call_once(self.known[unrecordable_function(answer)], fn, args, kwargs)
            return answer
        except Abort as abort:
            error = abort.error
            if self._refused_in is not frame or not isinstance(error, GraphBreak):
                raise  # it comes from within what the call runs
            if error.id in _LEFT_OUT:
                self.report(error, "the call was left out")
                return None
            if error.id in _MADE_ONCE:
                return self._call_once(error, fn, args, kwargs)
            if error.id == _TENSOR_ATTRIBUTE:  # requires_grad_()
                self.report(error, "the call was left out")
                return args[0]
            raise

    def on_read(self, kind: str, owner: Any, key: Any, value: Any) -> Any:
        try:
            return super().on_read(kind, owner, key, value)
        except Abort as abort:
            if not isinstance(abort.error, GraphBreak):
                raise
            self.report(abort.error, "the value of the example was read")
            return value

    def before_write(self, kind: str, owner: Any, key: Any, value: Any) -> bool | None:
        try:
            return super().before_write(kind, owner, key, value)
        except Abort as abort:
            if getattr(abort.error, "id", None) != _TENSOR_ATTRIBUTE:
                raise
            self.journal.on_rollback(_attribute_as_it_is(owner, key))
            self.report(abort.error, "the attribute was set for the rest of the run")
            return None

    def on_truth(self, value: Any) -> Any:
        answer = super().on_truth(value)
        if answer is not NOT_HANDLED or not is_fake(value):
            return answer
        try:
            real = self.shadow.tensor(value)
        except NoShadow:
            return NOT_HANDLED
        self.report(self.graph_break("data-dependent-branch"), "the answer on the example was taken")
        with modes_off():
            return bool(real)

    def undecided(self, error: Any) -> None:  # type: ignore[override]
        """Answer a question that depends on data by the program's values on the example."""
        question = error.question
        problem = data_dependent_errors.undecided(self, question)
        try:
            asked = question.relation if isinstance(question, DataDependentQuestion) else question.node
            known = self.shadow.find_hints(asked)
        except NoShadow:
            known = False
        if not known:
            self.abort(problem)
        self.report(problem, "the answer on the example was taken")

    def _call_once(self, error: DynamoLiteError, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            real_args, real_kwargs = pytree.tree_map(self._real, (args, kwargs))
        except NoShadow:
            raise Abort(error) from None
        call: Callable[..., Any] = fn
        with self.suspended(), torch.no_grad():
            result = call(*real_args, **real_kwargs)
        self.report(error, "the call was made once; its result is taken for a constant")
        return result

    def _real(self, value: Any) -> Any:
        if is_fake(value):
            return self.shadow.tensor(value)
        if type(value) in SYMBOLIC:
            raise NoShadow("a size")
        return value


def _place(error: DynamoLiteError) -> Any:
    frame = getattr(error, "frame", None)
    return None if frame is None else (frame.filename, frame.lineno)


def _attribute_as_it_is(owner: torch.Tensor, key: str) -> Callable[[], None]:
    """Return a function that restores a tensor's current attribute."""
    with modes_off():
        missing = object()
        value = getattr(owner, key, missing)

    def undo() -> None:
        with modes_off():
            if value is not missing:
                setattr(owner, key, value)
            elif key in vars(owner):
                delattr(owner, key)

    return undo
