"""One run of a program under the tracer, and a second one from the state after the first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import CoroutineType
from typing import Any

from torch import nn

from dynamo_lite.capture import CaptureError
from dynamo_lite.capture.fakes.fake_mode import FakeTensorMode, fake_mode_of, is_active, symbolic_mode
from dynamo_lite.capture.fakes.static_cache import Inexact, Memory
from dynamo_lite.capture.fingerprint import Fingerprint
from dynamo_lite.errors import DynamoLiteError, InvalidArguments
from dynamo_lite.logging import reports as logs
from dynamo_lite.program import FlatInputs
from dynamo_lite.program.effect_record import Effect, Verdict
from dynamo_lite.program.errors import UnsupportedValue
from dynamo_lite.program.shapes.dynamic_shapes import DeclaredInputs, Settled, declare_inputs, settle
from dynamo_lite.program.shapes.layout_guards import layout_guards
from dynamo_lite.program.trees.containers import register_containers
from dynamo_lite.program.trees.outputs import FlatOutputs, constants_of, flatten_outputs, mark_made
from dynamo_lite.program.trees.paths import Flat, flatten
from dynamo_lite.tracing.assumptions.key_orders import KeyOrders
from dynamo_lite.tracing.calls.container_functions import ContainerFunctions
from dynamo_lite.tracing.diagnostics import Abort
from dynamo_lite.tracing.effects import classify as effects_of
from dynamo_lite.tracing.effects import escaping_tensors, persisted_sizes, requires_grad
from dynamo_lite.tracing.effects.classify import Effects
from dynamo_lite.tracing.effects.rebuilt_arguments import changed_arguments, lost_read, rebuild, round_trip
from dynamo_lite.tracing.node_metadata import TraceContext
from dynamo_lite.tracing.sizes import builtin_calls, number_methods
from dynamo_lite.tracing.strings import addresses, deferred_str, tensor_repr
from dynamo_lite.tracing.strings.deferred_str import UnreadText
from dynamo_lite.tracing.strings.nondeterministic import Unrecordable, unrecordable_function
from dynamo_lite.tracing.tensors import attributes, hashing, numpy_arrays, shared_memory
from dynamo_lite.tracing.tracer import Tracer
from dynamo_lite.tracing.vocabulary.process_state import TorchState
from dynamo_lite.tracing.vocabulary.program_points import frames_at
from symbolic_shapes import Origin
from symbolic_shapes.proofs.facts import Fact
from symbolic_shapes.torch_env.env import TorchShapeEnv

_HIDDEN = (
    "a program has no {} to return that holds a tensor or a size of the call (in a closure, a set, a key, an "
    "iterator). Return tensors and sizes in lists, tuples, dicts and attributes of objects"
)


class Run:
    """One trace of one call. `trace()` once; then `outputs` and `effects`; `undo()` always."""

    outputs: FlatOutputs
    effects: Effects

    def __init__(
        self,
        mod: Any,
        root: nn.Module | None,
        inputs: FlatInputs,
        specs: Any = None,
        memory: Memory = Memory.ALL,
        earlier: Fingerprint | None = None,
        drops: bool = False,
        tracer: type[Tracer] = Tracer,
        known: Sequence[Fact] | None = None,
    ) -> None:
        self.drops = drops
        self.known = known
        self.refused_effects: list[DynamoLiteError] = []  # what `drops` let go, as export would have refused it
        self.lost: list[Effect] = []  # effects on settings and arguments that `drops` lets go
        self.records: list[Effect] = []
        self._made: set[int] = set()  # objects of the run's own, which `undo` leaves as they are
        self.mod = mod
        self.root = root
        self.inputs = inputs
        self.specs = specs
        fake_mode = (self._users_mode() if earlier is None else _mode_of(earlier)) or symbolic_mode()
        self.recorder = tracer.recorder_type(root, inputs.names, fake_mode=fake_mode, earlier=earlier)
        self.recorder.memory = memory
        self.tracer = tracer(root if root is not None else mod, self.recorder, inputs)
        self.tracer.drops = drops
        self.recorder.context = context = TraceContext(self.tracer)
        if self.recorder.env is not None:
            self.recorder.env.where = self.tracer.origin
            self.recorder.env.unanswered = self.tracer.undecided
            self.recorder.env.deferring = context.check_deferred
            builtin_calls.attach(self.tracer, self.recorder.env)
        logs.attach(self)
        self.declared = self._declare()
        self.settled: Settled | None = None
        if self.recorder.env is not None:
            persisted_sizes.assume(self.recorder.env, known or ())
            if known and self.declared is not None:
                persisted_sizes.fix_inputs(self.recorder.env, self.declared)

    def _users_mode(self) -> FakeTensorMode | None:
        """The FakeTensorMode that inputs or state live in. It has no symbols: None where sizes vary, too."""
        mode = fake_mode_of(self.root, self.inputs.leaves)
        if mode is None or self.specs is None:
            return mode
        if not declare_inputs(self.inputs, self.specs, TorchShapeEnv()).is_dynamic:
            return mode
        if is_active(mode):
            text = "dynamic_shapes need a mode of symbols of our own: call export outside of the FakeTensorMode"
            raise InvalidArguments(text)
        return None

    def _declare(self) -> DeclaredInputs | None:
        """The symbols for the sizes that may vary; None if no size is asked to."""
        env = self.recorder.env
        if env is None:  # the inputs or the state are FakeTensors of a mode of the user's
            return None
        declared = declare_inputs(self.inputs, self.specs, env)
        return declared if declared.is_dynamic else None

    def settle(self, defers: bool = False) -> Settled | None:
        """The conditions on sizes under which the program is right. Raises ConstraintViolation.

        defers: as in `program.dynamic_shapes.settle`.
        """
        if self.declared is None:
            return None
        assert self.recorder.env is not None
        settled = settle(self.declared, self.recorder.env, defers)
        for note in settled.notes:
            self.tracer.note(note)
        self.settled = settled
        return settled

    def layout_guards(self, settled: Settled | None) -> list[str]:
        """The conditions on the memory layout of the inputs, if the program has asked about layout."""
        recorder = self.recorder
        stand_ins = [node.meta["val"] for node in recorder.input_nodes]
        sources = {} if settled is None else settled.solution.table.sources()
        return layout_guards(self.inputs, stand_ins, recorder.layout.asked, recorder.env, sources)

    def trace(self) -> None:
        """Run the program in the interpreter. Raises GraphBreak, or what the program raises."""
        tracer, inputs = self.tracer, self.inputs
        if inputs.is_foreign and inputs.restored is None:
            inputs.restored = round_trip(inputs, ContainerFunctions())
        tracer.heap.begin()  # before the containers of the arguments are made: their changes are judged apart
        policies = self.declared.policies if self.declared is not None else None
        leaves = self.recorder.bind_inputs(self.inputs.leaves, policies)
        self.recorder.layout.expect(leaves)
        attributes.carry_over(self.inputs.leaves, leaves)
        args, kwargs = ((), {}) if inputs.is_foreign else inputs.unflatten(leaves)
        tracer.reads.key_orders = KeyOrders((args, kwargs)) or None
        try:
            in_operator = lambda: self.recorder.running  # noqa: E731
            refused = tensor_repr.refused(tracer.refuse_text, in_operator, tracer.texts)
            numbers = number_methods.as_numbers(tracer.texts)
            with self.recorder, refused, numbers, hashing.watched(tracer) as hashed:
                state = TorchState()
                if inputs.is_foreign:
                    (args, kwargs), leaves = rebuild(inputs, tracer, leaves, inputs.restored)
                result = self._called(args, kwargs)
                hashing.check(tracer, hashed)
                tracer.reads.parts(result, "state")
                self._check_switches(state)
                flat = self._taken_apart(result)
                changed = changed_arguments(tracer, inputs, leaves, (args, kwargs))
        except Abort as abort:
            tracer.vm.retired = True
            raise abort.error from None
        except Exception:
            if tracer.broken is not None:
                raise tracer.broken from None
            raise
        if tracer.broken is not None:
            raise tracer.broken
        for value in effects_of.containers(result):
            if numpy_arrays.is_array(value):
                raise tracer.refusal("numpy-output")
            if type(value) is Unrecordable:
                raise tracer.refusal("unrecordable-value", function=unrecordable_function(value))
        if isinstance(result, CoroutineType):
            result.close()
            raise tracer.refusal("async-forward", function=result.__qualname__)
        try:
            self.outputs = flatten_outputs(self.recorder, flat)
        except CaptureError as error:  # a tensor that nothing recorded has made
            raise self.tracer.refused(error) from error
        hidden = escaping_tensors.first_holder(tracer, constants_of(flat))
        if hidden is not None:
            raise UnsupportedValue(hidden[0], _HIDDEN.format(type(hidden[1]).__qualname__))
        mark_made(self.outputs.spec, lambda value: tracer.heap.is_young(value) is True)
        self._read_texts(self.outputs.values)
        if addresses.in_output(flat.leaves) and not tracer.lets_pass(addresses.RETURNED):
            raise self.tracer.refusal("unrecordable-id", function=addresses.FUNCTION)
        self._check_inputs(changed, (args, kwargs), result)
        self._drop_attributes()
        shared_memory.check(tracer)
        self.effects = effects_of.classify(tracer)
        self._made = self.effects.made
        self._check_gradients()

    def _read_texts(self, values: list[Any]) -> None:
        """What the program returns is read."""
        try:
            values[:] = [deferred_str.plain(value) if type(value) is UnreadText else value for value in values]
        except Abort as abort:
            raise abort.error from None

    def _check_switches(self, state: TorchState) -> None:
        listeners = self.tracer.listeners
        listener = listeners.read_by(self.tracer.reads.places)
        if listener is not None:
            kind = getattr(listener, "__qualname__", type(listener).__qualname__)
            raise self.tracer.refusal("outside-object", what=f"what {kind} keeps of the logs and warnings that it gets")
        rows = listeners.changed_filters()
        if any(row is not None and row[0] == "error" for row in rows):
            self._lose("setting", "the filters of warnings", "without", "with one that raises", "global-state")
        elif rows:
            self.tracer.note("the filters of warnings are changed; the program does not change them")
        for name, before, now in state.changed():
            self._lose("setting", name, str(before), str(now), "global-state")
        for variable, before in self.tracer.context_values.items():
            now = variable.get(effects_of.MISSING)
            if now is not before:
                target = f"the context variable {variable.name!r}"
                self._lose("setting", target, effects_of.describe(before), effects_of.describe(now), "global-state")

    def _check_gradients(self) -> None:
        """A gradient that flows in eager flows in the program as well. (The second of two runs is no program.)"""
        if self.recorder.earlier is not None:
            return
        tracer, recorder = self.tracer, self.recorder
        if tracer.saved_hooks:
            region = requires_grad.saved_in(recorder, self.inputs.leaves, tracer.saved_hooks)
            if region is not None:
                function = "torch.autograd.graph.saved_tensors_hooks"
                text = "the saved_tensors_hooks do not run: no backward of the program calls them"
                self._lose_gradient(tracer.refusal("gradient-hook", region.mark, function=function), text)
        retained = requires_grad.retained(self.outputs)
        if retained is not None:
            tracer.note(f"output {retained} retains its gradient in eager (Tensor.retain_grad), not in the program")
        constant = requires_grad.cut_constant(recorder, self.outputs)
        if constant is not None:
            refusal = tracer.refusal("constant-gradient", constant.mark, target=constant.fqn)
            self._lose_gradient(refusal, f"no gradient flows through the constant {constant.fqn}")
        lost = requires_grad.lost(self.recorder, self.inputs.leaves, self.outputs)
        if lost:
            refusal = self.tracer.refusal("made-leaf", self.tracer.made_leaf)
            self._lose_gradient(refusal, f"output {lost[0]} has requires_grad in eager; the program's has not")

    def _lose_gradient(self, refusal: DynamoLiteError, text: str) -> None:
        """What eager's backward does and the program's does not: refused, or let go if the caller said so."""
        if not self.drops and not self.tracer.lets_pass(text):
            raise refusal
        self.refused_effects.append(refusal)
        self.tracer.note(text)

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the program returns. Refused where it rests on what the run's containers have not of the user's."""
        tracer, lost = self.tracer, self.inputs.restored.lost if self.inputs.is_foreign else []
        try:
            result = tracer.vm.enter(self.mod, args, kwargs)
        except Exception as error:
            refusal = lost_read(tracer, (args, kwargs), lost)
            if refusal is None:
                raise
            raise refusal from error
        refusal = lost_read(tracer, (args, kwargs), lost)
        if refusal is not None:
            raise refusal
        return result

    def _taken_apart(self, result: Any) -> Flat:
        """The result, flattened while operators are recorded: those of registered functions are the program's."""
        calls = ContainerFunctions(self.tracer)
        register_containers({"output": result}, calls)
        return flatten(result, calls)

    def _check_inputs(self, changed: list[str], call: tuple[Any, Any], result: Any) -> None:
        """The containers that were passed in hold what they held, or are returned (so that nothing is lost)."""
        for name in changed:
            if effects_of.is_within(call, self.inputs.arg_names, name, result):
                self.tracer.note(f"the argument {name} is changed and returned; the caller's own stays as it was")
            else:
                self._lose("argument", f"the argument {name}", "what was passed", "another content", "input-container")

    def _drop_attributes(self) -> None:
        for lost in self.tracer.lost_attributes:
            old, new = effects_of.describe(lost.old), effects_of.describe(lost.new)
            self.lost.append(Effect("attribute", lost.target, old, new, Verdict.DROPPED, frames_at(lost.mark)))
            self.tracer.note(f"{lost.target} is changed; the program does not change it")

    def _lose(self, kind: str, target: str, old: str, new: str, id: str) -> None:
        """An effect that the program cannot carry: refused, or let go if the caller said so."""
        refusal = self.tracer.refusal(id, target=target, old=old, new=new)
        text = f"{target} is changed; the program does not change it"
        if not self.drops and not self.tracer.lets_pass(text):
            raise refusal
        self.refused_effects.append(refusal)
        self.lost.append(Effect(kind, target, old, new, Verdict.DROPPED, self.tracer.where()))
        if self.drops:
            self.tracer.note(text)

    def fingerprint(self, earlier: Fingerprint | None = None) -> Fingerprint:
        """What tells whether two runs recorded the same program."""
        assigned = {name: (change.old, change.new) for name, change in self.effects.assigned.items()}
        return Fingerprint(self.recorder, assigned, earlier)

    def undo(self) -> None:
        """Put the heap back as it was before the trace."""
        self.tracer.vm.retired = True
        self.tracer.journal.rollback(self._made)
        self.tracer.heap.end()
        self._let_go()

    def _let_go(self) -> None:
        """Cut the environment off the tracer: sizes in C++ keep it alive where no collector sees the cycle."""
        env = self.recorder.env
        if env is not None:
            env.where, env.unanswered, env.specialized, env.deferring = _nowhere, None, None, None


