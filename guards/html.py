"""Guards as HTML, for notebooks: one row a guard, with the line that needed it."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any

from .tree import brief_line

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
    cells = (str(number), f"<code>{html.escape(guard.text)}</code>", html.escape(brief_line(guard)))
    return "<tr>" + "".join(f"<td style='text-align:left'>{cell}</td>" for cell in cells) + "</tr>"
