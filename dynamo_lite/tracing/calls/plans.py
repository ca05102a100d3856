"""Call plans: how a call is handled in a trace, decided once per callable and run.

A plan is the list of what features do before the call: *steps* `(tracer, fn, args, kwargs) -> answer or NOT_HANDLED`. A
planner of a feature's record (`tracing/feature.py`) looks at a callable and returns its step, or None if the feature
does not handle it. Conditions on the frame, on the arguments or on state are checked by the step, in each call.

Plans are cached by identity, with a reference that shows whether the id is still the callable's own. Cached are those
of functions, of classes and of C callables: such an object does not change its nature. (What may change of a function,
its code and a mark as a constant, is checked in each call.) Those of other objects with a `__call__` are made for each
call. When a feature wakes, all plans are made again.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterable
from types import (
    BuiltinFunctionType,
    FunctionType,
)
from typing import Any, NamedTuple

from dynamo_lite.interpreter import datamodel
from dynamo_lite.interpreter.code.type_flags import is_changeable
from dynamo_lite.tracing import assemble
from dynamo_lite.tracing.assumptions import ordered_calls
from dynamo_lite.tracing.calls import annotations as annotated_calls
from dynamo_lite.tracing.calls import native_calls
from dynamo_lite.tracing.feature import Planner
from dynamo_lite.tracing.heap import call_reads
from dynamo_lite.tracing.interfaces import Step, TracerView
from dynamo_lite.tracing.policy import named_callables
from dynamo_lite.tracing.policy.classify import is_immortal
from dynamo_lite.tracing.sizes import native_arguments
from dynamo_lite.tracing.vocabulary.type_tests import LruCacheWrapper
from dynamo_lite.value_types import C_FUNCTIONS


class Plan(NamedTuple):
    """The steps of a call, in this order.

    callable: returns the callable of this plan, or None if it no longer exists
    before: the steps before the rule
    rule: answers the call, or lets it go on (a Python function at once: it is interpreted)
    after: the steps after the rule
    keywords: a step for calls with keyword arguments
    numbers: the last step, for callables that do not support symbolic sizes
    """

    callable: Callable[[], Any]
    before: tuple[Step, ...]
    rule: Step | None
    after: tuple[Step, ...]
    keywords: Step | None
    numbers: Step | None


class Outline(NamedTuple):
    """The tables' entries for a callable other than a Python function: the part of its plan that never changes.

    journal: replaces `native` after a rule that has judged the rest
    """

    reads: Step | None
    native: Step | None
    journal: Step | None
    keywords: Step | None
    numbers: Step | None


_KEPT = C_FUNCTIONS | {LruCacheWrapper}
_outlines: dict[int, tuple[Any, Outline]] = {}
"""id of a callable → (the callable, so that the id stays its own, its outline)."""


class CallPlans:
    """The plans of one run."""

    def __init__(self, tracer: TracerView) -> None:
        self._tracer = tracer
        self._features = assemble.assembly()
        self._watchers: list[Planner] = []
        self.write_listeners: list[Callable[[TracerView, Any, Any], None]] = []
        self.missing_listeners: list[Callable[[TracerView, Any, str], None]] = []
        self.text_listeners: list[Callable[[TracerView, str], None]] = []
        self.known: dict[int, Plan] = {}
        self.awake: set[str] = set()
        self.skipped: set[int] = set()
        """The ids of the callables that are skipped whatever they are given, while a feature is awake."""

    def wake(self, feature: str) -> None:
        """From now on a feature looks at calls and writes, by its `while_awake`."""
        self.known.clear()
        if feature not in self.awake:
            self.awake.add(feature)
            self.skipped = named_callables.skipped_always(self._features.skipped)
            awake = [row for name, row in self._features.awake.items() if name in self.awake]
            self._watchers = [row.plan for row in awake if row.plan is not None]
            self.write_listeners = [row.on_write for row in awake if row.on_write is not None]
            self.missing_listeners = [row.on_missing for row in awake if row.on_missing is not None]
            self.text_listeners = [row.on_text for row in awake if row.on_text is not None]

    def make(self, fn: Any) -> Plan:
        """The plan of `fn`, kept if it holds for later calls as well."""
        kind = type(fn)
        if kind is FunctionType:
            plan = self._of_function(fn)
            if annotated_calls.MARK not in fn.__dict__:
                self.known[id(fn)] = plan
        else:
            plan = self._of_other(fn, kind)
            if kind in _KEPT or issubclass(kind, type):
                self.known[id(fn)] = plan
        return plan

    def _of_function(self, fn: FunctionType) -> Plan:
        tracer = self._tracer
        reads = call_reads.of_function(tracer, fn)
        before: tuple[Step, ...] = () if reads is None else (reads,)
        before = (*before, *self._features.before.get(id(fn), ()))
        if self._watchers:
            before = (*before, *self._steps(self._watchers, fn))
        rule = tracer.rules.get(id(fn))
        after = () if rule is not None else self._steps(self._features.function_steps, fn)
        numbers = None if reads is None else native_arguments.plan(tracer, fn)
        return Plan(weakref.ref(fn), before, rule, after, None, numbers)

    def _of_other(self, fn: Any, kind: type) -> Plan:
        tracer = self._tracer
        outline = self._outline(fn, kind)
        before: tuple[Step, ...] = () if outline.reads is None else (outline.reads,)
        if tracer.reads.key_orders is not None:
            before = ordered_calls.watched(fn, before)
        before = (*before, *self._features.before.get(id(fn), ()))
        if self._watchers:
            before = (*before, *self._steps(self._watchers, fn))
        rule = tracer.rules.get(id(fn))
        if rule is not None:
            journaled = () if outline.journal is None else (outline.journal,)
            return Plan(_reference(fn, kind), before, rule, journaled, None, outline.numbers)
        after = () if kind in C_FUNCTIONS and not self.awake else self._steps(self._features.c_steps, fn)
        if outline.native is not None:
            after = (*after, outline.native)
        return Plan(_reference(fn, kind), before, None, after, outline.keywords, outline.numbers)

    def _steps(self, planners: Iterable[Planner], fn: Any) -> tuple[Step, ...]:
        tracer, steps = self._tracer, []
        for plan in planners:
            step = plan(tracer, fn)
            if step is not None:
                steps.append(step)
        return tuple(steps)

    def _outline(self, fn: Any, kind: type) -> Outline:
        """Return the tables' entries; cached as in `verdict_of`: for callables that live as long as the process."""
        known = _outlines.get(id(fn))
        if known is not None:
            return known[1]
        if kind not in C_FUNCTIONS and not issubclass(kind, type):
            slot = datamodel.type_lookup(kind, "__call__")
            if type(slot) is FunctionType and is_changeable(kind):
                return _NOTHING  # the call of its `__call__` is the one that counts
        native, journal, keywords = native_calls.plan(fn)
        outline = Outline(call_reads.of_other(fn), native, journal, keywords, native_arguments.plan(self._tracer, fn))
        if is_immortal(fn):
            _outlines[id(fn)] = fn, outline
        return outline


_NOTHING = Outline(None, None, None, None, None)


def _reference(fn: Any, kind: type) -> Callable[[], Any]:
    """Gives `fn` as long as it lives. (A descriptor of a C type, which takes no weak reference, is kept alive.)"""
    if kind in (BuiltinFunctionType, LruCacheWrapper) or issubclass(kind, type):
        return weakref.ref(fn)
    return itertools.repeat(fn).__next__
