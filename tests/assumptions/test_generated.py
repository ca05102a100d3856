"""Programs put together at random from the readings: where the check passes, the program is right.

The oracle is eager on the changed module.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import dynamo_lite
from tests.guards import ways

from . import object_programs  # noqa: F401  (adds its programs)
from .programs import READINGS, Base, Change, Reading


def _is_piece(row: Reading) -> bool:
    return isinstance(row.make, type) and issubclass(row.make, Base)


PIECES: dict[str, Any] = {name: row.make.forward for name, row in READINGS.items() if _is_piece(row)}  # type: ignore[attr-defined]
CHANGES: dict[str, Change] = {
    f"{name}: {text}": change
    for name, row in READINGS.items()
    if name in PIECES
    for text, change in {**{k: c for k, (c, _) in row.breaks.items()}, **row.keeps}.items()
}


class Generated(Base):
    """Runs the pieces one after the other, the last ones on each half of the rows."""

    def __init__(self, names: list[str]) -> None:
        super().__init__()
        self.pieces = names

    def forward(self, x: Any) -> Any:
        for name in self.pieces:
            x = PIECES[name](self, x).reshape(2, 3)
        return x


@given(
    names=st.lists(st.sampled_from(sorted(PIECES)), min_size=1, max_size=4),
    changes=st.lists(st.sampled_from(sorted(CHANGES)), min_size=1, max_size=2),
)
@settings(max_examples=40, deadline=None)
def test_where_the_check_passes_the_program_is_right(names: list[str], changes: list[str]) -> None:
    mod, args = Generated(names), (torch.arange(6.0).reshape(2, 3),)
    found = dynamo_lite.trace(mod, args)
    assert ways.check(found.guards, mod, args) is None
    with pytest.MonkeyPatch.context() as patch:
        for change in changes:
            try:
                CHANGES[change](mod, patch)
            except (AttributeError, KeyError, IndexError, TypeError, NotImplementedError):
                continue  # an earlier change took away what this one is about
        if ways.failing(found.guards, mod, args) == -1:
            assert torch.equal(found.program.module()(*args), mod(*args))
