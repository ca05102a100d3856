"""The record of a feature: everything in which it takes part during an export, in one value.

A feature is a folder of `dynamo_lite/features` whose file `feature.py` has `FEATURE`, an instance of `Feature`, or one
file that has it. That is all there is of it: the engine (`dynamo_lite/tracing`, `dynamo_lite/run`) imports no feature.
`assemble.py` joins the records for the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple

from dynamo_lite.tracing.feature_state import FeatureState
from dynamo_lite.tracing.interfaces import Step, TracerView

Planner = Callable[[TracerView, Any], "Step | None"]
"""(tracer, fn) → the step of the call plan of `fn`, or None where the feature does not take part in its calls."""

AfterCall = Callable[[TracerView, Any, tuple[Any, ...], dict[str, Any], Any], Any]
"""(tracer, fn, args, kwargs, result) → the result that the program sees."""

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


class WhileAwake(NamedTuple):
    """The part of a feature that takes part in a run only from `CallPlans.wake` on.

    plan: looks at every callable, if it is given
    on_write: (tracer, owner, value): called before every write
    on_missing: (tracer, owner, name): called when an attribute is not in the object or its class
    on_text: (tracer, text): called with every text that an f-string or str.format makes
    """

    plan: Planner | None = None
    on_write: Callable[[TracerView, Any, Any], None] | None = None
    on_missing: Callable[[TracerView, Any, str], None] | None = None
    on_text: Callable[[TracerView, str], None] | None = None


Event = str | tuple[str, type]

EVENTS: Mapping[str, str] = {
    "declared": "(run): a run in which sizes vary is about to begin",
    "inputs": "(inputs, fakes): the fake tensors in place of the input leaves have been made",
    "fork": "(tracer): a side of a branch or an iteration is run, and undone afterwards; also at its end",
    "caught": "(tracer, error): the program handles an exception",
    "ended": "(tracer, has_returned): the program has returned or raised; operators are still recorded",
    "left": "(tracer): the program has returned; what it has dropped, the journal still holds",
    "raised": "(tracer, error): the program has ended by an exception",
    "returned": "(run, call): the program has returned; the first pass, operators are still recorded",
    "outputs": "(run, call): the outputs of the graph are known",
    "compared": "(run, call): the outputs are known, and the arguments have been compared with those before the call",
    "judged": "(run, call): the effects of the run are known; the heap is as the program has left it",
    "later": "(run, later): another run, of the tracer `later`, has begun with the state that this one leaves",
    "differs": "(run, error): a second trace, from the state after the run, is another; a listener may raise RunAgain",
    "late import": "(tracer): C++ imports a module of torch's, which must not see torch as the run has prepared it",
}
"""Event → parameters and meaning. Any number of features may listen."""

ANSWERED_EVENTS: Mapping[str, str] = {
    "text": "(tracer, text) → the text that the program sees, of one that an instruction has made",
    "size in text": "(tracer, size, depth) → whether a size is formatted for a text that is not read yet, by the code "
    "`depth` frames out",
    "number in text": "(tracer, node) → a number in place of one known at run time only, for such a text; or None",
    "truth": "(tracer, value) → what stands for the truth of a value that decides a jump, or NOT_HANDLED",
    "equal": "(tracer, left, right, wanted) → `left == right` (`!=` if not `wanted`), or NOT_HANDLED",
    "dict key": "(key) → the key that a dict stores",
    "converted": "(tracer, name, size) → the number that C code takes from the method `name`, of a symbolic size",
    "failed": "(tracer, fn, args, kwargs, error) → the result of a call whose rule has raised, or NOT_HANDLED",
    "undecided": "(tracer, question) → the graph break of a question about sizes that depends on data",
    "identity of numbers": "(left, right) → `left is right` in eager, of two of which one is a symbolic size",
    "identity": "(tracer, left, right) → `left is right` in eager, of two objects",
    "specialized": "(tracer, expression, value): the program fixes a size (`Client.specialized`)",
    "drawn": "(tracer, operator, args, kwargs) → the result of an operator that is given a torch.Generator; or None",
    "changes": "(tracer) → the changes of a run that no object of Python's shows, and that a later call may see",
    "tensor attributes": "() → name → `TensorAttribute`, of the attributes of tensors that it answers for; asked once",
    "unrecordable": "(tracer, name, fn, args, kwargs) → the result of a function that differs from call to call",
}
"""Event → parameters, answer and meaning. One feature may listen."""

TYPED_EVENTS: Mapping[str, str] = {
    "attribute": "(tracer, owner, name, value) → the value that the program sees, or NOT_HANDLED to continue",
    "write": "(tracer, owner, name, value) → whether a feature keeps the value: an attribute is written",
    "item": "(tracer, owner, key): the program reads `owner[key]`",
    "items": "(tracer, owner, None): the program iterates over `owner`",
    "key": "(tracer, owner, key): the program asks whether `key in owner`",
}
"""Event of an object → parameters and meaning. The key of `Feature.on` is (event, type of the object); listeners for
"attribute" and "write" get the subclasses as well."""


@dataclass(frozen=True)
class Feature:
    """One feature. Each field but `name` may be left out.

    Attributes:
        name: the name of its folder or file.
        needs: the features whose files its own may import.
        state: the classes of its state during a run (feature_state.py).
        rules: id(callable) → rule, for callables that exist when a run begins; called once for each run.
        wraps: rules that take the place of others: of the table of all rules, those that replace some of it.
        named: rules of callables by name.
        function_steps: planners for Python functions without a rule.
        c_steps: planners for other callables without a rule.
        after: id(callable) → what becomes of the result of a call that has run natively.
        before: id(callable) → steps before its rule, for callables that live as long as the process.
        on: event → listener (EVENTS, ANSWERED_EVENTS, TYPED_EVENTS).
        around: a context that a run is within, from before the program is called until its operators are recorded.
        while_awake: the part that takes part from `CallPlans.wake` of the feature's name on.
        before_end: passes over a finished run, while operators are still recorded.
        guards: adds guards to the walk (tracing/assumptions/walk.py) of a run that is over.
        graph_breaks: the ids of the graph breaks that it raises (tracing/vocabulary/graph_breaks.py).
    """

    name: str
    needs: tuple[str, ...] = ()
    state: tuple[type[FeatureState], ...] = ()
    rules: Callable[[], Mapping[int, Step]] | None = None
    wraps: Callable[[dict[int, Step]], Mapping[int, Step]] | None = None
    named: tuple[NamedRules, ...] = ()
    function_steps: tuple[Planner, ...] = ()
    c_steps: tuple[Planner, ...] = ()
    after: Callable[[], Mapping[int, AfterCall]] | None = None
    before: Mapping[int, tuple[Step, ...]] | None = None
    on: Mapping[Event, Callable[..., Any]] | None = None
    around: Callable[[TracerView], AbstractContextManager[None]] | None = None
    while_awake: WhileAwake | None = None
    before_end: tuple[Pass, ...] = ()
    guards: Callable[[Any, TracerView], None] | None = None
    graph_breaks: tuple[str, ...] = ()
