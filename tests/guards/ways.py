"""The ways to check a guard set: guard by guard, by one function, by a stamp. They have to agree."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from dynamo_lite.guards import Failure, GuardSet
from dynamo_lite.guards.compiler import Compiler
from dynamo_lite.guards.stamps import Stamp
from dynamo_lite.guards.table import Table


def stamp(guards: GuardSet, mod: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Stamp | None:
    """Checks a call that passes until there is a stamp. None if there can be none."""
    assert check(guards, mod, args, kwargs) is None
    return guards._same.stamp


def check(guards: GuardSet, mod: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Failure | None:
    """As `guards.check`; where it passes, there is a stamp afterwards, however few guards it answers for."""
    with patch("dynamo_lite.guards.stamps.stamp.FEWEST", 1):
        failures = [guards.check(mod, args, kwargs) for _ in range(5)]
    assert len({failure and failure.index for failure in failures}) == 1
    return failures[0]


def failing(guards: GuardSet, mod: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> int:
    """What a check says, after the others have said the same without a stamp."""
    call = (mod, args, kwargs or {})
    parts = guards._same._parts
    one_by_one, error = Table(*parts).check(*call)
    at_once, raised = Compiler(*parts).compile()(*call)
    by_stamp = guards.failing(*call)
    said = (one_by_one, error), (at_once, raised), by_stamp
    assert (one_by_one < 0) == (at_once < 0) == (by_stamp < 0), said
    if error is None and raised is None:  # an object that answers for itself may stop one of them earlier
        assert one_by_one == at_once == by_stamp, said
    return by_stamp
