"""Where a change has left its value: a place that can be read and written before a second trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dynamo_lite.tracing.heap.journal import Change
from dynamo_lite.tracing.heap.snapshots import MISSING


@dataclass(frozen=True, eq=False)
class Place:
    """An attribute, an item of a dict, all items of a list, or the contents of a cell."""

    owner: Any
    part: str
    key: Any

    def is_of(self, change: Change) -> bool:
        """Whether a change is one of this place."""
        return self.owner is change.owner and (self.part, self.key) == (change.part, change.key)

    def value(self) -> Any:
        """Return the current value; MISSING if there is none."""
        if self.part == "cell":
            return self.owner.cell_contents
        if self.key is None and type(self.owner) is list:
            return [*self.owner]
        return self._holder().get(self.key, MISSING)

    def put(self, value: Any) -> None:
        """Write the value there, past the program's own methods."""
        if self.part == "cell":
            self.owner.cell_contents = value
        elif self.key is None and type(self.owner) is list:
            self.owner[:] = value
        else:
            self._holder()[self.key] = value

    def _holder(self) -> dict[Any, Any]:
        return vars(self.owner) if self.part == "attributes" else self.owner


def place_of(change: Change) -> Place | None:
    """The place of a change; None for one that cannot be written so."""
    owner, part = change.owner, change.part
    if part == "attributes":
        is_known = type(getattr(owner, "__dict__", None)) is dict
    elif part == "items":
        is_known = type(owner) is dict or (type(owner) is list and change.key is None)
    else:
        is_known = part == "cell"
    return Place(owner, part, change.key) if is_known else None
