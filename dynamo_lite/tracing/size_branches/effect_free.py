"""Running a few instructions of the program that have no effect, to see where they lead.

`run` executes instructions of a frame that is running, up to a stop, under the interpreter's own handlers. Only
instructions and calls that change nothing outside of the frame, record no operator and do not depend on the example are
allowed; anything else raises `Abandon`, which no handler of the program sees. Reads of the program on the way are
reported to the tracer as usual, and become guards.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any, Final, NoReturn

import torch

from dynamo_lite.interpreter.code.handler_table import HANDLERS
from dynamo_lite.interpreter.frames.exceptions import Abandon
from dynamo_lite.tracing.diagnostics import Abort
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.policy import named_callables, skipped_calls
from dynamo_lite.tracing.policy.classify import verdict_of
from dynamo_lite.tracing.policy.verdicts import CallKind, CallVerdict
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

LIMIT: Final = 400
"""How many instructions are executed at most."""


def _handlers(names: str) -> frozenset[Any]:
    return frozenset(HANDLERS[name] for name in names.split())


_PLAIN = _handlers(
    "LOAD_CONST LOAD_FAST LOAD_FAST_AND_CLEAR LOAD_DEREF LOAD_GLOBAL LOAD_GLOBAL_CALLEE LOAD_SUPER PUSH_NULL "
    "STORE_FAST DELETE_FAST POP_TOP COPY SWAP IS_OP JUMP POP_JUMP_IF_TRUE POP_JUMP_IF_FALSE POP_JUMP_IF_NONE "
    "POP_JUMP_IF_NOT_NONE JUMP_IF_TRUE_OR_POP JUMP_IF_FALSE_OR_POP BUILD_TUPLE BUILD_LIST BUILD_SLICE BUILD_STRING "
    "BUILD_CONST_KEY_MAP LIST_TO_TUPLE CALL CALL_KW CALL_FUNCTION_EX RETURN_VALUE IMPORT_FROM GET_LEN MAKE_CELL "
    "FORMAT_VALUE CONVERT_VALUE"
)
"""Instructions that change nothing but the frame; the effects of calls are judged by the call."""
_OF_VALUES = _handlers("BINARY_OP COMPARE_OP CONTAINS_OP BINARY_SUBSCR UNARY_NOT UNARY_NEGATIVE UNARY_POSITIVE TO_BOOL")
"""Instructions that are operators of tensors, where an operand is one."""
_ATTRIBUTES = _handlers("LOAD_ATTR LOAD_METHOD")
_IMPORT, _UNPACK = HANDLERS["IMPORT_NAME"], HANDLERS["UNPACK_SEQUENCE"]
_CONTAINS, _CALL_EX = HANDLERS["CONTAINS_OP"], HANDLERS["CALL_FUNCTION_EX"]
_OF_TENSORS = frozenset(
    {
        *("shape", "dtype", "device", "ndim", "layout", "requires_grad", "is_leaf", "is_sparse", "is_quantized"),
        *("is_meta", "size", "dim", "numel"),
    }
)
"""Attributes of tensors that no operator gives."""
_ASK_TENSORS = frozenset(
    map(id, (isinstance, len, type, hasattr, callable, torch.Tensor.size, torch.Tensor.dim, torch.Tensor.numel))
)
"""Callables that may be given tensors."""
_ASK_ANYTHING = frozenset(map(id, (isinstance, type, hasattr, getattr, callable, id, len)))
"""Callables that advance no iterator."""
_VIEW_NAMES = frozenset({"expand", "expand_as", "view", "view_as", "reshape", "reshape_as", "narrow", "contiguous"})
_VIEWS = frozenset(id(getattr(torch.Tensor, name)) for name in _VIEW_NAMES)
"""Methods of tensors that give their elements in their order (equal_views.py)."""
_PURE = frozenset({CallKind.PURE, CallKind.CALLS_BACK})


def abandon() -> NoReturn:
    """End the run: the next instruction has an effect, or may have one."""
    raise Abandon


class EffectFree:
    """One such run; `holds` returns the truth of a condition on sizes in it, or None."""

    def __init__(self, tracer: TracerView, holds: Callable[[Any], bool | None]) -> None:
        self._tracer, self._holds = tracer, holds
        self._left = LIMIT

    def run(self, frame: Any, stops: Container[int]) -> bool:
        """Run `frame` to a stop, or to its return. False if that would have an effect, or raises.

        The caller puts the frame back.
        """
        tracer, vm, env = self._tracer, self._tracer.vm, self._tracer.recorder.env
        assert env is not None and env.client is not None
        client = env.client
        outer, broken = (vm.frame, vm.handled.value), tracer.broken
        before, client.abandons = client.abandons, abandon
        try:
            with _hooked(vm, self._instruction, self._call, _no_write, abandon_raise, self._branch):
                vm.run_until(frame, stops)
        except (Abandon, Abort, Exception):  # the program need not take this side: an error there is not reported
            tracer.broken = broken
            return False
        finally:
            client.abandons = before
            vm.frame, vm.handled.value = outer
        return True

    def _instruction(self, frame: Any, operation: tuple[Any, Any]) -> None:
        self._left -= 1
        if self._left < 0 or not (is_effect_free(frame, operation) and not _is_of_tensors(frame, operation)):
            abandon()

    def _call(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not _changes_nothing(self._tracer, fn, args, kwargs):
            abandon()
        return self._tracer.before_call(fn, args, kwargs)  # type: ignore[attr-defined]

    def _branch(self, frame: Any, value: Any, jumps_if: bool, target: int, keeps: bool) -> Any:
        """Handle a jump within the run: a condition that is not decided there ends it."""
        truth = self._holds(value)
        if truth is None:
            abandon()
        if truth is jumps_if:
            frame.pc = target
        elif keeps:
            frame.stack.pop()
        return None


class ViewsOnly:
    """Runs the program as usual, and checks that it has no effect, and only makes views of tensors.

    Attributes:
        otherwise: called as soon as that is not so, before the next instruction.
        is_so: whether it was so to the end.
    """

    def __init__(self, tracer: TracerView, otherwise: Callable[[], None]) -> None:
        self._tracer, self._otherwise = tracer, otherwise
        self.is_so = True

    def run(self, frame: Any, stops: Container[int]) -> None:
        """Run `frame` to a stop, or to its return."""
        vm = self._tracer.vm
        self._outer = vm.on_instruction, vm.before_call, vm.before_write, vm.before_raise
        with _hooked(vm, self._instruction, self._call, self._write, self._raise, vm.on_branch):
            vm.run_until(frame, stops)

    def end(self) -> None:
        """From here on it is not so."""
        if self.is_so:
            vm = self._tracer.vm
            vm.on_instruction, vm.before_call, vm.before_write, vm.before_raise = self._outer
            self.is_so = False
            self._otherwise()

    def _instruction(self, frame: Any, operation: tuple[Any, Any]) -> None:
        if self._outer[0] is not None:
            self._outer[0](frame, operation)
        if self.is_so and not (is_effect_free(frame, operation) and not _is_of_tensors(frame, operation, _VIEW_NAMES)):
            self.end()

    def _call(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.is_so and id(fn) not in _VIEWS and not _changes_nothing(self._tracer, fn, args, kwargs):
            self.end()
        return self._outer[1](fn, args, kwargs)

    def _write(self, *args: Any) -> None:
        self.end()
        self._outer[2](*args)

    def _raise(self, error: BaseException) -> None:
        self.end()
        self._outer[3](error)


@contextmanager
def _hooked(vm: Any, instruction: Any, call: Any, write: Any, raised: Any, branch: Any) -> Iterator[None]:
    before = vm.on_instruction, vm.before_call, vm.before_write, vm.before_raise, vm.on_branch
    vm.on_instruction, vm.before_call, vm.before_write, vm.before_raise, vm.on_branch = (
        instruction, call, write, raised, branch)  # fmt: skip
    try:
        yield
    finally:
        vm.on_instruction, vm.before_call, vm.before_write, vm.before_raise, vm.on_branch = before


def _no_write(*args: Any) -> None:
    abandon()


def abandon_raise(error: BaseException) -> None:
    """The program raises an exception."""
    abandon()


def may_be_effect_free(operation: tuple[Any, Any]) -> bool:
    """Whether an instruction can be one of those that `is_effect_free` allows, whatever its operands are."""
    handler = operation[0]
    return handler in _PLAIN or handler in _OF_VALUES or handler in _ATTRIBUTES or handler in (_IMPORT, _UNPACK)


def is_effect_free(frame: Any, operation: tuple[Any, Any]) -> bool:
    """Whether an instruction that is about to run changes nothing but the frame, calls aside."""
    handler, arg = operation
    if handler is _IMPORT:
        return arg in sys.modules
    if handler is _UNPACK:
        return type(frame.stack[-1]) in (tuple, list, torch.Size)
    if handler is _CONTAINS:
        return not _is_advanced(frame.stack[-1])
    if handler is _CALL_EX:
        return type(frame.stack[-2 if arg else -1]) in (tuple, list)
    return may_be_effect_free(operation)


def _is_of_tensors(frame: Any, operation: tuple[Any, Any], others: Container[str] = ()) -> bool:
    """Whether an instruction is an operator of tensors. others: attributes that are not counted."""
    handler, arg = operation
    if handler in _OF_VALUES:
        return any(map(is_tensor, frame.stack[-2:]))
    return handler in _ATTRIBUTES and is_tensor(frame.stack[-1]) and arg not in _OF_TENSORS and arg not in others


def _is_advanced(value: Any, depth: int = 3) -> bool:
    """Whether iterating over a value, or over its items, may leave it in another state: it is an iterator, or its class
    defines its iterator in Python."""
    kind = type(value)
    if kind in (tuple, list, set, frozenset, dict):
        return depth == 0 or any(_is_advanced(item, depth - 1) for item in value) or (
            kind is dict and any(_is_advanced(item, depth - 1) for item in value.values())
        )
    return hasattr(kind, "__next__") or type(getattr(kind, "__iter__", None)) is FunctionType


def _changes_nothing(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call provably changes nothing and runs no operator: the callable is interpreted, or is in C, pure, and
    is given no tensor and no iterator."""
    if id(fn) in _ASK_TENSORS or fn is builtins.__import__:
        return True
    if id(fn) in named_callables.loaded(skipped_calls.TRUE_WHILE_TRACING):
        return True
    if type(fn) is FunctionType:
        return id(fn) not in tracer.rules and not tracer.runs_natively(fn)  # type: ignore[attr-defined]
    verdict = verdict_of(fn)
    if type(verdict) is not CallVerdict or verdict.kind not in _PURE or any(map(is_tensor, (*args, *kwargs.values()))):
        return False
    return id(fn) in _ASK_ANYTHING or not _is_advanced([getattr(fn, "__self__", None), [*args], [*kwargs.values()]], 4)
