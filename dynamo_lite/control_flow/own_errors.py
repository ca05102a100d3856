"""Errors of this package: they are none of the program's, which would see them as raised by one side of a branch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.states import CannotMerge


def reported(tracer: Forking, capture: Callable[[], Any]) -> Any:
    """What `capture` returns. An exception that it raises ends the export, but for those that it is known to raise."""
    try:
        return capture()
    except CannotMerge:
        raise
    except Exception as error:
        return tracer.recorder.guarded(_raise, error)


def _raise(error: Exception) -> NoReturn:
    raise error
