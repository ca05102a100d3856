"""The errors of capture. Errors of operators themselves are not wrapped: the program may catch them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class CaptureError(Exception):
    """An operation that cannot be recorded. `NodeContext.refuse` turns it into a GraphBreak at the program's line.

    `id` is the reason (a row of the tracer's table of graph breaks) and `names` fills in the row's template; `what` and
    `instead` are the texts without a table.
    """

    def __init__(self, id: str, what: str, instead: str, names: Mapping[str, Any] | None = None) -> None:
        super().__init__(what)
        self.id = id
        self.what = what
        self.instead = instead
        self.names = dict(names or {})


class UnknownTensor(CaptureError):
    """A FakeTensor that no recorded operator made reached an operator.

    Lifting it as a constant would leave a tensor without data in the program. "foreign-tensor": another recording made
    it. "unknown-tensor": an alias was made by C code that does not dispatch, and the code that let it
    through must call `Recorder.alias`.
    """
