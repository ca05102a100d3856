"""Replaces the interpreter: calls the program natively.

The tracer's rules without which a recording is impossible (control-flow operators, autograd.Function, checkpoints,
modules, "is this an export?") still apply: the Python functions among their callables get trampolines during the run
(dynamo_lite/interpreter/datamodel/trampolines.py), those written in C are intercepted by a torch function mode.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from types import (
    BuiltinFunctionType,
    FrameType,
    FunctionType,
    MethodDescriptorType,
    MethodWrapperType,
    WrapperDescriptorType,
)
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from dynamo_lite.features import torchscript
from dynamo_lite.features.texts import error_messages
from dynamo_lite.interpreter import Interpreter
from dynamo_lite.interpreter.datamodel.trampoline_code import original_code
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.nonstrict.frames import innermost
from dynamo_lite.nonstrict.interfaces import NativeTrace
from dynamo_lite.nonstrict.profile_hook import loaded, unwatched
from dynamo_lite.torch_internals._torch_autograd import APPLY_IS_PYTHON, function_apply
from dynamo_lite.torch_internals._torch_tensors import _version
from dynamo_lite.tracing.calls import marked_constructors
from dynamo_lite.tracing.higher_order import table as higher_order
from dynamo_lite.tracing.policy import skipped_calls
from dynamo_lite.tracing.policy.native_modules import is_trusted_module
from dynamo_lite.undoing import changed

Rule = Callable[..., Any]
_RECORDING = frozenset({"dynamo_lite.capture.recorder", "dynamo_lite.capture.graph.subgraph_calls"})


class Machine(Interpreter):
    """Runs the program in CPython, with the methods of an interpreter that rules and `Run` use."""

    def __init__(self, tracer: NativeTrace) -> None:
        self._boundary: FrameType | None = None
        super().__init__()
        self._tracer = tracer
        self._answered = _functions_with_rules(tracer.rules)
        self.enters_by_trampoline = self._enters
        self.runs_natively = lambda fn: id(fn) not in self._answered  # no other function gets a trampoline

    @property
    def frame(self) -> Any:
        """The program's innermost frame."""
        if self._boundary is None:
            return None
        with unwatched():
            return innermost(self._boundary)

    @frame.setter
    def frame(self, value: Any) -> None:
        """The stack is CPython's."""

    def enter(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the program. Its exceptions propagate unchanged."""
        with self._tracer.watching(), _Rules(self._tracer), self._trampolines_armed(), self._function_apply():
            return self._run(fn, args, kwargs)

    def _run(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run in a copy of the context: values that the program gives to context variables are discarded."""
        context = copy_context()
        before = dict(context.items())
        self._boundary = sys._getframe()
        try:
            return context.run(fn, *args, **kwargs)
        finally:
            self._boundary = None
            for variable, value in context.items():
                if variable not in before or before[variable] is not value:
                    text = f"the context variable {variable.name!r} is set; the program does not set it"
                    self._tracer.unsound(text)

    @contextmanager
    def _trampolines_armed(self) -> Iterator[None]:
        def undo() -> None:
            self.trampolines.open = False
            self.trampolines.release()

        with changed(undo):
            for fn, _ in self._answered.values():
                self.trampolines.arm_function(fn)
            self.trampolines.open = True
            yield

    @contextmanager
    def _function_apply(self) -> Iterator[None]:
        """autograd.Function.apply where it is written in C, which has no trampoline: a function in its place answers by
        its rule."""
        if APPLY_IS_PYTHON:
            yield
            return
        own = function_apply()
        rule = self._tracer.rules[id(own)]

        def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._is_called_by_program():
                return own.__get__(None, cls)(*args, **kwargs)
            return rule(self._tracer, own, (cls, *args), kwargs)

        with changed(partial(setattr, torch.autograd.Function, "apply", own)):
            torch.autograd.Function.apply = classmethod(apply)  # type: ignore[assignment,method-assign]
            yield

    def _is_called_by_program(self) -> bool:
        """Whether the caller's caller is the program."""
        frame: FrameType | None = sys._getframe(2)
        assert frame is not None
        if is_trusted_module(str(frame.f_globals.get("__name__", ""))):
            return False
        return self._outside_of_kernels(frame)

    def call_natively(
        self, fn: Any, key: Any, args: tuple[Any, ...], full_args: tuple[Any, ...], kwargs: dict[str, Any] | None
    ) -> Any:
        return self._natively(fn, args, kwargs)

    def _enters(self, fn: FunctionType) -> bool:
        """Whether a call of a function with a trampoline is the program's."""
        frame: FrameType | None = sys._getframe(3)  # through the trampoline and its trampoline
        assert frame is not None
        caller = str(frame.f_globals.get("__name__", ""))
        if fn is not _CALL_MODULE and caller != marked_constructors.WRAPPERS and is_trusted_module(caller):
            return False
        return self._outside_of_kernels(frame)

    def _outside_of_kernels(self, frame: FrameType | None) -> bool:
        while frame is not None and frame is not self._boundary:
            if frame.f_globals.get("__name__") in _RECORDING:
                return False  # an operator's own kernel
            frame = frame.f_back
        return True

    def call(self, fn: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        """Call `fn` as the program does; a function that has a rule is answered by it."""
        row = self._answered.get(id(fn))
        if row is None:
            compiled = torchscript.plan(self._tracer, fn)
            if compiled is not None:
                return compiled(self._tracer, fn, args, kwargs or {})
            return self._natively(fn, args, kwargs)
        answer = row[1](self._tracer, fn, args, kwargs or {})
        return self.interpret_function(fn, args, kwargs) if answer is NOT_HANDLED else answer

    def interpret_function(self, fn: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
        """Run the function itself, whatever trampoline it has."""
        code = original_code(fn.__code__)
        own = FunctionType(code, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)
        own.__kwdefaults__ = fn.__kwdefaults__
        return self._natively(own, args, kwargs)

    def _natively(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any:
        was, self.trampolines.open = self.trampolines.open, True
        try:
            return fn(*args, **(kwargs or {}))
        finally:
            self.trampolines.open = was


_C_FUNCTIONS = frozenset({BuiltinFunctionType, MethodDescriptorType, MethodWrapperType, WrapperDescriptorType})
_OPERATORS = frozenset({"torch.functional", "torch.nn.functional"})
"""Modules of Python functions that call operators and nothing of the program's."""
_SWAP = "torch.utils:swap_tensors"
_CALL_MODULE: Any = nn.Module._wrapped_call_impl


def _functions_with_rules(table: dict[int, Rule]) -> dict[int, tuple[FunctionType, Rule]]:
    """id → (Python function, rule) for those rules that hold natively as well; all are torch's own functions."""
    unseen = (*skipped_calls.DISPATCH_MODES, *skipped_calls.DUAL_NUMBERS, *skipped_calls.NESTED)
    named = (
        *skipped_calls.TRUE_WHILE_TRACING,
        *skipped_calls.BACKWARD,
        *unseen,
        "torch:_assert",
        *("torch.jit:is_scripting", "torch.jit:trace", "torch.jit:trace_module"),
        "torch.utils.checkpoint:checkpoint",
        _SWAP,
    )
    functions = [_CALL_MODULE, *higher_order.callables(), *map(loaded, named)]
    return {id(fn): (fn, table[id(fn)]) for fn in functions if type(fn) is FunctionType and id(fn) in table}


class _Rules(TorchFunctionMode):
    """Answers torch's functions written in C by the tracer's rules: tolist(), torch.tensor() of sizes, data_ptr()."""

    def __init__(self, tracer: NativeTrace) -> None:
        super().__init__()
        self._tracer = tracer

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        try:
            return self._answer(func, args, kwargs or {})
        except Exception as error:
            if self._is_the_programs():
                error_messages.check(self._tracer, error)  # the program may read it, and C++ no longer does
            raise

    def _answer(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        rule = self._tracer.rules.get(id(func))
        if rule is not None and type(func) is not FunctionType and self._is_the_programs(3):
            answer = rule(self._tracer, func, args, kwargs)
            if answer is not NOT_HANDLED:
                return answer
        if type(func) in _C_FUNCTIONS or getattr(func, "__module__", "") in _OPERATORS:
            with unwatched():
                result = func(*args, **kwargs)
        else:
            result = func(*args, **kwargs)
        if getattr(func, "__name__", "") == "__get__" and self._is_the_programs(3):
            self._attribute(func.__self__, result)
        return result

    def _attribute(self, attribute: Any, value: Any) -> None:
        """Notes attributes that differ between a fake tensor and the tensor."""
        if attribute is _version:
            self._tracer.unsound("Tensor._version counts the writes of the export; eager's goes on counting")
        elif attribute is torch.Tensor.grad_fn and value is not None:
            self._tracer.unsound("Tensor.grad_fn is read: the graph of autograd is that of the export")

    @staticmethod
    def _is_the_programs(depth: int = 2) -> bool:
        caller = sys._getframe(depth).f_globals.get("__name__", "")
        return not str(caller).startswith("dynamo_lite.") and not is_trusted_module(str(caller))
