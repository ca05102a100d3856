"""A call that a rule makes for the program."""

from __future__ import annotations

from typing import Any


def run_native(fn: Any, args: tuple, kwargs: dict) -> Any:
    """Call `fn` as CPython does; its exceptions are the program's (Tracer._stop_if_ours knows this function)."""
    return fn(*args, **kwargs)
