"""The checks of a run whose program has returned: passes, in the order in which they run.

Those of WHILE_RECORDING may run code of the program (functions of registered containers, a tensor that is hashed):
their operators are the program's. Those of RECORDED judge what the run left: the outputs, the arguments, torch's
switches, attributes, memory, the journaled writes, gradients. Each raises the refusal of what it finds, or lets it go
with a note where the caller said so (`effects="drop"`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import CoroutineType
from typing import Any, Protocol

import torch

from dynamo_lite.capture import CaptureError
from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.recorder import Recorder
from dynamo_lite.errors import DynamoLiteError, UnsupportedValue
from dynamo_lite.program import FlatInputs
from dynamo_lite.program.effect_record import Effect, Verdict
from dynamo_lite.program.shapes.size_check import WITHOUT_GRADIENTS, ambiguous
from dynamo_lite.program.trees.containers import leave_references, register_containers
from dynamo_lite.program.trees.outputs import FlatOutputs, constants_of, flatten_outputs, mark_made
from dynamo_lite.program.trees.paths import Flat, flatten
from dynamo_lite.program.trees.twins import Path
from dynamo_lite.run import copies_or_views, custom_operators, dying_objects, made_leaves
from dynamo_lite.run.request import RunRequest
from dynamo_lite.run.twin_arguments import must_be_apart
from dynamo_lite.torch_internals._torch_pytree import keystr
from dynamo_lite.tracing.calls.container_functions import ContainerFunctions
from dynamo_lite.tracing.calls.context_values import ContextValues
from dynamo_lite.tracing.diagnostics import Abort
from dynamo_lite.tracing.effects import classify, descriptions, escaping_tensors, kept_operands, requires_grad
from dynamo_lite.tracing.effects.rebuilt_arguments import changed_arguments, eager_state
from dynamo_lite.tracing.effects.rebuilt_results import lost_in_result
from dynamo_lite.tracing.heap.call_reads import ReferencesInArguments
from dynamo_lite.tracing.higher_order import backward
from dynamo_lite.tracing.higher_order.autograd import SavedRegions
from dynamo_lite.tracing.higher_order.backward import Backwards
from dynamo_lite.tracing.strings import addresses, deferred_str
from dynamo_lite.tracing.strings.deferred_str import UniqueText, UnreadText
from dynamo_lite.tracing.strings.listeners import Listeners
from dynamo_lite.tracing.strings.nondeterministic import Unrecordable, refuse_use
from dynamo_lite.tracing.tensors import hashing, numpy_arrays, shared_memory, toggled_flags
from dynamo_lite.tracing.tensors.attributes import TensorWrites
from dynamo_lite.tracing.tensors.input_guards import InputGuards
from dynamo_lite.tracing.tensors.unlike_sides import UnlikeSides
from dynamo_lite.tracing.tracer import Tracer
from dynamo_lite.tracing.vocabulary import contents
from dynamo_lite.tracing.vocabulary.process_state import TorchState
from dynamo_lite.tracing.vocabulary.program_points import frames_at
from dynamo_lite.tracing.vocabulary.type_tests import is_fake, is_tensor

_HIDDEN = (
    "a program has no {} to return that holds a tensor or a size of the call (in a closure, a set, a key, an "
    "iterator). Return tensors and sizes in lists, tuples, dicts and attributes of objects"
)


class FinishedRun(Protocol):
    """What the passes see of a run (run.py), and what they leave on it."""

    request: RunRequest
    tracer: Tracer
    recorder: Recorder
    inputs: FlatInputs
    outputs: FlatOutputs
    effects: descriptions.Effects
    made: set[int]
    lost: list[Effect]
    refused_effects: list[DynamoLiteError]
    apart: tuple[tuple[Path, Path], ...] | None


@dataclass
class CallRecord:
    """One call of the program: its arguments with stand-ins in the tensors' places, and what came of it."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    leaves: list[Any]
    result: Any = None
    hashed: Any = None  # what hashing.watched gave at the start
    state: TorchState | None = None  # torch's switches at the start
    flat: Flat | None = None  # the result, taken apart
    changed: list[str] = field(default_factory=list)  # the arguments whose containers hold something else