def _nowhere() -> Origin:
    return Origin("user line", note="after the run")


def traced(
    mod: Any,
    root: nn.Module | None,
    inputs: FlatInputs,
    specs: Any = None,
    memory: Memory = Memory.ALL,
    earlier: Fingerprint | None = None,
    drops: bool = False,
    tracer: type[Tracer] = Tracer,
    started: Callable[[Run], Any] = lambda run: None,
    known: Sequence[Fact] | None = None,
) -> AbstractContextManager[Run]:
    """A run that has been traced; the heap is as the run left it inside of the block, and as before after it.

    `specs` is the plain form of dynamic_shapes. `memory` is what it takes from memory at most: less, where that much
    would not be exact. `earlier` is the recording of the run before this one, from whose state this one starts. `drops`
    lets effects go that the program cannot carry. `started` is told of each run before it begins. `known` is what an
    earlier trace found out about the sizes, if this one leaves numbers for those that it keeps (persisted_sizes.py).
    """
    levels: list[Memory] = [*Memory]
    run = Run(mod, root, inputs, specs, memory, earlier, drops, tracer, known)
    started(run)
    try:  # not in a generator: what the program raises may be a StopIteration
        while True:
            try:
                with logs.phase("the run in the interpreter"):
                    run.trace()
                break
            except Inexact as error:
                lower = levels[levels.index(run.recorder.memory) + 1 :]
                if not lower:
                    raise
                run.undo()
                enough: list[Memory] = [level for level in lower if level is error.needs] or lower
                run = Run(mod, root, inputs, specs, enough[0], earlier, drops, tracer, known)
                started(run)
    except BaseException:
        run.undo()
        raise
    return _undone(run)


@contextmanager
def _undone(run: Run) -> Iterator[Run]:
    try:
        yield run
    finally:
        run.undo()


def _mode_of(earlier: Fingerprint) -> FakeTensorMode | None:
    """The user's own mode, if the recording before this one was made in it."""
    return earlier.recorder.fake_mode if earlier.recorder.env is None else None
