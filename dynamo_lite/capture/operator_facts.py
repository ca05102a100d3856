"""The facts about operators that the recorder needs, looked up once, and its questions about a call of one.

A record for each operator, by identity: an OpOverload has a `__hash__` in Python, so each look-up in a table keyed by
operators costs a call. Most questions apply to few operators. The record has those that apply to its operator, in
order, so that the recorder asks an ordinary one none. A question that has the result of the call gives it; the others
give UNANSWERED.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import torch

from dynamo_lite.capture import in_place_checks, layout_sources
from dynamo_lite.capture._torch import OpOverload
from dynamo_lite.capture.constant_values import READS_DATA
from dynamo_lite.capture.fakes import static_cache
from dynamo_lite.capture.in_place_checks import may_reshape
from dynamo_lite.capture.interfaces import OperatorRecording
from dynamo_lite.capture.kernels import collectives, composites, data_errors, known_sizes
from dynamo_lite.capture.kernels.eager_errors import SEES_MEMORY
from dynamo_lite.capture.kernels.layout_questions import ANSWERED, COPIES_OR_VIEWS, FAILS_BY_LAYOUT
from dynamo_lite.capture.operator_rules.table import ELEMENTWISE, IN_PLACE, VIEWS

aten = torch.ops.aten
_STATISTICS = frozenset({aten.batch_norm.default, aten.instance_norm.default})
_NOT_RECORDED = frozenset({torch.ops.prim.device.default})
_METADATA_ASSERTED = frozenset({aten.to.device, aten.to.dtype, aten.to.dtype_layout})


class OperatorFacts:
    """The properties of one operator, which is kept alive.

    is_mutable, returns: by its schema
    lifts_fresh, detaches: it is lift_fresh, or detach
    by_parts: it is recorded by the operators that it consists of
    is_collective: collectives.check applies to it
    reads_data: it turns data into a Python number
    keeps_statistics: it changes statistics that its schema does not name
    reshapes: it may give a tensor that it changes another shape
    changes_elements: there is a rule for its change in place
    is_unrecorded: it leaves no node
    question: the layout property that it reads, if it returns a number
    asks_contiguity: whether its result is a view depends on its argument's layout
    asserts_metadata: torch.export records its assumptions as assertions
    has_no_kernel: it makes a view; if a rule or the cache has its result, eager succeeds as well
    sizes_by_data: the sizes of its results depend on data
    is_elementwise: its kernel raises nothing that depends on the sizes, if they fit
    sees_memory: its errors depend on memory besides the elements of its arguments
    fails_by_layout: its errors depend on the strides of its arguments
    may_raise: the errors that the data may raise (data_errors.TABLE)
    without_generator: the same operator without the argument `generator`, if it is one of two
    instead, answers, checks, results: the questions that the recorder asks of it
    """

    __slots__ = (
        *("func", "is_mutable", "returns", "lifts_fresh", "detaches", "by_parts", "is_collective", "reads_data"),
        *("keeps_statistics", "reshapes", "changes_elements", "is_unrecorded", "question", "asks_contiguity"),
        *("asserts_metadata", "has_no_kernel", "is_elementwise", "may_raise", "sees_memory", "fails_by_layout"),
        "sizes_by_data",
        *("without_generator", "instead", "answers", "checks", "results"),
    )

    def __init__(self, func: OpOverload) -> None:
        self.func: OpOverload = func
        self.is_mutable: bool = bool(func._schema.is_mutable)
        self.returns: bool = bool(func._schema.returns)
        self.lifts_fresh: bool = func is aten.lift_fresh.default
        self.detaches: bool = func is aten.detach.default
        self.by_parts: bool = func in composites.BY_PARTS
        self.is_collective: bool = collectives.concerns(func)
        self.reads_data: bool = func in READS_DATA
        self.keeps_statistics: bool = func in _STATISTICS
        self.reshapes: bool = self.is_mutable and may_reshape(func)
        self.changes_elements: bool = func in IN_PLACE
        self.is_unrecorded: bool = func in _NOT_RECORDED
        self.question: str | None = ANSWERED.get(func)
        self.asks_contiguity: bool = func in COPIES_OR_VIEWS
        self.asserts_metadata: bool = func in _METADATA_ASSERTED
        self.has_no_kernel: bool = func in VIEWS
        self.sizes_by_data: bool = known_sizes.concerns(func)
        self.is_elementwise: bool = func in ELEMENTWISE
        self.sees_memory: bool = id(func) in SEES_MEMORY
        self.fails_by_layout: bool = func in FAILS_BY_LAYOUT
        self.may_raise: data_errors.MayRaise | None = data_errors.TABLE[func._overloadpacket._qualified_op_name]
        self.without_generator: OpOverload | None = _without_generator(func)
        self.instead: tuple[Instead, ...] = questions_of(self, INSTEAD)
        self.answers: tuple[Answer, ...] = questions_of(self, ANSWERS)
        self.checks: tuple[Check, ...] = questions_of(self, CHECKS)
        self.results: tuple[Result, ...] = questions_of(self, RESULTS)


def _without_generator(func: OpOverload) -> OpOverload | None:
    """`randn` for `randn.generator`, which has no kernel for sizes that vary (torch 2.13)."""
    if "generator" not in func._overloadname:
        return None
    wanted = [(a.name, str(a.type)) for a in func._schema.arguments if a.name != "generator"]
    packet = func._overloadpacket
    others = (getattr(packet, name) for name in packet.overloads())
    return next((o for o in others if [(a.name, str(a.type)) for a in o._schema.arguments] == wanted), None)


KNOWN: Final[dict[int, OperatorFacts]] = {}
"""By the id of the operator."""


def facts_of(func: OpOverload) -> OperatorFacts:
    """The record of an operator."""
    facts = KNOWN.get(id(func))
    if facts is None:
        facts = KNOWN[id(func)] = OperatorFacts(func)
    return facts


UNANSWERED: Final[Any] = object()


@dataclass(slots=True, eq=False)
class RecordedCall:
    """A call of an operator on fake tensors.

    node_args, node_kwargs: the arguments of its node, made before it runs, since it may rebind its arguments
    has_wrappers: whether tensors of a wrapper subclass are among the arguments
    remembers: whether its result may come from a cache
    is_known: whether the result was known without running it
    to_carry: the calls to make once it has changed its operands
    """

    func: OpOverload
    facts: OperatorFacts
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    has_wrappers: bool
    remembers: bool
    node_args: tuple[Any, ...] = ()
    node_kwargs: dict[str, Any] = field(default_factory=dict)
    is_known: bool = False
    to_carry: Sequence[Callable[[], None]] = ()


# -- What is recorded instead ----------------------------------------------------------------------------------------


def _lifted(recorder: OperatorRecording, facts: OperatorFacts, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    return recorder.lift_fresh(args[0])


def _drawn(recorder: OperatorRecording, facts: OperatorFacts, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The numbers of a generator that the program made itself."""
    if kwargs.get("generator") is None:
        return UNANSWERED
    drawn = recorder.context.drawn(facts.func, args, kwargs)
    return UNANSWERED if drawn is None else drawn


