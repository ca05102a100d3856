"""Parts of the program that an export skipped or assumed without an error: text → the program's stack."""

from __future__ import annotations

import html
from typing import Any

from dynamo_lite.errors import UserFrame


class Notes(dict[str, tuple[UserFrame, ...]]):
    """`program.notes`: a dict that notebooks show as a list, each note with the line that it is about."""

    def _repr_html_(self) -> str:
        if not self:
            return "<p>No notes.</p>"
        rows = "".join(f"<li>{html.escape(text)}{_place(frames)}</li>" for text, frames in self.items())
        return f"<ul>{rows}</ul>"


def _place(frames: tuple[UserFrame, ...]) -> str:
    own: Any = next((frame for frame in reversed(frames) if not frame.is_library), frames[-1] if frames else None)
    if own is None:
        return ""
    where = f"{own.filename}:{own.lineno}"
    return f' <small title="{html.escape(where)}"><code>{html.escape(own.source)}</code></small>'
