"""Rules for values that are known at run time only: tensor.tolist(), math.isnan(), and an `assert` on data."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from dynamo_lite.interpreter.code.handler_table import HANDLERS
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.torch_internals._torch_tensors import TensorBase
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.sizes import endless_loops
from dynamo_lite.tracing.sizes.builtin_calls import SizesInCalls
from dynamo_lite.tracing.vocabulary import asserted_branches
from dynamo_lite.tracing.vocabulary.exception_handlers import may_be_caught
from dynamo_lite.tracing.vocabulary.symbolic_numbers import SYMBOLIC
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor


def call_tolist(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """Tensor.tolist(): lists as long as the sizes (which are fixed by that), of one value from run time each; those of
    constant data at once."""
    if len(args) != 1 or kwargs or not is_tensor(args[0]):
        return NOT_HANDLED
    known = tracer.recorder.constant_values.listed(tracer.recorder.known_fake(args[0]))
    if known is not None:
        return known
    state = tracer.own(SizesInCalls)
    state.number_for = "tolist"
    try:
        return _values(args[0])
    finally:
        state.number_for = None


def _values(tensor: torch.Tensor) -> Any:
    if tensor.dim() == 0:
        return tensor.item()
    return [_values(row) for row in tensor.unbind(0)]


def _of_numbers(meaning: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return a rule for a math function that tests for nan or infinity, as a comparison: it stays symbolic."""

    def rule(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
        if len(args) != 1 or kwargs or type(args[0]) is not torch.SymFloat or args[0].node.has_hint():
            return NOT_HANDLED
        return meaning(args[0])

    return rule


# -- assert ----------------------------------------------------------------------------------------------------------

_JUMPS = {HANDLERS["POP_JUMP_IF_TRUE"]: True, HANDLERS["POP_JUMP_IF_FALSE"]: False}
_FAILS, _TRUTH = HANDLERS["LOAD_ASSERTION_ERROR"], HANDLERS["TO_BOOL"]
_CONSTANT, _DROPS, _GOES_ON = HANDLERS["LOAD_CONST"], HANDLERS["POP_TOP"], HANDLERS["JUMP"]


def assert_truth(tracer: TracerView, value: Any) -> Any:
    """The truth of a condition on data that the program asserts (`assert`, or a branch that only raises): what does not
    fail, which becomes an assertion of the exported program. NOT_HANDLED for other values, and elsewhere."""
    if type(value) not in SYMBOLIC and not is_tensor(value):
        return NOT_HANDLED
    frame = tracer.vm.frame
    asserted = _asserted(frame)
    if asserted is None and (is_tensor(value) or not value.node.has_hint()):
        asserted = _raised(frame)
    if asserted is None or may_be_caught(frame, frozenset({asserted[2], RuntimeError})):  # eager's class, and ours
        return NOT_HANDLED
    endless_loops.check(tracer, frame)
    wanted, message, _ = asserted
    if is_tensor(value):
        return _assert_tensor(value, wanted, message)
    condition = value if type(value) is torch.SymBool else value != 0
    if type(condition) is not torch.SymBool:
        return condition
    holds = condition if wanted else torch.sym_not(condition)
    env = holds.node.shape_env
    origin = replace(env.where(), kind="torch._check", note=f"({message})")
    return wanted if env.expect_true(env.unwrap(holds), origin=lambda: origin) else not wanted


def is_assertion(frame: Any) -> bool:
    """Whether the current jump is that of an `assert`, or of a branch that only raises what nothing catches."""
    asserted = _asserted(frame) or _raised(frame)
    return asserted is not None and not may_be_caught(frame, frozenset({asserted[2], RuntimeError}))


def wanted_by_assertion(frame: Any) -> bool | None:
    """Return the truth that continues, if the current instruction decides an `assert`, or a branch that only raises."""
    asserted = _asserted(frame) or _raised(frame)
    return None if asserted is None else asserted[0]


def _asserted(frame: Any) -> tuple[bool, str, type[Exception]] | None:
    """(the truth that does not fail, the message, the class of the error), if the current instruction decides a jump of
    an `assert`."""
    ops = frame.info.ops
    jump = _jump(frame)
    if jump is None:
        return None
    jumps_if, following, target = jump
    wanted, at = jumps_if, _failure(ops, following)
    if at is None:
        wanted, at = not jumps_if, _failure(ops, target)
        if at is None:
            return None
    after = ops[at + 1] if at + 1 < len(ops) else (None, None)
    text = after[1] if after[0] is _CONSTANT and isinstance(after[1], str) else ""
    return wanted, text or f"assertion failed in {frame.code.co_name}", AssertionError


def _raised(frame: Any) -> tuple[bool, str, type[Exception]] | None:
    """(the truth that does not raise, the message, the class of the error), if one way of the current jump does nothing
    but raise."""
    jump = _jump(frame)
    if jump is None:
        return None
    jumps_if, following, target = jump
    here, there = asserted_branches.raised_at(frame, following), asserted_branches.raised_at(frame, target)
    if (here is None) is (there is None):
        return None
    return (jumps_if, here[1], here[0]) if here is not None else (not jumps_if, there[1], there[0])  # type: ignore[index]


def _jump(frame: Any) -> tuple[bool, int, int] | None:
    """(the truth that jumps, what follows if it does not, where to), if the current instruction decides a jump."""
    ops, following = frame.info.ops, frame.pc
    if ops[following - 1][0] is _TRUTH:  # since 3.13 the truth is asked for before the jump
        following += 1
    handler, target = ops[following - 1]
    jumps_if = _JUMPS.get(handler)
    return None if jumps_if is None else (jumps_if, following, target)


def _failure(ops: Any, at: int) -> int | None:
    """Where AssertionError is loaded, if nothing else happens from `at` on. (A chained comparison drops its middle.)"""
    for _ in range(4):
        if at >= len(ops):
            return None
        handler, arg = ops[at]
        if handler is _FAILS:
            return at
        if handler is not _DROPS and handler is not _GOES_ON:
            return None
        at = arg if handler is _GOES_ON else at + 1
    return None


def _assert_tensor(value: torch.Tensor, wanted: bool, message: str) -> Any:
    if value.numel() != 1:
        return NOT_HANDLED  # the truth of several values is an error of torch's
    condition = value.reshape(()) if value.dtype is torch.bool else value.reshape(()) != 0
    torch._assert_async(condition if wanted else torch.logical_not(condition), message)
    return wanted


def table() -> dict[int, Callable[..., Any]]:
    """id(callable) → rule."""
    return {
        id(TensorBase.tolist): call_tolist,
        id(math.isnan): _of_numbers(lambda number: number != number),
        id(math.isinf): _of_numbers(lambda number: abs(number) == math.inf),
        id(math.isfinite): _of_numbers(lambda number: abs(number) < math.inf),
    }
