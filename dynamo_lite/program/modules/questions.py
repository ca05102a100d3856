"""Checks in Python by the program that have another result after a conversion of its module, or in another mode."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dynamo_lite.errors import UserFrame


@dataclass(frozen=True)
class Questions:
    """Lines of the program, as text: where it read the dtype of a floating point tensor, and where `training`.

    `was_training`: the answers of all modules to the latter, True or False where they agree.
    """

    dtypes: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    was_training: bool | None = None

    @classmethod
    def of(cls, dtypes: Iterable[Any], modes: Iterable[tuple[Any, bool]]) -> Questions:
        """dtypes: the frames where a dtype was read. modes: (line, answer) of each read of `training`."""
        rows = [*modes]
        answers = {answer for _, answer in rows}
        lines = dict.fromkeys(line_of(line) for line, _ in rows)
        return cls(tuple(map(line_of, dtypes)), tuple(lines), answers.pop() if len(answers) == 1 else None)

    def to_json(self) -> dict[str, Any]:
        return {"dtypes": [*self.dtypes], "modes": [*self.modes], "was_training": self.was_training}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Questions:
        return cls(tuple(values["dtypes"]), tuple(values["modes"]), values["was_training"])


def line_of(frame: Any) -> str:
    """`model.py:12: return x.to(y.dtype)`, or the text of another object that describes a line."""
    if isinstance(frame, UserFrame):
        return f"{frame.filename}:{frame.lineno}: {frame.source}".rstrip(": ")
    return str(frame).strip()