def _default_generator(
    recorder: OperatorRecording, facts: OperatorFacts, args: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    if kwargs.get("generator") is not None or not has_symbols(args):
        return UNANSWERED
    others = {name: value for name, value in kwargs.items() if name != "generator"}
    assert facts.without_generator is not None
    return recorder.operator(facts.without_generator, args, others)


def has_symbols(args: Sequence[Any]) -> bool:
    """Whether a size that varies is among the arguments of an operator, or in a list of them."""
    return any(type(a) is torch.SymInt or (isinstance(a, (list, tuple)) and has_symbols(a)) for a in args)


# -- What answers without a run --------------------------------------------------------------------------------------


def _check_collective(recorder: OperatorRecording, call: RecordedCall) -> Any:
    collectives.check(call.func, call.args)
    return UNANSWERED


def _constant(recorder: OperatorRecording, call: RecordedCall) -> Any:
    known = recorder.constant_values.answer(call.func, call.args)
    if known is not None:
        return known
    return True if recorder.compares_equal(call.func, call.args) else UNANSWERED


# -- What is checked before the run ----------------------------------------------------------------------------------


def _before_writes(recorder: OperatorRecording, call: RecordedCall) -> None:
    call.to_carry = recorder.before_writes(call.func, call.args, call.kwargs)


def _check_statistics(recorder: OperatorRecording, call: RecordedCall) -> None:
    in_place_checks.check_statistics(recorder, recorder.levels, call.func, call.args)


def _check_mutation(recorder: OperatorRecording, call: RecordedCall) -> None:
    if call.remembers:
        static_cache.check_mutation(call.func, call.args, call.kwargs)


def _errors_of_memory(recorder: OperatorRecording, call: RecordedCall) -> None:
    """Before the run, which makes too small a memory larger."""
    if recorder.context.in_handler():
        recorder.raise_withheld(call.func, call.args, call.kwargs, False)


# -- What follows from the result ------------------------------------------------------------------------------------


def _check_shapes(recorder: OperatorRecording, call: RecordedCall, out: Any) -> Any:
    recorder.check_shapes(call.func, call.args, call.kwargs)
    return UNANSWERED


def _asked(recorder: OperatorRecording, call: RecordedCall, out: Any) -> Any:
    question = call.facts.question
    assert question is not None
    layout_sources.ask(recorder, question, call.args[0])
    return out


def _note_sizes(recorder: OperatorRecording, call: RecordedCall, out: Any) -> Any:
    known_sizes.note(recorder, call.func, call.args, call.kwargs, out)
    return UNANSWERED


def _unrecorded(recorder: OperatorRecording, call: RecordedCall, out: Any) -> Any:
    return out


def _may_be_view(recorder: OperatorRecording, call: RecordedCall, out: Any) -> Any:
    recorder.layout.may_be_view(call.args[0], out)
    return UNANSWERED


def _assert_metadata(recorder: OperatorRecording, call: RecordedCall, out: Any) -> Any:
    """torch.export writes down what `.to` took for granted (_insert_aten_to_metadata_assert_pass)."""
    tensor = call.args[0]
    recorder.layout.may_convert(tensor, out, call.kwargs)
    expected = {"dtype": tensor.dtype, "device": tensor.device, "layout": tensor.layout}
    recorder.record(torch.ops.aten._assert_tensor_metadata.default, (call.node_args[0],), expected, None)
    return UNANSWERED


# -- The tables ------------------------------------------------------------------------------------------------------

Applies = Callable[["OperatorFacts"], bool]
Instead = Callable[[OperatorRecording, "OperatorFacts", Sequence[Any], dict[str, Any]], Any]
Answer = Callable[[OperatorRecording, RecordedCall], Any]
Check = Callable[[OperatorRecording, RecordedCall], None]
Result = Callable[[OperatorRecording, RecordedCall, Any], Any]

INSTEAD: Final[tuple[tuple[Applies, Instead], ...]] = (
    (lambda facts: facts.lifts_fresh, _lifted),
    (lambda facts: takes_generator(facts.func), _drawn),
    (lambda facts: facts.without_generator is not None, _default_generator),
)
ANSWERS: Final[tuple[tuple[Applies, Answer], ...]] = (
    (lambda facts: facts.is_collective, _check_collective),
    (lambda facts: facts.reads_data, _constant),
)
CHECKS: Final[tuple[tuple[Applies, Check], ...]] = (
    (lambda facts: facts.is_mutable, _before_writes),
    (lambda facts: facts.keeps_statistics and not facts.is_mutable, _check_statistics),
    (lambda facts: facts.is_mutable, _check_mutation),
    (lambda facts: facts.sees_memory, _errors_of_memory),
)
RESULTS: Final[tuple[tuple[Applies, Result], ...]] = (
    (lambda facts: facts.reshapes, _check_shapes),
    (lambda facts: facts.sizes_by_data, _note_sizes),
    (lambda facts: facts.question is not None, _asked),
    (lambda facts: facts.is_unrecorded, _unrecorded),
    (lambda facts: facts.asks_contiguity, _may_be_view),
    (lambda facts: facts.asserts_metadata, _assert_metadata),
)


def takes_generator(func: OpOverload) -> bool:
    """Whether the operator has an argument `generator`."""
    return any(argument.name == "generator" for argument in func._schema.arguments)


def questions_of(facts: OperatorFacts, table: Sequence[tuple[Applies, Any]]) -> tuple[Any, ...]:
    """The questions of one table that apply to an operator, in order."""
    return tuple(question for applies, question in table if applies(facts))
