"""Rules for functions of the module `math`: symbolic where torch has a form, with the domain that math checks."""

from __future__ import annotations

import math
from typing import Any

import torch

from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.symbolic_shapes.expressions.floats import apply_float, as_float
from dynamo_lite.tracing.interfaces import Step, TracerView
from dynamo_lite.tracing.sizes.builtin_calls import call_float
from dynamo_lite.tracing.vocabulary.symbolic_numbers import SYMBOLIC, real_type
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

_UNBOUNDED: tuple[Any, Any] = (None, None)
_MATH: dict[str, tuple[Any, Any]] = {
    "sqrt": (0, None),
    "cos": _UNBOUNDED,
    "cosh": _UNBOUNDED,
    "sin": _UNBOUNDED,
    "sinh": _UNBOUNDED,
    "tan": _UNBOUNDED,
    "tanh": _UNBOUNDED,
    "asin": (-1, 1),
    "acos": (-1, 1),
    "atan": _UNBOUNDED,
}
"""Function of math that torch has a symbolic form of → its domain. Outside of it math raises."""


def _math(name: str, low: Any, high: Any) -> Step:
    symbolic = getattr(torch, f"_sym_{name}")

    def rule(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
        if len(args) != 1 or kwargs:
            return NOT_HANDLED
        value = call_float(tracer, fn, args, kwargs) if is_tensor(args[0]) else args[0]
        if type(value) not in (torch.SymInt, torch.SymFloat):
            return NOT_HANDLED
        if low is not None and not value.node.has_hint():
            tracer.vm.interpret_function(_CHECK_DOMAIN, (value, low, math.inf if high is None else high), {})
        elif (low is not None and value < low) or (high is not None and value > high):
            raise ValueError("math domain error")
        return symbolic(value)

    return rule


def _logarithm(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """math.log(n), math.log(n, base), math.log2(n): of a positive number; others raise."""
    if kwargs or len(args) not in ((1, 2) if fn is math.log else (1,)):
        return NOT_HANDLED
    if len(args) == 2:
        if not any(type(arg) in _NUMBERS for arg in args):
            return NOT_HANDLED
        # As CPython divides them. A base of 1 is a division by zero there, too.
        over, under = (tracer.vm.call(math.log, (arg,)) for arg in args)
        return over / under
    value = call_float(tracer, fn, args, kwargs) if is_tensor(args[0]) else args[0]
    if type(value) not in _NUMBERS:
        return NOT_HANDLED
    if not value.node.has_hint():
        tracer.vm.interpret_function(_CHECK_POSITIVE, (value,), {})
    elif value <= 0:
        return NOT_HANDLED
    return _applied(tracer, "log" if fn is math.log else "log2", value)


def _exponential(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """math.exp(n), which raises an error beyond the range of floats."""
    if kwargs or len(args) != 1 or type(args[0]) not in _NUMBERS or not args[0].node.has_hint():
        return NOT_HANDLED
    return _applied(tracer, "exp", args[0]) if args[0] <= _GREATEST_EXPONENT else NOT_HANDLED


def _applied(tracer: TracerView, name: str, value: Any) -> Any:
    """The function of a number as an expression."""
    env: Any = tracer.recorder.env
    return env.wrap(apply_float(name, as_float(env.unwrap(value))))


_NUMBERS = (torch.SymInt, torch.SymFloat)
_GREATEST_EXPONENT = 709
"""Of math.exp: e**710 is beyond the range of floats."""


def _check_domain(value: Any, low: float, high: float) -> None:
    """Interpreted, for a number that only run time knows: branches of the program that do nothing but raise."""
    if value < low:
        raise ValueError("math domain error")
    if high != math.inf and value > high:
        raise ValueError("math domain error")


def _check_positive(value: Any) -> None:
    """As `_check_domain`, of a logarithm."""
    if value <= 0:
        raise ValueError("math domain error")


_CHECK_DOMAIN: Any = _check_domain
_CHECK_POSITIVE: Any = _check_positive


def _rounded(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """math.floor(tensor), math.ceil(tensor): of its value."""
    if len(args) != 1 or kwargs or not is_tensor(args[0]):
        return NOT_HANDLED
    return tracer.vm.call(fn, (call_float(tracer, fn, args, kwargs),))


def call_math_pow(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """math.pow(x, y): a float power. A base that is not positive may raise: then the numbers are taken, except for an
    exponent of 0, 1, 2, ..., which suits every base."""
    if len(args) != 2 or kwargs or not any(type(a) in SYMBOLIC for a in args):
        return NOT_HANDLED
    base, exponent = args
    if (type(exponent) in (int, float) and exponent >= 0 and float(exponent).is_integer()) or base > 0:
        return torch.sym_float(base) ** torch.sym_float(exponent)
    return NOT_HANDLED


def call_copysign(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """math.copysign(x, y): only the sign of `y` is used. (Zeros are left to numbers: a float may be -0.0.)"""
    if len(args) != 2 or kwargs or not any(type(arg) in SYMBOLIC for arg in args):
        return NOT_HANDLED
    size, sign = args
    if {real_type(size), real_type(sign)} - {int, float} or (type(sign) is torch.SymFloat and sign == 0):
        return NOT_HANDLED
    if type(size) not in SYMBOLIC:
        return math.copysign(size, 1.0 if sign >= 0 else -1.0)
    if size == 0:
        return NOT_HANDLED
    negative = sign < 0 if type(sign) in SYMBOLIC else math.copysign(1.0, sign) < 0
    return -torch.sym_float(abs(size)) if negative else torch.sym_float(abs(size))


def call_fabs(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """math.fabs(n): a float."""
    if len(args) != 1 or kwargs or type(args[0]) not in (torch.SymInt, torch.SymFloat):
        return NOT_HANDLED
    return torch.sym_float(abs(args[0]))


def table() -> dict[int, Step]:
    """id(callable) → rule."""
    rows: dict[int, Step] = {
        id(math.pow): call_math_pow,
        id(math.copysign): call_copysign,
        id(math.fabs): call_fabs,
        id(math.floor): _rounded,
        id(math.ceil): _rounded,
        id(math.log): _logarithm,
        id(math.log2): _logarithm,
        id(math.exp): _exponential,
    }
    return rows | {id(getattr(math, name)): _math(name, *domain) for name, domain in _MATH.items()}
