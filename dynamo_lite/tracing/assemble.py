"""The records of the features (`feature.py`), joined once for the process into the tables that the engine uses.

`dynamo_lite/features/__init__.py` hands over the list, in the order in which steps and passes run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from dynamo_lite.errors import InternalError
from dynamo_lite.tracing.feature import (
    ANSWERED_EVENTS,
    EVENTS,
    TYPED_EVENTS,
    AfterCall,
    Feature,
    NamedRules,
    Pass,
    Planner,
    TensorAttribute,
)
from dynamo_lite.tracing.feature_state import FeatureState
from dynamo_lite.tracing.heap.journal import Change
from dynamo_lite.tracing.interfaces import Step, TracerView

_UNTYPED = EVENTS.keys() | ANSWERED_EVENTS.keys()


class Assembly:
    """The features of this process. Raises InternalError where two of them contradict each other."""

    def __init__(self, features: Iterable[Feature]) -> None:
        self.features = tuple(features)
        self.named: tuple[NamedRules, ...] = tuple(row for feature in self.features for row in feature.named)
        self.skipped = tuple(name for row in self.named if row.is_skipped for name in row.names)
        self.function_steps: tuple[Planner, ...] = tuple(p for f in self.features for p in f.function_steps)
        self.c_steps: tuple[Planner, ...] = tuple(p for f in self.features for p in f.c_steps)
        self.before_end: tuple[Pass, ...] = tuple(check for f in self.features for check in f.before_end)
        self.wraps = tuple(f.wraps for f in self.features if f.wraps is not None)
        self.guards = tuple(f.guards for f in self.features if f.guards is not None)
        self.from_the_start: tuple[type[FeatureState], ...] = tuple(
            kind for f in self.features for kind in f.state if kind.from_the_start
        )
        self.after: dict[int, AfterCall] = _joined((f.name, f.after()) for f in self.features if f.after is not None)
        self.before: dict[int, tuple[Step, ...]] = {}
        for row in (feature.before for feature in self.features if feature.before is not None):
            for key, steps in row.items():
                self.before[key] = (*self.before.get(key, ()), *steps)
        self.contexts = tuple(f.around for f in self.features if f.around is not None)
        self.awake = {f.name: f.while_awake for f in self.features if f.while_awake is not None}
        self._listen()

    def _listen(self) -> None:
        """Sort the listeners by event."""
        listeners: dict[str, list[Callable[..., Any]]] = {event: [] for event in EVENTS}
        answered, typed, attributes = [], [], []
        for feature in self.features:
            rows = feature.on or {}
            answered.append((feature.name, {event: rows[event] for event in ANSWERED_EVENTS.keys() & rows.keys()}))
            typed.append((feature.name, {event: rows[event] for event in rows if isinstance(event, tuple)}))
            attributes.append((feature.name, rows.get("tensor attributes", dict)()))
            for event in EVENTS.keys() & rows.keys():
                listeners[event].append(rows[event])
            unknown = [e for e in rows if (e[0] not in TYPED_EVENTS if isinstance(e, tuple) else e not in _UNTYPED)]
            if unknown:
                raise InternalError(f"the feature {feature.name!r} listens to an unknown event: {unknown[0]!r}")
        self.listeners = {event: tuple(found) for event, found in listeners.items()}
        self.answers: dict[Any, Callable[..., Any]] = _joined(answered)
        self.typed: dict[Any, Callable[..., Any]] = _joined(typed)
        self.attributes: dict[str, TensorAttribute] = _joined(attributes)

    def listener(self, event: str, kind: type) -> Callable[..., Any] | None:
        """Return the listener for an event of objects of a type, or of its nearest base with one."""
        for cls in kind.__mro__:
            if (event, cls) in self.typed:
                return self.typed[event, cls]
        return None

    def tell(self, event: str, *args: Any) -> None:
        """Call the listeners of an event (EVENTS of feature.py)."""
        for listener in self.listeners[event]:
            listener(*args)

    @contextmanager
    def around(self, tracer: TracerView) -> Iterator[None]:
        """The contexts that features open around a run."""
        with ExitStack() as stack:
            for context in self.contexts:
                stack.enter_context(context(tracer))
            yield

    def changes(self, tracer: TracerView) -> Sequence[Change]:
        """Return the changes of a finished run that no object of Python's shows."""
        found = self.answers.get("changes")
        return () if found is None else found(tracer)

    @contextmanager
    def ended(self, tracer: TracerView) -> Iterator[None]:
        """Calls the listeners of "ended" when the program has returned or raised."""
        try:
            yield
        except BaseException:
            self.tell("ended", tracer, False)
            raise
        self.tell("ended", tracer, True)

    def rules(self, given: Mapping[int, Step]) -> dict[int, Step]:
        """Return id(callable) → rule, for the modules loaded now: of `given`, and of the features, which replace it."""
        rows = {**given, **_joined((f.name, f.rules()) for f in self.features if f.rules is not None)}
        for wraps in self.wraps:
            rows |= wraps(rows)
        return rows


def _joined(tables: Iterable[tuple[str, Any]]) -> dict[Any, Any]:
    """One table of several. Raises InternalError where two of them have a row for one key."""
    rows: dict[Any, Any] = {}
    for name, table in tables:
        count = len(rows) + len(table)
        rows.update(table)
        if len(rows) != count:
            raise InternalError(f"the feature {name!r} and one before it have a row for one callable, event or type")
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
