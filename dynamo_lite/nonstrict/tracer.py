"""The tracer of a run that CPython makes: it sees operators, questions about sizes, and the state after the run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from dynamo_lite.nonstrict.machine import Machine
from dynamo_lite.nonstrict.state import Reach, position
from dynamo_lite.nonstrict.watch import watched
from dynamo_lite.tracing.tracer import Tracer

UNSOUND = "unsound here because "


class NativeTracer(Tracer):
    """The tracer where the interpreter does not run. What strict would have refused goes to `unsound`."""

    sees_python = False

    def __init__(self, root: Any, recorder: Any, inputs: Any = None) -> None:
        super().__init__(root, recorder, inputs)
        self.vm = Machine(self)
        self._reach = Reach(self.journal)

    def unsound(self, text: str) -> None:
        """Note what the program rests on though it need not hold."""
        self.note(f"{UNSOUND}{text}")

    def lets_pass(self, text: str) -> bool:
        self.unsound(text)
        return True

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Around the program's call."""
        self.note("CPython ran the program (strict=False): what it reads from Python is assumed, and guarded nowhere")
        self._take()
        with ExitStack() as stack:
            stack.callback(self._look_again)
            if "torch._dynamo.eval_frame" in sys.modules:  # else nothing is compiled
                stack.enter_context(torch.compiler.set_stance("force_eager"))  # compiled code runs on real memory
            stack.enter_context(watched(self.unsound, self._reach.holds))
            yield

    def _take(self) -> None:
        with torch._C.DisableTorchFunction():
            self._reach.take(self.root)
        tensors = [id(leaf) for leaf in self.inputs.leaves if isinstance(leaf, torch.Tensor)]
        if len(set(tensors)) < len(tensors):
            self.unsound("one tensor is passed as several arguments, which are different objects to the program")
        if not self._reach.complete:
            self.unsound("the program holds too many objects to look at: changes of the rest are not seen")

    def _look_again(self) -> None:
        """What no snapshot shows: caches that the run has filled, iterators that it has moved on."""
        for cache, before in self._reach.caches:
            if cache.cache_info().misses != before.misses:
                cache.cache_clear()
                name = getattr(cache, "__qualname__", "a function")
                self.note(f"the lru_cache of {name} is emptied: the run has put results of its own into it")
        for iterator, before in self._reach.iterators:
            if position(iterator) != before:
                kind = type(iterator).__name__
                self.unsound(f"a {kind} from outside is moved on: its value is a constant of the program")
        with torch._C.DisableTorchFunction():
            for tensor, gradient in self._reach.gradients:
                if tensor.grad is not gradient:
                    tensor.grad = gradient
                    self.unsound("the .grad of a parameter is set; the program does not set it")
        changed = {id(change.owner) for change in self.journal.changes()}
        self.journal.touched &= changed
