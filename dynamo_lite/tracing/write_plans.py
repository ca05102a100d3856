"""Listeners for writes of attributes: by the type of the object, and by the attribute's name.

A writer `(tracer, owner, key, value)` replaces the access log and the journal, for objects that these do not follow. It
returns True if the feature that answers for the attribute keeps the value itself.
The table is used once per type and run; an object without a writer costs one look-up. Listeners for every write while a
feature is awake are in calls/plans.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dynamo_lite.tracing import assemble
from dynamo_lite.tracing.heap import instance_dicts
from dynamo_lite.tracing.heap.instance_dicts import OwnedDicts
from dynamo_lite.tracing.interfaces import TracerView

Writer = Callable[[TracerView, Any, str, Any], bool]


def _give_dict(tracer: TracerView, owner: Any, key: str, value: Any) -> bool:
    tracer.own(OwnedDicts).given(owner, value)
    tracer.journal.touch(value, "items")  # what the object is given from now on goes there
    return False


BY_NAME: dict[str, Writer] = dict.fromkeys(instance_dicts.NAMES, _give_dict)
"""Listeners for writes of one name, before the journal."""


class WritePlans(dict[type, Writer | None]):
    """Type of an object → what takes the writes of its attributes; None: access log and journal."""

    def __missing__(self, kind: type) -> Writer | None:
        writer = self[kind] = assemble.assembly().listener("write", kind)
        return writer
