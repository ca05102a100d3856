"""The questions that the recorder asks about an operator, in order.

Most apply to few operators. `questions_of` selects those that apply to one operator, once (operator_facts.py), so that
the recorder asks an ordinary one none. A question that has the result of the call gives it; the others give UNANSWERED.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import torch

from dynamo_lite.capture import in_place_checks
from dynamo_lite.capture.fakes import static_cache
from dynamo_lite.capture.kernels import collectives
from dynamo_lite.capture.same_values import are_all_equal

if TYPE_CHECKING:
    from dynamo_lite.capture._torch import OpOverload
    from dynamo_lite.capture.operator_facts import OperatorFacts
    from dynamo_lite.capture.recorder import Recorder

UNANSWERED: Final[Any] = object()


@dataclass(slots=True, eq=False)
class OperatorCall:
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


def _lifted(recorder: Recorder, facts: OperatorFacts, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    return recorder.lift_fresh(args[0])


def _drawn(recorder: Recorder, facts: OperatorFacts, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The numbers of a generator that the program made itself."""
    if kwargs.get("generator") is None:
        return UNANSWERED
    drawn = recorder.context.drawn(facts.func, args, kwargs)
    return UNANSWERED if drawn is None else drawn


def _without_generator(recorder: Recorder, facts: OperatorFacts, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    if kwargs.get("generator") is not None or not has_symbols(args):
        return UNANSWERED
    others = {name: value for name, value in kwargs.items() if name != "generator"}
    assert facts.without_generator is not None
    return recorder.operator(facts.without_generator, args, others)


def has_symbols(args: Sequence[Any]) -> bool:
    """Whether a size that varies is among the arguments of an operator, or in a list of them."""
    return any(type(a) is torch.SymInt or (isinstance(a, (list, tuple)) and has_symbols(a)) for a in args)


# -- What answers without a run --------------------------------------------------------------------------------------


def _check_collective(recorder: Recorder, call: OperatorCall) -> Any:
    collectives.check(call.func, call.args)
    return UNANSWERED


def _constant(recorder: Recorder, call: OperatorCall) -> Any:
    known = recorder.constant_values.answer(call.func, call.args)
    if known is not None:
        return known
    if recorder.env is not None and are_all_equal(recorder, call.func, call.args, recorder.env.unwrap):
        return True
    return UNANSWERED


# -- What is checked before the run ----------------------------------------------------------------------------------


def _before_writes(recorder: Recorder, call: OperatorCall) -> None:
    call.to_carry = recorder.before_writes(call.func, call.args, call.kwargs)


def _check_statistics(recorder: Recorder, call: OperatorCall) -> None:
    in_place_checks.check_statistics(recorder.levels, call.args)


def _check_mutation(recorder: Recorder, call: OperatorCall) -> None:
    if call.remembers:
        static_cache.check_mutation(call.func, call.args, call.kwargs)


def _errors_of_memory(recorder: Recorder, call: OperatorCall) -> None:
    """Before the run, which makes too small a memory larger."""
    if recorder.context.in_handler():
        recorder.raise_withheld(call.func, call.args, call.kwargs, False)


# -- What follows from the result ------------------------------------------------------------------------------------


def _check_shapes(recorder: Recorder, call: OperatorCall, out: Any) -> Any:
    recorder.check_shapes(call)
    return UNANSWERED


def _asked(recorder: Recorder, call: OperatorCall, out: Any) -> Any:
    question = call.facts.question
    assert question is not None
    recorder.layout.asked.add(question)
    return out


def _unrecorded(recorder: Recorder, call: OperatorCall, out: Any) -> Any:
    return out


def _may_be_view(recorder: Recorder, call: OperatorCall, out: Any) -> Any:
    recorder.layout.may_be_view(call.args[0], out)
    return UNANSWERED


def _assert_metadata(recorder: Recorder, call: OperatorCall, out: Any) -> Any:
    """torch.export writes down what `.to` took for granted (_insert_aten_to_metadata_assert_pass)."""
    tensor = call.args[0]
    recorder.layout.may_convert(tensor, out, call.kwargs)
    expected = {"dtype": tensor.dtype, "device": tensor.device, "layout": tensor.layout}
    recorder.record(torch.ops.aten._assert_tensor_metadata.default, (call.node_args[0],), expected, None)
    return UNANSWERED


# -- The tables ------------------------------------------------------------------------------------------------------

Applies = Callable[["OperatorFacts"], bool]
Instead = Callable[["Recorder", "OperatorFacts", Sequence[Any], dict[str, Any]], Any]
Answer = Callable[["Recorder", OperatorCall], Any]
Check = Callable[["Recorder", OperatorCall], None]
Result = Callable[["Recorder", OperatorCall, Any], Any]

INSTEAD: Final[tuple[tuple[Applies, Instead], ...]] = (
    (lambda facts: facts.lifts_fresh, _lifted),
    (lambda facts: takes_generator(facts.func), _drawn),
    (lambda facts: facts.without_generator is not None, _without_generator),
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
