"""The tracer: watches one run of the program in the interpreter.

It answers calls that have a rule (registry.py), keeps the journal of writes (journal.py) and the stacks that nodes are
labelled with, and turns what cannot be captured into a GraphBreak at the program's line.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType, FunctionType
from typing import Any

from dynamo_lite.capture import Recorder
from dynamo_lite.capture.graph.lifting import modes_off
from dynamo_lite.interpreter.datamodel import trampoline_code, trampolines
from dynamo_lite.interpreter.datamodel.trampoline_code import original_code
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing import assemble, read_plans, write_plans
from dynamo_lite.tracing.calls import annotations as annotated_calls
from dynamo_lite.tracing.calls import marked_constructors, native_calls, registry
from dynamo_lite.tracing.calls.plans import CallPlans
from dynamo_lite.tracing.calls.run_native import run_native
from dynamo_lite.tracing.diagnostics import Abort, Refusing
from dynamo_lite.tracing.heap import iterator_types
from dynamo_lite.tracing.heap.access_log import Reads
from dynamo_lite.tracing.heap.generations import Heap
from dynamo_lite.tracing.heap.iterator_types import ITERATORS
from dynamo_lite.tracing.heap.journal import Journal
from dynamo_lite.tracing.heap.lifetimes import Lifetimes
from dynamo_lite.tracing.heap.raised_errors import Raised
from dynamo_lite.tracing.heap.writes import HAVE_GC, Writes
from dynamo_lite.tracing.interfaces import AnyState, FeatureState, NativeCall, Reader
from dynamo_lite.tracing.output_streams import OutputStreams
from dynamo_lite.tracing.policy import native_modules, native_reads
from dynamo_lite.tracing.policy.native_modules import (
    INTERPRETED,
    is_below,
    is_trusted,
    is_trusted_module,
    reads_frames,
)
from dynamo_lite.tracing.read_plans import IdentityPlans, ReadPlans
from dynamo_lite.tracing.sizes import decisions_in_c
from dynamo_lite.tracing.strings import deferred_str
from dynamo_lite.tracing.strings.nondeterministic import is_about_one
from dynamo_lite.tracing.tensors import methods, subclass_constructors
from dynamo_lite.tracing.vocabulary.module_stack import ModuleStack
from dynamo_lite.tracing.vocabulary.symbolic_numbers import SYMBOLIC
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor
from dynamo_lite.tracing.write_plans import WritePlans
from dynamo_lite.value_types import BUILT_IN_CONTAINERS, HOLD_NO_FUNCTIONS

_OWN_FILES = frozenset(
    m.__file__ for m in (registry, native_calls, methods, subclass_constructors, sys.modules[__name__])
)
_FEATURES = os.path.join(os.path.dirname(os.path.dirname(__file__)), "features", "")
_OF_TRAMPOLINES = frozenset({trampoline_code.__name__, trampolines.__name__})
_NO_ARGUMENT = "tuple index out of range"
_A_CLOCK = "time.time() or random.random"
_MAKES_DICT = frozenset(id(fn) for fn in (dict, dict.copy, dict.__dict__["fromkeys"], dict.__or__))


class Tracer(Refusing):
    """The observer of one run. `recorder` holds the graph; `notes` has what was skipped or assumed."""

    needs_torch_dynamo = False
    """Whether TorchDynamo is imported before a run begins: where it would import it anyway, or may not end early."""

    sees_python = True
    """Whether the interpreter runs the program, so that each read and write is seen (else: dynamo_lite/nonstrict)."""
    recorder_type = Recorder
    policy: Any = native_modules
    interpreted: frozenset[CodeType] = INTERPRETED

    def __init__(self, root: Any, recorder: Any, inputs: Any = None, known_rules: dict[int, Any] | None = None) -> None:
        super().__init__()
        self.root = root
        self.inputs = inputs
        self.recorder = recorder
        self._own: dict[type[FeatureState], Any] = {}
        self.vm.generators = []
        self.journal = Journal(self.mark)
        self.writes = Writes(self)
        self.own(OutputStreams)
        self.features = assemble.assembly()
        for state in self.features.from_the_start:
            self.own(state)
        self._lifetimes = self.own(Lifetimes)
        self.heap = Heap()
        self.modules = ModuleStack(root)
        self.native_call = NativeCall()
        self.rules = registry.table() if known_rules is None else known_rules
        self._wrapping_globals = marked_constructors.wrapping_globals()
        self.reads = Reads(self.vm)
        self.reads.refuse = self.refuse
        self.plans = CallPlans(self)
        self.readers: dict[type, Reader | None] = ReadPlans()
        self._writers = WritePlans()
        self._identities = IdentityPlans()
        kind = type(self)
        self.reads.is_alone = kind.on_read is Tracer.on_read and kind.on_look is Tracer.on_look
        self.made_dicts: set[int] = set()
        self.vm.made_dicts = self.made_dicts

    def own(self, kind: type[AnyState]) -> AnyState:
        """The state that a feature keeps during this run."""
        found: AnyState | None = self._own.get(kind)
        if found is None:
            found = self._own[kind] = kind(self)
        return found

    def rollback(self, keep: set[int]) -> None:
        """Restore what the run has changed, except for the objects whose ids are in `keep`."""
        self.journal.rollback(keep)

    def on_hidden_change(self, owner: Any, does: str = "") -> None:
        """For dynamo_lite/control_flow, which undoes parts of a run: the run as a whole lets its own objects go."""

    def _stop_if_ours(self, error: Exception) -> None:
        """An error of a rule's own code must not reach the program, which might catch it and go another way."""
        at = error.__traceback__
        while at is not None and at.tb_next is not None:
            at = at.tb_next
        code = at.tb_frame.f_code if at is not None else None
        if code is None or code is run_native.__code__:
            return
        if code.co_filename in _OWN_FILES or code.co_filename.startswith(_FEATURES):
            raise Abort(self.internal(error))

    # ---- the observer's methods

    def interpret(self, codes: frozenset[CodeType]) -> None:
        """Interpret functions with this code although they are trusted. Before the run begins."""
        self.interpreted = INTERPRETED | codes
        self.policy = (native_modules, codes)
        self.vm.trampolines.follow(self.policy)

    def runs_natively(self, fn: FunctionType) -> bool:
        return is_trusted(fn) and not reads_frames(fn) and original_code(fn.__code__) not in self.interpreted

    def check_outputs(self, tensors: Sequence[Any]) -> None:
        """The program returns these tensors."""

    def check_raised(self, error: Exception) -> None:
        """Refuse an exception of the program, if eager may raise another."""
        if is_about_one(error):
            raise self.graph_break("unrecordable-value", function=_A_CLOCK) from error

    def before_call(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        plan = self.plans.known.get(id(fn))
        is_function = type(fn) is FunctionType
        if plan is None or plan.callable() is not fn or (is_function and annotated_calls.MARK in fn.__dict__):
            plan = self.plans.make(fn)
        for step in plan.before:
            answer = step(self, fn, args, kwargs)
            if answer is not NOT_HANDLED:
                return answer
        if plan.rule is not None:
            try:
                answer = plan.rule(self, fn, args, kwargs)
            except Exception as error:
                again = self.features.answers.get("failed")
                answer = NOT_HANDLED if again is None else again(self, fn, args, kwargs, error)
                if answer is NOT_HANDLED and (type(error) is not IndexError or str(error) != _NO_ARGUMENT):
                    self._stop_if_ours(error)
                    raise
                # or an argument is missing: the callable itself raises the error
            if answer is not NOT_HANDLED or is_function:
                return answer
        for step in plan.after:
            answer = step(self, fn, args, kwargs)
            if answer is not NOT_HANDLED:
                return answer
        if kwargs and plan.keywords is not None:
            plan.keywords(self, fn, args, kwargs)
        self.native_call.function = fn
        self.native_call.serial += 1
        return NOT_HANDLED if plan.numbers is None else plan.numbers(self, fn, args, kwargs)

    def after_native_call(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        after = self.features.after.get(id(fn))
        if after is not None:
            result = after(self, fn, args, kwargs, result)
        self.native_call.function = None
        if type(result) is dict and id(fn) in _MAKES_DICT:
            self.made_dicts.add(id(result))
        if type(result) not in HOLD_NO_FUNCTIONS and not type(result).__flags__ & HAVE_GC:
            self.writes.after_native_call(fn, (*args, *kwargs.values()), result)
        return result

    def after_operator(self, operands: tuple[Any, ...], result: Any) -> Any:
        self.writes.after_operator(operands, result)
        return self._made_text(result) if type(operands[0]) is str else result  # "%d rows" % n

    def _made_text(self, text: Any) -> Any:
        answer = self.features.answers.get("text")
        return text if answer is None else answer(self, text)

    def on_read(self, kind: str, owner: Any, key: Any, value: Any) -> Any:
        reads = self.reads
        if kind == "attr":
            if reads.seen.get((id(owner), key)) is not type(owner):
                by_name = read_plans.BY_NAME.get(key)
                if by_name is not None:
                    by_name(self, owner, key, value)
                reader = self.readers[type(owner)]
                if reader is not None:
                    answer = reader(self, owner, key, value)
                    if answer is not NOT_HANDLED:
                        return answer
                if key == "__dict__" and self.in_library():
                    reads.attribute(owner, key)  # nn.Module's own attribute protocol looks into every instance's dict
                else:
                    reads.read_first.setdefault((id(owner), key), True)
                    reads.attribute(owner, key)
                    if reader is None and by_name is None:
                        reads.seen[id(owner), key] = type(owner)
        elif kind == "global" or kind == "builtin":
            assert self.vm.frame is not None
            place = id(owner), id(self.vm.frame.globals), key
            if place not in reads.seen_names:
                if kind == "global":
                    reads.read_first.setdefault((id(owner), key), True)
                reads.value(kind, owner, key)
                reads.seen_names.add(place)
        else:
            if type(key) is str or type(key) is int:
                reads.read_first.setdefault((id(owner), key), True)
            if kind == "item" and type(value) not in HOLD_NO_FUNCTIONS and not type(value).__flags__ & HAVE_GC:
                self.writes.after_operator((owner,), value)
            listener = self.features.typed.get(("item", type(owner)))
            if listener is not None:
                listener(self, owner, key)
            reads.value(kind, owner, key)
        if type(value) in ITERATORS:
            iterator_types.check_read(self, owner, key, value)
        return value

    def on_look(self, how: str, owner: Any, key: Any = None) -> None:
        if type(key) is deferred_str.UnreadText:
            key.read()
        if how == "is":
            listener = self._identities[type(key)]
        else:
            listener = self.features.typed.get((how, type(owner)))
            for on_missing in self.plans.missing_listeners if how == "attr" else ():
                on_missing(self, owner, key)
        if listener is not None:
            listener(self, owner, key)
        self.reads.look(how, owner, key)

    def before_write(self, kind: str, owner: Any, key: Any, value: Any) -> bool | None:
        by_name = None
        if kind == "attr":
            writer = self._writers[type(owner)]
            if writer is not None:
                return writer(self, owner, key, value)
            by_name = write_plans.BY_NAME.get(key)
        if kind != "inplace":
            self.reads.write(kind, owner, key, value)
        for listener in self.plans.write_listeners:
            listener(self, owner, value)
        if by_name is not None:
            by_name(self, owner, key, value)
        if kind != "inplace" or not is_tensor(owner):
            self.writes.before_write(kind, owner, key)
        return None

    def before_raise(self, error: BaseException) -> None:
        self.writes.before_raise(error)
        self.own(Raised).last = error

    def on_caught(self, error: BaseException) -> None:
        if is_about_one(error):
            self.refuse("unrecordable-value", function=_A_CLOCK)
        self.features.tell("caught", self, error)
        if self._lifetimes.are_seen:
            self.own(Raised).last = None  # it dies with the handler
            self._lifetimes.check_caught(error)

    def on_left(self, frame: Any, entry: FrameType) -> None:
        variables = frame.locals if frame.namespace is None else [*frame.locals, frame.namespace]
        self._lifetimes.note_left(variables, entry)

    def on_ended(self, frame: Any) -> None:
        self._lifetimes.check_ended(frame)

    def on_swallowed(self) -> None:
        self.own(Raised).last = None

    def on_released(self, code: CodeType, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> None:
        self._lifetimes.check_released(code, args, kwargs or {})

    def enters_by_trampoline(self, fn: FunctionType) -> bool:
        """Native code calls `fn`: is that a call of the program?

        Not so where trusted Python code uses the standard library, nor where what runs operators, or this tracer, uses
        a class of torch's that the program uses too (fx.Graph, weak dictionaries). A marked constructor is answered by
        its rule for all callers: natively it would look for torch.export's tracer.
        """
        if id(fn.__globals__) in self._wrapping_globals and marked_constructors.own(fn) is not None:
            return True
        package = str(fn.__globals__.get("__name__", "")).partition(".")[0]
        is_standard = package in sys.stdlib_module_names
        caller: Any = sys._getframe(3)  # through the trampoline and its trampoline
        while (is_standard or package == "torch") and caller is not None:
            name = str(caller.f_globals.get("__name__", ""))
            if name not in _OF_TRAMPOLINES:  # which call what is asked about here, too
                if name.startswith("dynamo_lite.interpreter") or caller.f_code is run_native.__code__:
                    return True
                if is_trusted_module(name) if is_standard else is_below(name):
                    return False
                if is_standard and name.partition(".")[0] not in sys.stdlib_module_names:
                    return True
            caller = caller.f_back
        return True

    def on_truth(self, value: Any) -> Any:
        """Turn an `assert` on data into an assertion of the program."""
        answer = self.features.answers.get("truth")
        return NOT_HANDLED if answer is None else answer(self, value)

    def on_equal(self, left: Any, right: Any, wanted: bool) -> Any:
        answer = self.features.answers.get("equal")
        return NOT_HANDLED if answer is None else answer(self, left, right, wanted)

    def on_key(self, key: Any) -> Any:
        """A size as a key of a dict is its number: what looks at the dict later finds an int."""
        if type(key) is deferred_str.UnreadText:
            return deferred_str.plain(key)
        answer = self.features.answers.get("dict key")
        return key if answer is None else answer(key)

    def call_aside(self, fn: FunctionType, args: tuple[Any, ...]) -> Any:
        outer, self.journal, self.vm.call_aside = self.journal, Journal(self.mark), None  # not within itself
        try:
            return self.vm.interpret_function(fn, args)
        finally:
            inner, self.journal = self.journal, outer
            inner.rollback()
            self.vm.call_aside = self.call_aside

    def on_native_result(self, fn: FunctionType, result: Any) -> Any:
        """C code insists on an int, float or bool from `__index__`, `__hash__` and the like, and reads texts."""
        if type(result) is deferred_str.UnreadText:
            return deferred_str.plain(result)
        if type(result) in SYMBOLIC and fn.__name__ in native_reads.CONVERSIONS:
            answer = self.features.answers.get("converted")
            return result if answer is None else answer(self, fn.__name__, result)
        if type(result) in BUILT_IN_CONTAINERS and (
            fn.__name__ in native_reads.GIVES_ITEMS or decisions_in_c.compares(self)
        ):
            self.reads.look("parts", result, None)
        return result

    def on_formatted(self, text: str) -> str:
        for listener in self.plans.text_listeners:
            listener(self, text)
        return self._made_text(text)

    def on_text(self, parts: list[str]) -> str:
        return deferred_str.joined(parts)

    def on_identity(self, left: Any, right: Any) -> bool:
        if type(left) in SYMBOLIC or type(right) in SYMBOLIC:
            numbers = self.features.answers.get("identity of numbers")
            return numbers is not None and bool(numbers(left, right))
        answer = self.features.answers.get("identity")
        return answer is not None and bool(answer(self, left, right))

    # ---- stepping out of the trace

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Run something natively that is not part of the program (an import): nothing is recorded or interpreted."""
        trampolines = self.vm.trampolines
        was_open, trampolines.open = trampolines.open, False
        try:
            with modes_off():
                yield
        finally:
            trampolines.open = was_open
