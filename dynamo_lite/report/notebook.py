"""A trace in a notebook: the summary of `explain`, with the details of each count in folds."""

from __future__ import annotations

import html

from dynamo_lite.report.document import Traced
from dynamo_lite.report.groups import GROUPS, brief_place, grouped
from dynamo_lite.report.summary import sections


def of_trace(trace: Traced, title: str) -> str:
    """HTML without a style or script of its own; everything is escaped."""
    parts = [f"<h4>{html.escape(title or 'Trace')}</h4>"]
    for heading, rows in sections(trace):
        lines = [row for row in rows if not row.startswith("+ ")]
        parts.append(f"<strong>{html.escape(heading)}</strong><pre>{html.escape(chr(10).join(lines))}</pre>")
        if heading.startswith("Assumptions"):
            parts += _folds(trace)
    return "\n".join(parts)


def _folds(trace: Traced) -> list[str]:
    found = grouped(trace.guards)
    folds = []
    for group in GROUPS:
        if group.folded and group.key in found:
            rows = [guard.text + (f"  # {p}" if (p := brief_place(guard)) else "") for _, guard in found[group.key]]
            text = html.escape("\n".join(rows))
            title = f"{len(rows)} {html.escape(group.folded)}"
            folds.append(f"<details><summary>{title}</summary><pre>{text}</pre></details>")
    return folds
