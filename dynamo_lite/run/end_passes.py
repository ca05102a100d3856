"""The checks of a run whose program has returned: passes, in the order in which they run.

Those of `while_recording` may run code of the program (functions of registered containers, a tensor that is hashed):
their operators are the program's. Those of RECORDED judge the state after the run: the outputs, the arguments, torch's
switches, attributes, memory, the journaled writes, gradients. Each raises the graph break for its finding, or adds a
note instead if the caller chose so (`effects="drop"`).
"""

from __future__ import annotations

from types import CoroutineType
from typing import Any

import torch

from dynamo_lite.capture import CaptureError
from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.errors import UnsupportedValue
from dynamo_lite.program.trees.containers import leave_references, register_containers
from dynamo_lite.program.trees.outputs import constants_of, flatten_outputs, mark_made
from dynamo_lite.program.trees.paths import flatten
from dynamo_lite.run import copies_or_views, custom_operators
from dynamo_lite.run.finished_run import CallRecord, FinishedRun, lose_effect, lose_gradient
from dynamo_lite.run.twin_arguments import must_be_apart
from dynamo_lite.tracing.assemble import Assembly
from dynamo_lite.tracing.calls.container_functions import ContainerFunctions
from dynamo_lite.tracing.diagnostics import Abort
from dynamo_lite.tracing.effects import classify, escaping_tensors
from dynamo_lite.tracing.effects.rebuilt_arguments import changed_arguments, eager_state
from dynamo_lite.tracing.effects.rebuilt_results import lost_in_result
from dynamo_lite.tracing.feature import Pass
from dynamo_lite.tracing.heap.call_reads import ReferencesInArguments
from dynamo_lite.tracing.strings.deferred_str import UniqueText
from dynamo_lite.tracing.strings.nondeterministic import Unrecordable, refuse_use
from dynamo_lite.tracing.tensors.attributes import TensorWrites
from dynamo_lite.tracing.tensors.side_differences import SideDifferences
from dynamo_lite.tracing.vocabulary import contents
from dynamo_lite.tracing.vocabulary.type_tests import is_array, is_fake, is_tensor

_HIDDEN = (
    "a program has no {} to return that holds a tensor or a size of the call (in a closure, a set, a key, an "
    "iterator). Return tensors and sizes in lists, tuples, dicts and attributes of objects"
)


def _returned(run: FinishedRun, call: CallRecord) -> None:
    run.tracer.features.tell("returned", run, call)


def _result_read(run: FinishedRun, call: CallRecord) -> None:
    """Record that the caller reads the result."""
    run.tracer.reads.parts(call.result, "state")


def _references_in_arguments(run: FinishedRun, call: CallRecord) -> None:
    if run.tracer.sees_python:
        references = run.tracer.own(ReferencesInArguments)
        references.check_proxies(run.tracer.reads.places)
        if references.all:
            leave_references(run.inputs.spec)


def _switches(run: FinishedRun, call: CallRecord) -> None:
    assert call.state is not None
    for name, before, now in call.state.changed():
        lose_effect(run, "setting", name, str(before), str(now), "global-state")


def _taken_apart(run: FinishedRun, call: CallRecord) -> None:
    """The result is flattened while operators are recorded: those of registered functions are the program's."""
    calls = ContainerFunctions(run.tracer, of_results=True)
    known = register_containers({"output": call.result}, calls)
    call.flat = flatten(call.result, calls, known)
    given = {}
    if run.inputs.is_foreign:
        lost = [part for part in run.inputs.restored.lost if part not in run.request.put_back]
        given = eager_state(run.tracer, (call.args, call.kwargs), lost)
    for what, old, new, is_number in lost_in_result(run.recorder, call.result, call.flat, calls, given):
        text = f"{what} is {old} in eager, and {new} in what the program returns"
        if is_number:
            lose_effect(run, "result", what, old, new, "result-state", text)
        else:
            run.tracer.note(text)


def _arguments_compared(run: FinishedRun, call: CallRecord) -> None:
    call.changed = changed_arguments(run.tracer, run.inputs, call.leaves, (call.args, call.kwargs))


def _kinds_of_result(run: FinishedRun, call: CallRecord) -> None:
    for value in contents.containers(call.result):
        if is_array(value):
            raise run.tracer.graph_break("numpy-output")
        for part in (value, *value) if issubclass(type(value), dict) else (value,):
            if issubclass(type(part), (Unrecordable, UniqueText)):
                _refuse_unrecordable(run, part)
    if isinstance(call.result, CoroutineType):
        call.result.close()
        raise run.tracer.graph_break("async-forward", function=call.result.__qualname__)


def _refuse_unrecordable(run: FinishedRun, value: Any) -> None:
    """The program returns a value, or a key, that differs from call to call."""
    try:
        refuse_use(value)
    except Abort as abort:
        raise abort.error from None


def _outputs(run: FinishedRun, call: CallRecord) -> None:
    assert call.flat is not None
    tracer = run.tracer
    try:
        run.outputs = flatten_outputs(run.recorder, call.flat)
    except CaptureError as error:  # a tensor that nothing recorded has made
        raise tracer.refused(error) from error
    tracer.check_outputs([leaf for leaf in run.outputs.leaves if is_tensor(leaf)])
    hidden = escaping_tensors.first_holder(tracer, constants_of(call.flat))
    if hidden is not None:
        raise UnsupportedValue(hidden[0], _HIDDEN.format(type(hidden[1]).__qualname__))
    mark_made(run.outputs.spec, lambda value: id(value) in tracer.heap.new_among((value,)))


