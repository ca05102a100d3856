"""The records of the features (`feature.py`), joined once for the process into the tables that the engine uses.

`dynamo_lite/features/__init__.py` hands over the list, in the order in which steps and passes run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from dynamo_lite.errors import InternalError
from dynamo_lite.tracing.feature import AfterCall, Feature, NamedRules, Pass, Planner, TensorAttribute
from dynamo_lite.tracing.feature_state import FeatureState
from dynamo_lite.tracing.heap.journal import Change
from dynamo_lite.tracing.interfaces import Reader, Step, TracerView


class Assembly:
    """The features of this process. Raises InternalError where two of them contradict each other."""

    def __init__(self, features: Iterable[Feature]) -> None:
        self.features = tuple(features)
        self.named: tuple[NamedRules, ...] = tuple(row for feature in self.features for row in feature.named)
        self.skipped = tuple(name for row in self.named if row.is_skipped for name in row.names)
        self.function_steps: tuple[Planner, ...] = tuple(p for f in self.features for p in f.function_steps)
        self.c_steps: tuple[Planner, ...] = tuple(p for f in self.features for p in f.c_steps)
        self.before_end: tuple[Pass, ...] = tuple(check for f in self.features for check in f.before_end)
        self.ends = tuple(f.end for f in self.features if f.end is not None)
        self.guards = tuple(f.guards for f in self.features if f.guards is not None)
        self.from_the_start: tuple[type[FeatureState], ...] = tuple(
            kind for f in self.features for kind in f.state if kind.from_the_start
        )
        self.after: dict[int, AfterCall] = _joined((f.name, f.after()) for f in self.features if f.after is not None)
        self.tensor_attributes: dict[str, TensorAttribute] = _joined(
            (f.name, f.tensor_attributes) for f in self.features if f.tensor_attributes is not None
        )
        self._changes = tuple(f.changes for f in self.features if f.changes is not None)
        self.reads: dict[type, Reader] = _joined((f.name, f.reads) for f in self.features if f.reads is not None)

    def changes(self, tracer: TracerView) -> list[Change]:
        """Return the changes of a finished run that no object of Python's shows."""
        return [change for found in self._changes for change in found(tracer)]

    @contextmanager
    def ended(self, tracer: TracerView) -> Iterator[None]:
        """Calls `end` of each feature when the program has returned or raised."""
        try:
            yield
        except BaseException:
            for end in self.ends:
                end(tracer, False)
            raise
        for end in self.ends:
            end(tracer, True)

    def rules(self) -> dict[int, Step]:
        """Return id(callable) → rule, for the modules loaded now."""
        return _joined((f.name, f.rules()) for f in self.features if f.rules is not None)


def _joined(tables: Iterable[tuple[str, Any]]) -> dict[Any, Any]:
    """One table of several. Raises InternalError where two of them have a row for one key."""
    rows: dict[Any, Any] = {}
    for name, table in tables:
        count = len(rows) + len(table)
        rows.update(table)
        if len(rows) != count:
            same = "the same callable, type or attribute"
            raise InternalError(f"the feature {name!r} and one before it have a row for {same}")
    return rows


_assembly: Assembly | None = None


def use(features: Iterable[Feature]) -> Assembly:
    """These are the features from now on."""
    global _assembly
    _assembly = Assembly(features)
    return _assembly


def assembly() -> Assembly:
    """Return the joined tables of the features in use."""
    assert _assembly is not None, "dynamo_lite.features is not imported"
    return _assembly


@contextmanager
def without(name: str) -> Iterator[None]:
    """For tests: within, the feature `name` and those that need it do not take part."""
    before = assembly()
    out = {name}
    while more := {f.name for f in before.features if f.name not in out and out & {*f.needs}}:
        out |= more
    try:
        use(feature for feature in before.features if feature.name not in out)
        yield
    finally:
        use(before.features)
