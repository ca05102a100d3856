"""The record of a feature: everything in which it takes part during an export, in one value.

A feature is a folder of `dynamo_lite/features` whose file `feature.py` has `FEATURE`, an instance of `Feature`, or one
file that has it. That is all there is of it: the engine (`dynamo_lite/tracing`, `dynamo_lite/run`) imports no feature.
`assemble.py` joins the records for the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dynamo_lite.tracing.feature_state import FeatureState
from dynamo_lite.tracing.heap.journal import Change
from dynamo_lite.tracing.interfaces import Reader, Step, TracerView

Planner = Callable[[TracerView, Any], "Step | None"]
"""(tracer, fn) → the step of the call plan of `fn`, or None where the feature does not take part in its calls."""

AfterCall = Callable[[TracerView, Any, tuple[Any, ...], dict[str, Any], Any], Any]
"""(tracer, fn, args, kwargs, result) → the result that the program sees."""

Changes = Callable[[TracerView], Sequence[Change]]
"""The changes of a run whose program has returned that no object of Python's shows, and that a later call may see."""

Pass = Callable[[Any, Any], None]
"""(run, call): a check of a run whose program has returned: a `FinishedRun`, a `CallRecord` (run/finished_run.py)."""


class TensorAttribute(NamedTuple):
    """Who answers the reads and takes the writes of one attribute of tensors. A writer gets DELETED for `del`."""

    read: Callable[[TracerView, Any], Any]
    write: Callable[[TracerView, Any, Any], None]


class NamedRules(NamedTuple):
    """Rules of callables that are known by name, so that no module is imported for their sake.

    names: "module:qualified.name" of each
    rule: makes the rule of one of them, of its name with dots
    is_skipped: a call has no effect and no result, whatever it is given
    """

    names: tuple[str, ...]
    rule: Callable[[str], Step]
    is_skipped: bool = False


@dataclass(frozen=True)
class Feature:
    """One feature. Each field but `name` may be left out.

    Attributes:
        name: the name of its folder or file.
        needs: the features whose files its own may import.
        state: the classes of its state during a run (feature_state.py).
        rules: id(callable) → rule, for callables that exist when a run begins; called once for each run.
        named: rules of callables by name.
        function_steps: planners for Python functions without a rule.
        c_steps: planners for other callables without a rule.
        after: id(callable) → what becomes of the result of a call that has run natively.
        reads: type → who answers reads of the attributes of its instances.
        tensor_attributes: name of an attribute of tensors → who answers for it, where Python is interpreted.
        changes: the changes that no object of Python's shows (the `.grad` of a parameter).
        end: called when the program has returned, or raised (False), while operators are still recorded.
        before_end: passes over a finished run, while operators are still recorded.
        guards: adds guards to the walk (tracing/assumptions/walk.py) of a run that is over.
        refusals: the ids of the graph breaks that it raises (tracing/vocabulary/refusals.py).
    """

    name: str
    needs: tuple[str, ...] = ()
    state: tuple[type[FeatureState], ...] = ()
    rules: Callable[[], Mapping[int, Step]] | None = None
    named: tuple[NamedRules, ...] = ()
    function_steps: tuple[Planner, ...] = ()
    c_steps: tuple[Planner, ...] = ()
    after: Callable[[], Mapping[int, AfterCall]] | None = None
    reads: Mapping[type, Reader] | None = None
    tensor_attributes: Mapping[str, TensorAttribute] | None = None
    changes: Changes | None = None
    end: Callable[[TracerView, bool], None] | None = None
    before_end: tuple[Pass, ...] = ()
    guards: Callable[[Any, TracerView], None] | None = None
    refusals: tuple[str, ...] = ()
