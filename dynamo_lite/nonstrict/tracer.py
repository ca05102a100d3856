"""The tracer of a run that CPython makes: it sees operators, questions about sizes, and the state after the run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from types import FrameType, GeneratorType
from typing import Any

import torch

from dynamo_lite.features.texts.formatting import OF_AN_ERROR, TEXTS
from dynamo_lite.interpreter.datamodel.callees import callee_key
from dynamo_lite.nonstrict.class_names import named_as_eager
from dynamo_lite.nonstrict.frames import DecodedFrame, NativeFrame
from dynamo_lite.nonstrict.iterator_copies import IteratorCopies
from dynamo_lite.nonstrict.native_runner import Machine
from dynamo_lite.nonstrict.opaque_state import UNKNOWN, note_of
from dynamo_lite.nonstrict.process import ProcessState
from dynamo_lite.nonstrict.profile_hook import ProfileHook, watched
from dynamo_lite.nonstrict.reachability import Reachable
from dynamo_lite.nonstrict.referenced_names import Mentions
from dynamo_lite.nonstrict.shared import shared_memory_seen
from dynamo_lite.nonstrict.type_shims import AskedTypes
from dynamo_lite.symbolic_shapes.errors import DataDependentQuestion
from dynamo_lite.symbolic_shapes.expressions.relations import not_
from dynamo_lite.torch_internals._torch_dispatch import DisableTorchFunction
from dynamo_lite.torch_internals._torch_tensors import TensorBase
from dynamo_lite.tracing.sizes import input_bounds
from dynamo_lite.tracing.sizes.runtime_values import wanted_by_assertion
from dynamo_lite.tracing.strings.discarded import NativeOutput
from dynamo_lite.tracing.tracer import Tracer
from dynamo_lite.tracing.vocabulary.exception_handlers import in_handler

UNSOUND = "unsound here because "


class NativeTracer(Tracer):
    """The tracer where the interpreter does not run. What strict would have refused goes to `unsound`."""

    sees_python = False
    needs_torch_dynamo = True  # its frames are CPython's own, which a run cannot leave early in all places

    def __init__(self, root: Any, recorder: Any, inputs: Any = None) -> None:
        super().__init__(root, recorder, inputs)
        self.vm = Machine(self)
        self._reach = Reachable(self.journal)
        self._mentions = Mentions(self._reach)
        self._iterators = IteratorCopies(self._reach, self.journal)
        self._asked_types = AskedTypes(self)
        self._watch: ProfileHook | None = None
        self.own(NativeOutput).is_printing = self._is_printing

    def unsound(self, text: str) -> None:
        """Note an assumption of the program that need not hold."""
        self.note(f"{UNSOUND}{text}")

    def leaves_as(self, kinds: frozenset[type[BaseException]]) -> frozenset[type[BaseException]]:
        """Returns `kinds` unchanged: the values in CPython's frames are not decoded (docs/effects.md)."""
        return kinds

    def undecided(self, error: Any) -> None:  # type: ignore[override]
        """A question that depends on data. Where one answer fails an `assert`, the other is asserted by the program."""
        question, native = error.question, self.vm.frame
        if input_bounds.settles(self.recorder.env, question):
            return
        if isinstance(question, DataDependentQuestion) and isinstance(native, NativeFrame):
            frame = DecodedFrame(native)
            wanted = None if in_handler(frame) else wanted_by_assertion(frame)
            if wanted is not None:
                relation = question.relation if wanted else not_(question.relation)
                self.recorder.env.wrap(relation).node.expect_true("", 0)
                return
        super().undecided(error)

    def lets_pass(self, text: str) -> bool:
        self.unsound(text)
        return True

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Around the program's call."""
        self.note("CPython ran the program (strict=False): what it reads from Python is assumed, and guarded nowhere")
        self._reach.follows_globals = sys.getprofile() is not None  # then no hook reports which functions run
        self._take(self.root)
        process = ProcessState()
        with ExitStack() as stack:
            stack.callback(self._look_again, process)
            if "torch._dynamo.eval_frame" in sys.modules:  # else nothing is compiled
                stack.enter_context(torch.compiler.set_stance("force_eager"))  # compiled code runs on real memory
            stack.enter_context(shared_memory_seen(self))
            stack.enter_context(named_as_eager())
            self._watch = stack.enter_context(watched(self))
            yield

    def _take(self, start: Any) -> None:
        with DisableTorchFunction():
            self._reach.take(start)
            self._iterators.put()

    # ---- events of the profile hook

    def is_outside(self, value: Any) -> bool:
        return self._reach.holds(value)

    def first_run(self, frame: FrameType) -> None:
        with DisableTorchFunction():
            self._mentions.ran(frame)
            self._iterators.put()
        self._asked_types.ran(frame)
        for state in self._reach.hidden:
            if type(state.owner) is GeneratorType and state.owner.gi_frame is frame:
                self.unsound(note_of(state))

    def failed(self, fn: Any) -> None:
        """Records an error that eager does not raise: a token of another context, a fake tensor as a subclass."""
        row = _FAILS_HERE.get(id(callee_key(fn, ())[0]))
        if row is not None and self.broken is None:
            self.broken = self.graph_break(row[0], None, **row[1])

    def questions(self, kinds: set[str]) -> None:
        for kind in kinds:
            self.unsound(_QUESTIONS[kind])

    def _is_printing(self) -> bool:
        return self._watch is not None and self._watch.printing > 0

    def refuse(self, id: str, **names: Any) -> Any:
        if id not in TEXTS:
            return super().refuse(id, **names)
        if id == OF_AN_ERROR:
            self.unsound("the message of an error is read: it is a fake tensor's, eager may word it in another way")
        elif self._is_printing():
            self.note("a tensor is printed: the text is a fake tensor's, without data")
        else:
            self.unsound("the text of a tensor is made: it is a fake tensor's, without data")
        return "tensor(...)"

    # ---- after the run

    def _look_again(self, process: ProcessState) -> None:
        """Checks state without snapshots: settings, caches that the run has filled, iterators that it has advanced."""
        for name in process.restore(None if self._reach.follows_globals else self._mentions.names):
            self.unsound(f"the program changes {name}; the exported one does not")
        for cache in self._reach.caches:
            if (text := cache.put_back()) is not None:
                self.note(text)
        self._asked_types.put_back()
        self._mentions.put_back(self.unsound)
        self._iterators.put_back()
        for state in self._reach.hidden:
            if self._iterators.is_moved(state):
                self.unsound(note_of(state))
            elif state.before is UNKNOWN:
                self.unsound(f"it holds a {type(state.owner).__name__}: nothing shows whether the export moves it on")
            elif state.is_changed():
                state.restore()
                self.unsound(note_of(state))
        self._check_inputs()
        if not self._reach.complete:
            self.unsound("the program holds too many objects to look at: changes of the rest are not seen")
        with DisableTorchFunction():
            for tensor, gradient in self._reach.gradients:
                if tensor.grad is not gradient:
                    tensor.grad = gradient
                    self.unsound("the .grad of a parameter is set; the program does not set it")
        changed = {id(change.owner) for change in self.journal.changes()}
        self.journal.touched &= changed

    def _check_inputs(self) -> None:
        tensors = [id(leaf) for leaf in self.inputs.leaves if isinstance(leaf, torch.Tensor)]
        if len(set(tensors)) < len(tensors):
            self.unsound("one tensor is passed as several arguments, which are different objects to the program")


_QUESTIONS = {
    "is": "objects are compared with `is`, tensors among them: which are one in another call is not checked",
    "type": "the __class__ of a fake tensor is read, which is not torch.Tensor or int",
}
_FAILS_HERE: dict[int, tuple[str, dict[str, str]]] = {
    id(ContextVar.__dict__["reset"]): ("outside-object", {"what": "ContextVar.reset() with an outer token"}),
    id(TensorBase.as_subclass): ("tensor-subclass", {"name": "another class (Tensor.as_subclass)"}),
}
