"""Guards as an indented tree of the places that they look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dynamo_lite.guards.guard import Guard
from dynamo_lite.guards.source import Source


def render(guards: Sequence[Guard], lines: bool) -> str:
    """One line a place, its guards behind it; places below the place that they are reached from."""
    children: dict[int, list[Source]] = {}
    by_source: dict[int, list[Guard]] = {}
    roots: list[Source] = []
    placed: set[int] = set()
    for guard in guards:
        if guard.source is not None:
            by_source.setdefault(id(guard.source), []).append(guard)
            _place(guard.source, children, roots, placed)
    state = [guard.text for guard in guards if guard.kind == "state"]
    text = [f"torch's state: {'; '.join(state)}"] if state else []
    others = (guard for guard in guards if guard.source is None and guard.kind != "state")
    text += [f"{guard.text}{_line(guard, lines)}" for guard in others]
    for source in roots:
        text.extend(_branch(source, "", children, by_source, lines))
    return "\n".join(text)


def _place(source: Source, children: dict[int, list[Source]], roots: list[Source], placed: set[int]) -> None:
    while id(source) not in placed:
        placed.add(id(source))
        if source.parent is None:
            roots.append(source)
            return
        children.setdefault(id(source.parent), []).append(source)
        source = source.parent


def _branch(
    top: Source,
    indent: str,
    children: dict[int, list[Source]],
    by_source: dict[int, list[Guard]],
    lines: bool,
) -> Iterator[str]:
    todo = [(top, indent)]
    while todo:
        source, indent = todo.pop()
        own = by_source.get(id(source), [])
        shown = {g.text.removeprefix(f"{source.text}: ").removeprefix(f"{source.text} ") for g in own}
        yield f"{indent}{source.text}" + (f"  [{'; '.join(sorted(shown))}]" if shown else "")
        yield from dict.fromkeys(f"{indent}    {text}" for g in own if (text := _line(g, lines).strip()))
        todo.extend((below, indent + "  ") for below in reversed(children.get(id(source), [])))


def _line(guard: Guard, lines: bool) -> str:
    return f"  # {brief_line(guard)}" if lines and guard.line is not None else ""


def brief_line(guard: Guard) -> str:
    """The line of the program that made the guard, in one line: the last frame and its source."""
    if guard.line is None:
        return ""
    brief: str | None = getattr(guard.line, "brief", None)
    if brief is not None:
        return brief
    last = [row.strip() for row in str(guard.line).splitlines() if row.strip() and set(row.strip()) != {"^"}]
    return " | ".join(last[-2:])