def _tensors_hashed(run: FinishedRun, call: CallRecord) -> None:
    hashing.check(run.tracer, call.hashed)


def _result_read(run: FinishedRun, call: CallRecord) -> None:
    """The caller reads what is returned."""
    run.tracer.reads.parts(call.result, "state")


def _references_in_arguments(run: FinishedRun, call: CallRecord) -> None:
    if run.tracer.sees_python:
        references = run.tracer.own(ReferencesInArguments)
        references.check_proxies(run.tracer.reads.places)
        if references.all:
            leave_references(run.inputs.spec)


def _logs_and_warnings(run: FinishedRun, call: CallRecord) -> None:
    tracer = run.tracer
    listener = tracer.own(Listeners).read_by(tracer.reads.places)
    if listener is not None:
        kind = getattr(listener, "__qualname__", type(listener).__qualname__)
        raise tracer.refusal("outside-object", what=f"what {kind} keeps of the logs and warnings that it gets")
    rows = tracer.own(Listeners).changed_filters()
    if any(row is not None and row[0] == "error" for row in rows):
        _lose(run, "setting", "the filters of warnings", "without", "with one that raises", "global-state")
    elif rows:
        tracer.note("the filters of warnings are changed; the program does not change them")


def _switches(run: FinishedRun, call: CallRecord) -> None:
    assert call.state is not None
    for name, before, now in call.state.changed():
        _lose(run, "setting", name, str(before), str(now), "global-state")


def _context_variables(run: FinishedRun, call: CallRecord) -> None:
    for variable, before in run.tracer.own(ContextValues).before.items():
        now = variable.get(classify.MISSING)
        if now is not before:
            target = f"the context variable {variable.name!r}"
            _lose(run, "setting", target, descriptions.describe(before), descriptions.describe(now), "global-state")


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
            _lose(run, "result", what, old, new, "result-state", text)
        else:
            run.tracer.note(text)


def _arguments_compared(run: FinishedRun, call: CallRecord) -> None:
    call.changed = changed_arguments(run.tracer, run.inputs, call.leaves, (call.args, call.kwargs))


def _kinds_of_result(run: FinishedRun, call: CallRecord) -> None:
    for value in contents.containers(call.result):
        if numpy_arrays.is_array(value):
            raise run.tracer.refusal("numpy-output")
        for part in (value, *value) if issubclass(type(value), dict) else (value,):
            if issubclass(type(part), (Unrecordable, UniqueText)):
                _refuse_unrecordable(run, part)
    if isinstance(call.result, CoroutineType):
        call.result.close()
        raise run.tracer.refusal("async-forward", function=call.result.__qualname__)


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
    mark_made(run.outputs.spec, lambda value: id(value) in tracer.heap.young_among((value,)))


def _inference_tensors(run: FinishedRun, call: CallRecord) -> None:
    """A caller of eager can neither save for backward nor change what forward has made in inference mode. (Where the
    caller is in that mode, and for views of inference tensors that were passed in, the program returns the same.)"""
    if torch.is_inference_mode_enabled():
        return
    found = [leaf for leaf in run.outputs.leaves if is_fake(leaf) and leaf.is_inference()]
    outside = set(map(storage_key, run.recorder.from_outside())) if found else set()
    if any(storage_key(leaf) not in outside for leaf in found):
        text = "outputs that forward makes in torch.inference_mode are inference tensors in eager, not in the program"
        _lose_gradient(run, run.tracer.refusal("inference-output", run.tracer.own(TensorWrites).inference), text)


def _texts_of_outputs(run: FinishedRun, call: CallRecord) -> None:
    """The caller reads each text that is returned; one that names an address is another in each call."""
    assert call.flat is not None
    values = run.outputs.values
    try:
        values[:] = [deferred_str.plain(value) if isinstance(value, UnreadText) else value for value in values]
    except Abort as abort:
        raise abort.error from None
    if addresses.in_output(call.flat.leaves) and not run.tracer.lets_pass(addresses.RETURNED):
        raise run.tracer.refusal("unrecordable-id", function=addresses.FUNCTION)


