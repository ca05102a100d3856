"""A trace in a notebook: the summary of `explain`, with the details of each count in folds. At most 50 KB."""

from __future__ import annotations

import html
from collections.abc import Sequence

from dynamo_lite.report.document import Traced
from dynamo_lite.report.groups import GROUPS, grouped
from dynamo_lite.report.summary import rows_of, sections

_MOST = 3_500
"""Characters of one section or fold: a notebook keeps what it has shown."""


def of_trace(trace: Traced, title: str) -> str:
    """HTML without a style or script of its own; everything is escaped."""
    parts = [f"<h4>{html.escape(title or 'Trace')}</h4>"]
    for heading, rows in sections(trace):
        lines = [row for row in rows if not row.startswith("+ ")]
        parts.append(f"<strong>{html.escape(heading)}</strong>{_listed(lines)}")
        if heading.startswith("Assumptions"):
            parts += _folds(trace)
    return "\n".join(parts)


def _folds(trace: Traced) -> list[str]:
    found = grouped(trace.guards)
    folds = []
    for group in GROUPS:
        if group.folded and group.key in found:
            guards = [guard for _, guard in found[group.key]]
            title = f"{len(guards)} {html.escape(group.folded)}"
            rows = _listed([*rows_of(guards, all=False)])
            folds.append(f"<details><summary>{title}</summary>{rows}</details>")
    return folds


def _listed(rows: Sequence[str]) -> str:
    """The rows, as many as fit, and how many do not."""
    shown: list[str] = []
    size = 0
    for row in rows:
        text = html.escape(row if len(row) <= _MOST // 4 else row[: _MOST // 4] + "…", quote=False)
        size += len(text) + 1
        if size > _MOST:
            shown.append(f"… and {len(rows) - len(shown)} more: explain(unfold=True) and report() have all")
            break
        shown.append(text)
    return f"<pre>{chr(10).join(shown)}</pre>"
