"""Functions that a trace puts into torch's classes and modules for its duration, and the originals.

If the program writes to such a class, a snapshot holds the entries from before the trace: otherwise the trace's own
function would be taken for the program's change, and be restored for good.
"""

from __future__ import annotations

from typing import Any

_PLAIN: dict[int, tuple[Any, Any]] = {}
"""id of a function of ours → (the function, the original)."""


def stands_for(ours: Any, plain: Any) -> None:
    """From now on `ours` counts as `plain` where a namespace is read."""
    _PLAIN[id(ours)] = ours, plain


def is_ours(value: Any) -> bool:
    known = _PLAIN.get(id(value))
    return known is not None and known[0] is value


def without_ours(namespace: dict[str, Any]) -> dict[str, Any]:
    """A copy of a namespace, as it is without a trace."""
    return {name: _PLAIN[id(value)][1] if is_ours(value) else value for name, value in namespace.items()}


def with_ours(contents: dict[str, Any], namespace: Any) -> dict[str, Any]:
    """Return the result of `without_ours`, with our functions where the namespace has them now: the trace goes on."""
    return {name: now if is_ours(now := namespace.get(name)) else value for name, value in contents.items()}
