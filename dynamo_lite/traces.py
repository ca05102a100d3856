"""A trace: the program together with what it rests on and what it did on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch.export import ExportedProgram

from dynamo_lite.errors import UserFrame
from dynamo_lite.pipeline import Captured
from dynamo_lite.program.effect_record import Effect
from dynamo_lite.program.mutations import changed_in_place
from dynamo_lite.tracing.assumptions.collect import guards_of
from guards import Guard, GuardSet


def trace_of(mod: Callable[..., Any], captured: Captured) -> Trace:
    """The trace of what `pipeline.capture` has captured of `mod`. The program gets it as its attribute `trace`."""
    run = captured.run
    found = Trace(
        captured.program,
        guards_of(mod, run, captured.inputs, captured.program),
        [*run.records, *changed_in_place(captured.program, set(run.effects.buffer_updates))],
        [*run.tracer.specializations] if hasattr(run.tracer, "specializations") else [],
        run.tracer.notes,
    )
    captured.program.trace = found  # type: ignore[attr-defined]
    return found


@dataclass(eq=False)
class Trace:
    """The result of `dynamo_lite.trace`.

    Attributes:
        program: the torch.export.ExportedProgram.
        guards: the conditions under which the program is right; `guards.check(mod, args, kwargs)` tests them.
        effects: what the program changes outside of itself.
        specializations: sizes that were fixed though they might have varied, with the reason.
        notes: what was skipped or assumed: text → the program's stack, outermost first.
    """

    program: ExportedProgram
    guards: GuardSet
    effects: list[Effect] = field(default_factory=list)
    specializations: list[Any] = field(default_factory=list)
    notes: Mapping[str, tuple[UserFrame, ...]] = field(default_factory=dict)

    @property
    def assumptions(self) -> list[Guard]:
        """The guards that the program's own reads made: each has the line that read the value."""
        return [guard for guard in self.guards if guard.line is not None]

    def explain(self) -> str:
        """The trace as text: what the program assumes, changes, fixes and leaves out."""
        return "\n\n".join(f"{title}\n" + "\n".join(f"  {row}" for row in rows) for title, rows in self._sections())

    def _sections(self) -> Iterator[tuple[str, list[str]]]:
        nodes = [node for node in self.program.graph.nodes if node.op == "call_function"]
        yield "Program", [f"{len(nodes)} operators", *str(self.program.graph_signature).strip().splitlines()[:40]]
        if self.guards:
            yield f"Assumptions ({len(self.guards)})", self.guards.tree().splitlines()
        if self.effects:
            yield "Effects", [str(effect) for effect in self.effects]
        if self.specializations:
            yield "Fixed sizes", [str(row) for row in self.specializations]
        if self.notes:
            yield "Notes", [text + _at(frames) for text, frames in self.notes.items()]

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


def _no_trace() -> None:
    return None


def _at(frames: tuple[UserFrame, ...]) -> str:
    return f"  ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