def _one_for_two(run: FinishedRun, call: CallRecord) -> None:
    """A container that is passed twice is two in the program."""
    run.apart = must_be_apart(run.tracer, run.inputs, (call.args, call.kwargs))


def _arguments(run: FinishedRun, call: CallRecord) -> None:
    """The containers that were passed in hold what they held, or are returned (so that nothing is lost)."""
    for name in call.changed:
        if contents.is_within((call.args, call.kwargs), run.inputs.arg_names, name, call.result):
            what = f"the argument {name} is changed and returned"
            _tell_apart(run, f"{what}; the caller's own stays as it was", "changed-and-returned", what)
        else:
            _lose(run, "argument", f"the argument {name}", "what was passed", "another content", "input-container")


def _attributes_of_tensors(run: FinishedRun, call: CallRecord) -> None:
    for refusal in toggled_flags.turned(run.tracer):
        if not run.tracer.goes_on:
            raise refusal
        run.refused_effects.append(refusal)
    for lost in run.tracer.own(TensorWrites).lost:
        old, new = descriptions.describe(lost.old), descriptions.describe(lost.new)
        run.lost.append(Effect("attribute", lost.target, old, new, Verdict.DROPPED, frames_at(lost.mark)))
        run.tracer.note(f"{lost.target} is changed; the program does not change it")


def _shared_memory(run: FinishedRun, call: CallRecord) -> None:
    shared_memory.check(run.tracer)


def _copies_or_views(run: FinishedRun, call: CallRecord) -> None:
    copies_or_views.check(run.recorder, [leaf for leaf in run.outputs.leaves if isinstance(leaf, torch.Tensor)])


def _custom_operators(run: FinishedRun, call: CallRecord) -> None:
    """What the program reads is no state that an operator written in Python changes."""
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
        leaf = run.recorder.known_stand_in(tensor)
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
    dying_objects.check(run.tracer, run.effects)
    run.made = run.effects.made


def _gradients(run: FinishedRun, call: CallRecord) -> None:
    """A gradient that flows in eager flows in the program as well. (The second of two runs is no program.)"""
    if run.request.earlier is not None:
        return
    tracer, recorder = run.tracer, run.recorder
    if tracer.own(SavedRegions).all:
        region = requires_grad.saved_in(recorder, run.inputs.leaves, tracer.own(SavedRegions).all)
        if region is not None:
            function = "torch.autograd.graph.saved_tensors_hooks"
            text = "the saved_tensors_hooks do not run: no backward of the program calls them"
            _lose_gradient(run, tracer.refusal("gradient-hook", region.mark, function=function), text)
    retained = requires_grad.retained(run.outputs)
    if retained is not None:
        tracer.note(f"output {retained} retains its gradient in eager (Tensor.retain_grad), not in the program")
    made = requires_grad.made_parameter(recorder, run.outputs)
    if made is not None:
        refusal = tracer.refusal("tensor-subclass", name="nn.Parameter (made in forward, and returned)")
        _lose_gradient(run, refusal, f"output {made} is an nn.Parameter in eager, a plain tensor in the program")
    constant = requires_grad.cut_constant(recorder, run.outputs)
    if constant is not None:
        refusal = tracer.refusal("constant-gradient", constant.mark, target=constant.fqn)
        _lose_gradient(run, refusal, f"no gradient flows through the constant {constant.fqn}")
    lost = requires_grad.lost(recorder, run.inputs.leaves, run.outputs)
    if lost and not tracer.own(Backwards).are_operators:
        left = made_leaves.carry(recorder, run.outputs, lost)
        if left != lost:
            tracer.note("outputs require grad by a leaf that forward makes; in the program, by a parameter of its own")
        lost = left
    if lost:
        mark, node = tracer.own(TensorWrites).made_leaf, run.outputs.values[lost[0]]
        refusal = made_leaves.refusal(node) if mark is None else tracer.refusal("made-leaf", mark)
        _lose_gradient(run, refusal, f"output {lost[0]} has requires_grad in eager; the program's has not")


