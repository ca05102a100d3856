"""explain(): all problems of exporting a module, in one go.

`export` stops at the first problem. `explain` continues where a safe continuation exists (for the search, not for a
program): a question about data is answered for the example, an effect is dropped, a call that cannot be looked into is
made once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from dynamo_lite import attempts, pipeline
from dynamo_lite.errors import (
    ConstraintViolation,
    DataDependent,
    DynamoLiteError,
    GraphBreak,
    InternalError,
    InvalidArguments,
    checks_keywords,
)
from dynamo_lite.exclusive import exclusive
from dynamo_lite.explanation.recovering_tracer import LenientTracer, Problem
from dynamo_lite.features.constants.declared import declare
from dynamo_lite.option_types import Constants, ControlFlow, DynamicShapes
from dynamo_lite.program import flatten_inputs
from dynamo_lite.program.effect_record import Effect, Verdict
from dynamo_lite.program.shapes.dynamic_shapes import read_call
from dynamo_lite.program.shapes.shapes_spec import given_or_attached
from dynamo_lite.run import Run, RunRequest, traced
from dynamo_lite.run.lost_state import settle_lost_state
from dynamo_lite.run.second_trace import retrace
from dynamo_lite.tracing.effects import descriptions
from dynamo_lite.tracing.findings import SizeBranches, Specializations


@dataclass
class Explanation:
    """The result of `explain`. True if there is nothing to fix: export takes the program as it stands.

    Attributes:
        problems: what export would refuse, in the order of the run, each with its fix and how the search went on.
        effects: changes by the program outside of itself, with their verdicts.
        specializations: sizes that the program fixes.
        captured: the outcome of the capture of control flow for each branch and loop on data, or on sizes that vary
            (a line each; they are not problems), or the graph break that ends it, which is among the problems, too.
        program: what the run has recorded, if it came to its end: for the example only (`draft_export`).
        branches_on_sizes: whether the example has answered a branch on sizes that an export captures.
        complete: whether the run came to its end; if not, the part after the last problem is not examined.
    """

    problems: list[Problem] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    specializations: list[Any] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)
    captured: list[str] | DynamoLiteError | None = None
    complete: bool = False
    branches_on_sizes: bool = False
    title: str = ""
    program: Any = field(default=None, repr=False)  # what the search has recorded, if the run came to its end

    def __bool__(self) -> bool:
        return not self.problems

    @property
    def ids(self) -> list[str]:
        """The id of each problem."""
        return [problem.error.id for problem in self.problems]

    def report(self, path: str | Path) -> None:
        """Write the problems to a page (.html) that shows each in its place in the source, or as data (.json)."""
        from dynamo_lite.report import document

        document.write(document.of_explanation(self, self.title), path)

    def __str__(self) -> str:
        return "\n\n".join(self._sections())

    def _end(self) -> str:
        return "The run had come to its end by then." if self.complete else "The search ended here."

    def _sections(self) -> Iterator[str]:
        if not self.problems:
            yield "Nothing to fix: export takes the program as it stands."
        for number, problem in enumerate(self.problems, 1):
            then = f"The search went on: {problem.then}." if problem.then else self._end()
            yield f"{number}. {str(problem.error).rstrip()}\n\n{then}"
        if isinstance(self.captured, list):
            yield "Control flow on data:\n" + "\n".join(f"  {text}" for text in self.captured)
        elif isinstance(self.captured, GraphBreak) and not any(p.error is self.captured for p in self.problems):
            yield f"Control flow on data cannot be captured:\n  {self.captured.headline}"
        if self.specializations:
            yield "Sizes that are fixed:\n" + "\n".join(f"  {row}" for row in self.specializations)
        if self.effects:
            yield "Effects:\n" + "\n".join(f"  {effect}" for effect in self.effects)
        if self.notes:
            yield "Notes:\n" + "\n".join(f"  {text}" for text in self.notes)
        if not self.complete:
            yield "The run did not come to its end: there may be more."


@exclusive
@checks_keywords
def explain(
    mod: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: DynamicShapes = None,
    control_flow: ControlFlow = "capture",
    constants: Constants = None,
) -> Explanation:
    """Find all problems that `export` would stop at, one after the other.

    The arguments are those of `export`. Operators are run on the example's values where a question about data has to be
    answered, functions that are refused may be called once; the user's objects are as before afterwards.

    Raises InvalidArguments if the call itself makes no sense, and what `mod` raises on these arguments.
    """
    args, kwargs = pipeline._check_call(mod, args, kwargs)
    root = pipeline.root_of(mod)
    shapes = given_or_attached(mod, dynamic_shapes)
    call = read_call(pipeline.signature_of(mod), args, kwargs, shapes, None)
    inputs = flatten_inputs(call.signature, call.args, call.kwargs)
    if constants is not None:
        declare(inputs, constants)
    known: dict[str, DynamoLiteError] = {}
    with pipeline.process_as_before():
        for _ in range(_RUNS):
            found, used, error = _search(mod, root, call, inputs, known)
            if used is None or used in known or error is None:
                break
            known[used] = error  # the next run gives the program real answers of this function
    if control_flow == "capture" and any(_may_be_captured(found, problem) for problem in found.problems):
        _add_captured(found, _captured(mod, args, kwargs, dynamic_shapes, constants))
    found.title = getattr(mod, "__qualname__", None) or type(mod).__qualname__
    return found


_RUNS = 8


def _captured(
    mod: Any, args: Any, kwargs: Any, dynamic_shapes: Any, constants: Any
) -> list[str] | DynamoLiteError | None:
    """Return the notes of an export that captures branches; None if the program raises."""
    options = attempts.Options(dynamic_shapes, None, True, (), False, "drop", "capture", constants)
    try:
        program = pipeline.capture(mod, args, kwargs, options).program
    except DynamoLiteError as error:
        return error
    except Exception:
        return None
    return [text for text in program.notes if text.startswith(("the branch on", "the loop"))]


def _may_be_captured(found: Explanation, problem: Problem) -> bool:
    """Whether it is a question about data, or sizes that a loop over them fixes or a branch on them narrows."""
    if isinstance(problem.error, ConstraintViolation):
        return found.branches_on_sizes or any(row.unrolls for row in found.specializations)
    return isinstance(problem.error, DataDependent)


def _add_captured(found: Explanation, captured: list[str] | DynamoLiteError | None) -> None:
    """Add the result of capturing control flow: problems on data are dropped, up to the one that ends the capture."""
    found.captured = captured
    problems = found.problems
    if isinstance(captured, list):
        found.problems = [problem for problem in problems if not _may_be_captured(found, problem)]
        found.specializations = [row for row in found.specializations if not row.unrolls]
    elif isinstance(captured, GraphBreak):
        ends = (at for at, p in enumerate(problems) if isinstance(p.error, GraphBreak) and captured.is_at(p.error))
        first = next(at for at, problem in enumerate(problems) if _may_be_captured(found, problem))
        end = next(ends, first)
        kept = [problem for problem in problems[:end] if not _may_be_captured(found, problem)]
        found.problems = [*kept, replace(problems[end], error=captured), *problems[end + 1 :]]


def _search(
    mod: Any, root: Any, call: Any, inputs: Any, known: dict[str, DynamoLiteError]
) -> tuple[Explanation, str | None, DynamoLiteError | None]:
    """Return the result of one run, and the function whose unrecordable answer ended it, with that error."""
    found = Explanation()
    runs: list[Run] = []

    def started(run: Run) -> None:
        cast(LenientTracer, run.tracer).known = known
        runs.append(run)

    last: DynamoLiteError | None = None
    try:
        with traced(RunRequest(mod, root, inputs, call.specs, LenientTracer, drops=True, started=started)) as run:
            _effects(found, run)
            settle_lost_state(run)
            found.complete = True
        found.branches_on_sizes = bool(run.tracer.own(SizeBranches).left)
        settled = run.settle()
        if settled is not None:
            call.verify(settled)
        found.program = attempts.built(run, root, inputs, settled)
    except InvalidArguments:
        raise
    except InternalError:
        if not runs or not _went_on(found, runs[-1]):
            raise
    except DynamoLiteError as error:
        last = error
    except Exception:
        if not runs or not _went_on(found, runs[-1]):
            raise  # the program's own
        # After a continuation that is not what eager does, an exception need not be eager's: the search ends here.
    _collect(found, runs[-1], last)
    used = cast(LenientTracer, runs[-1].tracer).used
    return found, used if last is not None and last.id == "unrecordable-value" else None, last


def _went_on(found: Explanation, run: Run) -> bool:
    return bool(found.problems or cast(LenientTracer, run.tracer).problems)


def _collect(found: Explanation, run: Run, last: DynamoLiteError | None) -> None:
    tracer = cast(LenientTracer, run.tracer)
    found.problems = [*tracer.problems, *found.problems]
    if last is not None and not any(problem.error is last for problem in found.problems):
        found.problems.append(Problem(last))
    found.specializations = list(tracer.own(Specializations).rows)
    found.notes = dict(tracer.notes)


def _effects(found: Explanation, run: Run) -> None:
    """Effects that export would refuse are problems; each is dropped."""
    pending = run.effects.pending
    if pending and not _is_settled(run):
        found.problems += [
            Problem(descriptions.error(run.tracer, change), "the effect was dropped") for change in pending
        ]
    found.problems += [Problem(error, "the effect was dropped") for error in run.refused_effects]
    verdict = Verdict.DROPPED if found.problems else Verdict.FIRST_CALL
    found.effects = [*descriptions.records(run.tracer, run.effects, verdict), *run.lost]


def _is_settled(run: Run) -> bool:
    """Whether the pending effects are a one-time initialisation."""
    try:
        retrace(run)
    except DynamoLiteError:
        return False
    return True
