"""Two ways to check a guard set: the compiled function, and guard by guard (`one_by_one.py`). They have to agree."""

from __future__ import annotations

from typing import Any

from dynamo_lite.guards import Failure, GuardSet

from .one_by_one import OneByOne


def check(guards: GuardSet, mod: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Failure | None:
    """As `guards.check`, after `failing` has compared both ways."""
    failing(guards, mod, args, kwargs)
    return guards.check(mod, args, kwargs)


def failing(guards: GuardSet, mod: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> int:
    """What a check says, after the other way has said the same."""
    call = (mod, args, kwargs or {})
    one_by_one, error = OneByOne(guards).check(*call)
    at_once, raised = guards._run(*call, "same")
    said = (one_by_one, error), (at_once, raised)
    assert (one_by_one < 0) == (at_once < 0), said
    if error is None and raised is None:  # an object that answers for itself may stop one of them earlier
        assert one_by_one == at_once, said
    return at_once