def _gradients_cut_off(run: FinishedRun, call: CallRecord) -> None:
    """No gradient goes through torch's while_loop, whose gradient is wrong, nor through a detached result of a branch:
    an input that requires grad in another call than the example is refused there."""
    unlike = run.tracer.own(UnlikeSides)
    if run.request.without_gradients or unlike.lost or unlike.unsure:
        _gradients_lost(run, unlike)
    for number in requires_grad.inputs_cut_off(run.recorder, run.inputs.leaves, run.outputs, unlike.cut):
        if ambiguous(run.inputs.key_paths):
            why = f"its gradient with regard to {run.inputs.names[number]} would be wrong, and no guard can be written"
            raise run.tracer.refusal("loop-gradient", why=why)
        path = f"L{keystr(run.inputs.key_paths[number])}"
        run.tracer.own(InputGuards).add(f"not (torch.is_grad_enabled() and {path}.requires_grad)")


def _gradients_lost(run: FinishedRun, unlike: UnlikeSides) -> None:
    """What eager differentiates in the example, and the program does not, is right where gradients are off. (Such a
    program is recorded again without: dynamo_lite/attempts.py.)"""
    found = requires_grad.lost_behind(run.recorder, run.outputs, run.effects.buffer_updates.values(), unlike)
    unlike.needs_no_grad = (*run.request.without_gradients, *found)
    for why in unlike.needs_no_grad:
        run.tracer.note(f"the program is called under torch.no_grad() only: {why}")
        run.tracer.own(InputGuards).add(WITHOUT_GRADIENTS)


def _saved_tensors(run: FinishedRun, call: CallRecord) -> None:
    """The backward of a Function raises where eager's does."""
    backward.check_saved(run.tracer)


def _kept_operands(run: FinishedRun, call: CallRecord) -> None:
    """The backward of a captured branch finds its operands as they were."""
    kept_operands.separate(run.recorder, run.inputs.leaves, run.effects.buffer_updates)


def _lose(run: FinishedRun, kind: str, target: str, old: str, new: str, id: str, text: str = "") -> None:
    """An effect that the program cannot carry: refused, or let go if the caller said so. text: the note then."""
    refusal = run.tracer.refusal(id, target=target, old=old, new=new)
    text = text or f"{target} is changed; the program does not change it"
    if not run.request.drops and not run.tracer.lets_pass(text):
        raise refusal
    run.refused_effects.append(refusal)
    run.lost.append(Effect(kind, target, old, new, Verdict.DROPPED, run.tracer.where()))
    if run.request.drops:
        run.tracer.note(text)


def _tell_apart(run: FinishedRun, text: str, id: str, what: str) -> None:
    """The caller could tell a result from eager's by its identity: noted, or refused if the caller said so."""
    if run.request.exact and not run.tracer.lets_pass(text):
        raise run.tracer.refusal(id, what=what)
    run.tracer.note(text)


def _lose_gradient(run: FinishedRun, refusal: DynamoLiteError, text: str) -> None:
    """What eager's backward does and the program's does not: refused, or let go if the caller said so."""
    if not run.request.drops and not run.tracer.lets_pass(text):
        raise refusal
    run.refused_effects.append(refusal)
    run.tracer.note(text)


Pass = Callable[[FinishedRun, CallRecord], None]

WHILE_RECORDING: tuple[Pass, ...] = (
    _tensors_hashed,
    _references_in_arguments,
    _result_read,
    _logs_and_warnings,
    _switches,
    _context_variables,
    _taken_apart,
    _arguments_compared,
)

RECORDED: tuple[Pass, ...] = (
    _kinds_of_result,
    _outputs,
    _inference_tensors,
    _texts_of_outputs,
    _one_for_two,
    _arguments,
    _attributes_of_tensors,
    _shared_memory,
    _copies_or_views,
    _custom_operators,
    _results_of_branches,
    _writes,
    _gradients,
    _gradients_cut_off,
    _saved_tensors,
    _kept_operands,
)