def _inference_tensors(run: FinishedRun, call: CallRecord) -> None:
    """A caller of eager can neither save for backward nor change what forward has made in inference mode. (Where the
    caller is in that mode, and for views of inference tensors that were passed in, the program returns the same.)"""
    if torch.is_inference_mode_enabled():
        return
    found = [leaf for leaf in run.outputs.leaves if is_fake(leaf) and leaf.is_inference()]
    outside = set(map(storage_key, run.recorder.from_outside())) if found else set()
    if any(storage_key(leaf) not in outside for leaf in found):
        text = "outputs that forward makes in torch.inference_mode are inference tensors in eager, not in the program"
        lose_gradient(run, run.tracer.graph_break("inference-output", run.tracer.own(TensorWrites).inference), text)


def _features_on_outputs(run: FinishedRun, call: CallRecord) -> None:
    run.tracer.features.tell("outputs", run, call)


def _one_for_two(run: FinishedRun, call: CallRecord) -> None:
    """A container that is passed twice is two in the program."""
    run.must_not_alias = must_be_apart(run.tracer, run.inputs, (call.args, call.kwargs))


def _arguments(run: FinishedRun, call: CallRecord) -> None:
    """Check that the passed containers have their original contents, or are returned (so that nothing is lost)."""
    for name in call.changed:
        if contents.is_within((call.args, call.kwargs), run.inputs.arg_names, name, call.result):
            what = f"the argument {name} is changed and returned"
            _tell_apart(run, f"{what}; the caller's own stays as it was", "changed-and-returned", what)
        else:
            target = f"the argument {name}"
            lose_effect(run, "argument", target, "its content", "another content", "input-container")


def _features_on_comparison(run: FinishedRun, call: CallRecord) -> None:
    run.tracer.features.tell("compared", run, call)


def _copies_or_views(run: FinishedRun, call: CallRecord) -> None:
    results = [leaf for leaf in run.outputs.leaves if isinstance(leaf, torch.Tensor)]
    copies_or_views.check(run.recorder, results)
    differences = run.tracer.own(SideDifferences)
    if not differences.laid_out:
        return
    mark = copies_or_views.depends_on_side(run.recorder, differences.laid_out, differences.contiguous, results)
    if mark is not None:
        why = "reshape() or contiguous() of its result is a view or a copy, as the side goes, and that is visible"
        raise run.tracer.graph_break("branch-unsupported", mark, why=why)
    mark = copies_or_views.drawn_by_side(run.recorder, differences.laid_out)
    if mark is not None:
        why = "random numbers are drawn in the memory order of its result, and the sides give it different strides"
        raise run.tracer.graph_break("branch-unsupported", mark, why=why)


def _custom_operators(run: FinishedRun, call: CallRecord) -> None:
    """Check that the program reads no state that an operator written in Python changes."""
    if run.tracer.sees_python:
        custom_operators.check(run.tracer)


def _results_of_branches(run: FinishedRun, call: CallRecord) -> None:
    """A result that is an input, a parameter or another result in eager, as a branch on data went, is its own here."""
    may_share = run.recorder.may_share
    if may_share is None:
        return
    tensors = {i: leaf for i, leaf in enumerate(run.outputs.leaves) if isinstance(leaf, torch.Tensor)}
    outside = set(map(storage_key, run.recorder.from_outside()))
    for index, tensor in tensors.items():
        leaf = run.recorder.known_fake(tensor)
        if may_share.others(leaf) & outside:
            what = f"output {index} may be an input, a parameter or a buffer (or a view of one)"
        elif twin := [i for i, other in tensors.items() if i < index and may_share.may_be(leaf, other)]:
            what = f"output {index} and output {twin[0]} may be one tensor"
        else:
            continue
        text = f"{what} in eager, as a branch on data goes; the program's has memory of its own"
        _tell_apart(run, text, "copied-result", what)


def _writes(run: FinishedRun, call: CallRecord) -> None:
    emptied = run.tracer.reads.emptied
    for value in contents.containers(call.result) if emptied else ():
        emptied.pop(id(value), None)  # the next call empties it in the caller's hands
    run.effects = classify.classify(run.tracer)
    for change in run.tracer.features.changes(run.tracer):
        (run.effects.dropped if change.new.is_scratch else run.effects.pending).append(change)
    run.allocated = run.effects.new_ids
    run.tracer.features.tell("judged", run, call)


def _tell_apart(run: FinishedRun, text: str, id: str, what: str) -> None:
    """Note a result that differs from eager's in its identity, or refuse it if the caller chose so."""
    if run.request.exact and not run.tracer.lets_pass(text):
        raise run.tracer.graph_break(id, what=what)
    run.tracer.note(text)


_FIRST: tuple[Pass, ...] = (
    _returned,
    _references_in_arguments,
    _result_read,
    _switches,
)
_THEN: tuple[Pass, ...] = (_taken_apart, _arguments_compared)


def while_recording(features: Assembly) -> tuple[Pass, ...]:
    """The passes of a run whose operators are still recorded."""
    return (*_FIRST, *features.before_end, *_THEN)


RECORDED: tuple[Pass, ...] = (
    _kinds_of_result,
    _outputs,
    _inference_tensors,
    _features_on_outputs,
    _one_for_two,
    _arguments,
    _features_on_comparison,
    _copies_or_views,
    _custom_operators,
    _results_of_branches,
    _writes,
)
