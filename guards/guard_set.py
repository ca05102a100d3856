"""The guards of one trace: checking a call against them, and saying which one failed and why."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

from dynamo_lite.guards.alike import alike, row_of
from dynamo_lite.guards.compiler import Check, Compiler
from dynamo_lite.guards.guard import Failure, Guard
from dynamo_lite.guards.kinds import KINDS
from dynamo_lite.guards.source import Source
from dynamo_lite.option_types import Weights, choices

from .tree import brief_line

_ON_VALUES = frozenset({"tensor", "python", "equals", "items", "set", "length", "empty", "filled", "contents"})
"""The kinds that `print(guards)` shows."""


class GuardSet(Sequence[Guard]):
    """Guards in the order in which they were found, and the one function that checks them.

    `namespace` holds what guards written as Python (kind "python") use besides `L`.
    """

    def __init__(
        self,
        guards: Sequence[Guard],
        arguments: dict[str, Source] | None = None,
        namespace: dict[str, Any] | None = None,
    ) -> None:
        self._guards = tuple(guards)
        self._arguments = arguments or {}
        self._namespace = namespace or {}

    def __len__(self) -> int:
        return len(self._guards)

    def __getitem__(self, index: Any) -> Any:
        return self._guards[index]

    def __iter__(self) -> Iterator[Guard]:
        return iter(self._guards)

    @cached_property
    def _same(self) -> Check:
        return Compiler(self._guards, self._arguments, self._namespace).compile()

    @cached_property
    def _any_weights(self) -> Check:
        # indices remain those of the whole set: the omitted guards always hold
        left_out = frozenset(i for i, guard in enumerate(self._guards) if guard.kind == "same_tensor")
        return Compiler(self._guards, self._arguments, self._namespace, left_out).compile()

    def without(self, left_out: Callable[[Guard], bool]) -> GuardSet:
        """The set of the other guards."""
        kept = [guard for guard in self._guards if not left_out(guard)]
        return GuardSet(kept, self._arguments, self._namespace)

    @property
    def code(self) -> str:
        """The guards as one Python function: what `check` runs."""
        return Compiler(self._guards, self._arguments, self._namespace).text

    def failing(
        self, mod: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None, *, weights: Weights = "same"
    ) -> int:
        """The index of the first guard that does not hold for a call, -1 if all do."""
        return self._run(mod, args, kwargs, weights)[0]

    def check(
        self, mod: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None, *, weights: Weights = "same"
    ) -> Failure | None:
        """None if the trace holds for the call `mod(*args, **kwargs)`, else the first guard that does not.

        weights: "same": the parameters, buffers and constants of `mod` must be the tensors that the program holds (in
            which case program and module agree); "any": they only have to look alike (the graph holds, with the state
            of `mod` in place of the program's).
        """
        index, error = self._run(mod, args, kwargs, weights)
        if index < 0:
            return None
        guard = self._guards[index]
        raised = f"{type(error).__name__}: {error}"
        found = raised if error is not None else self._found(guard, (mod, args, kwargs or {}))
        return Failure(index, guard, found, error)

    def explain(self, failure: Failure | int) -> str:
        """Returns the expected value, the value found and the line of the program that needed it. For the index of a
        guard, returns its condition and that line."""
        if not isinstance(failure, int):
            return str(failure)
        guard = self._guards[failure]
        return guard.text if guard.line is None else f"{guard.text}\n  needed by:\n{str(guard.line).rstrip()}"

    def _run(
        self, mod: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None, weights: Weights
    ) -> tuple[int, Exception | None]:
        if weights not in choices(Weights):
            raise ValueError(f'weights is "same" or "any", not {weights!r}')
        check = self._same if weights == "same" else self._any_weights
        return check(mod, args, kwargs if kwargs is not None else {})

    def _found(self, guard: Guard, call: tuple[Any, Any, Any]) -> str:
        if guard.kind == "state":
            return repr(guard.expected.read())
        if guard.source is None:
            value: Any = call[1] if guard.kind == "arguments" else call[2]
        else:
            value = guard.source.follow(call)
        return KINDS[guard.kind].found(value, guard.expected)

    def __repr__(self) -> str:
        return f"<GuardSet: {len(self)} guards>"

    def __str__(self) -> str:
        """The guards on values and sizes, with the line that needed each, and the number of the others.

        Those of layers that are alike are one row.
        """
        shown = [guard for guard in self._guards if guard.kind in _ON_VALUES]
        found = [(row_of(same), brief_line(same[0])) for same in alike(shown, brief_line)]
        rows = [f"  {text}" + (f"  # {line}" if line else "") for text, line in found]
        others = len(self) - len(shown)
        rest = [f"  and {others} on types, code, weights and torch's state; tree() shows all"] if others else []
        return "\n".join([f"{len(self)} guard{'s' if len(self) != 1 else ''}", *rows, *rest])

    def _repr_html_(self) -> str:
        return as_html(self._guards)

    def tree(self, lines: bool = True) -> str:
        """The guards as a tree of their sources, each with the line of the program that needed it."""
        from dynamo_lite.guards.tree import render

        return render(self._guards, lines)


# Guards as HTML, for notebooks: one row for those of layers that are alike, with the line that needed them.

_SHOWN = 30
_MOST = 120
"""Rows that are open, and rows in all: a notebook keeps what it has shown."""


def as_html(guards: Sequence[Guard]) -> str:
    """The first rows open, the next behind a fold, the number of the others. Everything is escaped."""
    found = alike(guards, brief_line)
    rows = [_row(same) for same in found[:_MOST]]
    head = "<tr><th style='text-align:left'>guard</th><th style='text-align:left'>needed by</th></tr>"
    shown = f"<table>{head}{''.join(rows[:_SHOWN])}</table>"
    if len(rows) <= _SHOWN:
        return shown
    left = sum(map(len, found[_MOST:]))
    rest = f"<table>{head}{''.join(rows[_SHOWN:])}</table>" + (
        f"<p>{left} others: tree() shows all.</p>" if left else ""
    )
    return f"{shown}<details><summary>{len(guards) - sum(map(len, found[:_SHOWN]))} more</summary>{rest}</details>"


def _row(same: list[Guard]) -> str:
    cells = (f"<code>{html.escape(row_of(same), quote=False)}</code>", html.escape(brief_line(same[0]), quote=False))
    return "<tr>" + "".join(f"<td style='text-align:left'>{cell}</td>" for cell in cells) + "</tr>"
