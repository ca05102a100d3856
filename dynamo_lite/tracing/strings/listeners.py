"""Where prints, warnings and logs go: to the process's own streams, or to an object whose state the program reads."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from typing import Any

from dynamo_lite.tracing.strings import log_calls


class Listeners:
    """Where the process's talk goes when the run begins."""

    def __init__(self) -> None:
        self.streams = (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)
        self._warnings = _shown_by()
        self._filters = list(warnings.filters)
        self._heard: dict[int, Any] = {}

    def is_stream(self, stream: Any) -> bool:
        """Whether `stream` is one of the process's own (None: wherever print() writes)."""
        stream = sys.stdout if stream is None else stream
        return any(stream is known for known in self.streams)

    def warnings_are_caught(self) -> bool:
        """Whether the program itself has taken over what becomes of warnings."""
        return self._warnings != _shown_by() or not self.is_stream(sys.stderr)

    def heard_by(self, listener: Any) -> None:
        """What was skipped would have reached a handler, a filter, ... that is not the standard library's."""
        self._heard.setdefault(id(listener), listener)

    def read_by(self, places: Iterable[tuple[str, int, Any]]) -> Any:
        """The first such listener whose state is in one of these places, which the program has read; else None."""
        if not self._heard:
            return None
        owners = {owner for _, owner, _ in places}
        entries = {(owner, key) for how, owner, key in places if how == "item"}
        for listener in self._heard.values():
            ids, names = log_calls.state_of(listener)
            if ids & owners or names & entries:
                return listener
        return None

    def changed_filters(self) -> list[Any]:
        """The rows of warnings.filters that the run has added and not taken away; None for one that is gone."""
        now = list(warnings.filters)
        if now == self._filters:
            return []
        return [row for row in now if row not in self._filters] or [None]

    def restore_filters(self) -> None:
        if list(warnings.filters) != self._filters:
            warnings.filters[:] = self._filters  # type: ignore[index]
            warnings._filters_mutated()  # type: ignore[attr-defined]


def _shown_by() -> tuple[Any, ...]:
    return warnings.showwarning, getattr(warnings, "_showwarnmsg_impl", None)
