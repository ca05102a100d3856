"""Guards as HTML, for notebooks: one row a guard, with the line that needed it."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any

_SHOWN = 30


def as_html(guards: Iterable[Any]) -> str:
    """The first guards open, the rest behind a fold. Everything is escaped."""
    rows = [_row(number, guard) for number, guard in enumerate(guards)]
    head = "<tr><th>#</th><th style='text-align:left'>guard</th><th style='text-align:left'>needed by</th></tr>"
    shown = f"<table>{head}{''.join(rows[:_SHOWN])}</table>"
    if len(rows) <= _SHOWN:
        return shown
    rest = f"<table>{head}{''.join(rows[_SHOWN:])}</table>"
    return f"{shown}<details><summary>{len(rows) - _SHOWN} more</summary>{rest}</details>"


def _row(number: int, guard: Any) -> str:
    brief = getattr(guard.line, "brief", None)
    if brief is None and guard.line is not None:
        lines = [row.strip() for row in str(guard.line).splitlines() if row.strip() and set(row.strip()) != {"^"}]
        brief = " | ".join(lines[-2:])
    cells = (str(number), f"<code>{html.escape(guard.text)}</code>", html.escape(brief or ""))
    return "<tr>" + "".join(f"<td style='text-align:left'>{cell}</td>" for cell in cells) + "</tr>"
