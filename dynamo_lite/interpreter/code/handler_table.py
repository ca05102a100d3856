"""The table of handlers: normal instruction -> function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

Operation = tuple[Callable[..., Any], Any]
"""(handler, its argument)."""

HANDLERS: Final[dict[str, Callable[..., Any]]] = {}


def handler(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Register the handler of the normal instruction that `fn` is named after."""
    HANDLERS[fn.__name__] = fn
    return fn
