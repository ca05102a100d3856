"""A trace: the program together with its assumptions and the notes of the run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dynamo_lite.errors import UserFrame
from dynamo_lite.guards import Guard, GuardSet
from dynamo_lite.option_types import Unfolded
from dynamo_lite.pipeline import Captured
from dynamo_lite.program.effect_record import Effect
from dynamo_lite.program.exported_program import Program
from dynamo_lite.program.modules.questions import Questions
from dynamo_lite.program.mutations import changed_in_place
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv
from dynamo_lite.tracing.assumptions.collect import guards_of
from dynamo_lite.tracing.findings import Compared, DtypeReads, SizeBranches, Specializations
from dynamo_lite.tracing.vocabulary.program_points import frames_at

if TYPE_CHECKING:
    from dynamo_lite.program.certificates import Certificates


def trace_of(mod: Callable[..., Any], captured: Captured) -> Trace:
    """The trace of what `pipeline.capture` has captured of `mod`. The program gets it as its attribute `trace`."""
    run = captured.run
    found = Trace(
        captured.program,
        guards_of(mod, run, captured.inputs, captured.program),
        [*run.records, *changed_in_place(captured.program, set(run.effects.buffer_updates))],
        [*run.tracer.own(Specializations).rows],
        run.tracer.notes,
        run.settled.solution if run.settled is not None else None,
        [*run.tracer.own(SizeBranches).rows.values()],
        title=_name(mod),
        sizes=run.recorder.env,
    )
    captured.program.trace = found
    reads = run.tracer.own(DtypeReads)
    if run.tracer.sees_python and not reads.are_hidden:
        dtypes = [frames_at(mark)[-1] for mark in reads.marks]
        asked = [g for g in found.guards if g.source is not None and g.source.key == "training"]
        modes = [(guard.line, guard.expected) for guard in asked if is_of_mode(guard)]
        captured.program.questions = Questions.of(dtypes, modes)
    return found


def is_of_mode(guard: Guard) -> bool:
    """Whether a guard is the answer to a read of `training`. Few texts are made for the test."""
    if guard.source is None or guard.source.key != "training" or type(guard.expected) is not bool:
        return False
    return guard.text.endswith((".training == True", ".training == False"))


@dataclass(eq=False)
class Trace:
    """The result of `dynamo_lite.trace`.

    Attributes:
        program: the exported program, a torch.export.ExportedProgram.
        guards: the conditions under which the program is right; `guards.check(mod, args, kwargs)` tests them.
        effects: changes by the program outside of itself.
        specializations: sizes that were fixed though they might have varied, with the reason.
        notes: what was skipped or assumed: text → the program's stack, outermost first.
        solution: the sizes of the inputs and the conditions on them (symbolic_shapes.dims); None if none varies.
        compared: the branches on sizes whose sides compute the same values, which are not conditions of the program;
            `verify()` of each checks the proof that they are the same.
        title: the name of the exported callable.
        sizes: what was known and asked about sizes (`certificates`).
    """

    program: Program
    guards: GuardSet
    effects: list[Effect] = field(default_factory=list)
    specializations: list[Any] = field(default_factory=list)
    notes: Mapping[str, tuple[UserFrame, ...]] = field(default_factory=dict)
    solution: Any = None
    compared: list[Compared] = field(default_factory=list)
    title: str = ""
    sizes: TorchShapeEnv | None = field(default=None, repr=False)

    @property
    def certificates(self) -> Certificates:
        """The proofs behind the guards on sizes and the decisions about sizes; `.save(path)` writes them to a file that
        `python -m dynamo_lite.lab verify` checks. docs/certificates.md."""
        from dynamo_lite.program.certificates import certificates_of

        return certificates_of(self.sizes, self.solution, self.compared, self.title)

    @property
    def assumptions(self) -> list[Guard]:
        """The guards that the program's own reads made: each has the line that read the value."""
        return [guard for guard in self.guards if guard.line is not None]

    def explain(self, *, unfold: bool | Unfolded | Collection[Unfolded] = False) -> str:
        """Return the trace as text: assumptions, changes, fixed sizes and omissions, the user's own lines first.

        Rows about torch's internals and the form of modules are counted; `unfold` shows them: True for everything, or
        the words behind a count ("form", "torch", "switches", "weights", "library_values").
        """
        rows = self._sections(unfold)
        return "\n\n".join(f"{title}\n" + "\n".join(f"  {row}" for row in lines) for title, lines in rows)

    def report(self, path: str | Path) -> None:
        """Write all of it to `path`: one page that needs nothing else (.html), or the same as data (.json).

        The page has the program's source with what each line made, the sizes and which are tied, each guard with its
        facts and its proof, effects, fixed sizes and notes. InvalidArguments for another suffix. docs/report.md.
        """
        from dynamo_lite.report import document

        document.write(document.of_trace(self, self.title), path)

    def _sections(self, unfold: bool | Collection[str] = False) -> Iterator[tuple[str, list[str]]]:
        from dynamo_lite.report import summary

        return summary.sections(self, unfold)

    def _repr_html_(self) -> str:
        """Return the summary for a notebook, with the counted rows in folds."""
        from dynamo_lite.report import notebook

        return notebook.of_trace(self, self.title)

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        """On a terminal, `rich.print(trace)`."""
        from rich.panel import Panel
        from rich.text import Text

        for title, rows in self._sections():
            yield Panel(Text("\n".join(rows)), title=title, title_align="left")

    def __repr__(self) -> str:
        return f"<Trace: {len(self.guards)} guards, {len(self.effects)} effects, {len(self.notes)} notes>"

    def __deepcopy__(self, memo: Any) -> Trace:
        """A trace is about the very objects that it saw; a copy of the program refers to the same trace."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """A trace does not outlive the process: in another one there is nothing that it is about."""
        return _no_trace, ()


def _name(mod: Any) -> str:
    return getattr(mod, "__qualname__", None) or type(mod).__qualname__


def _no_trace() -> None:
    return None
