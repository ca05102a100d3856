"""Rules for sizes in Python code: which results stay symbolic, and which calls need the number.

Arithmetic and comparison are the symbolic sizes' own; operations through their types are in number_methods.py. Here are
the callables that C code would answer with less (`int(n)`, `min(n, 8)`, `len(x)`, `range(n)`), or without treating a
symbolic size as a number (`isinstance(n, int)`), and the policy for all other C code: it is given numbers. The
functions of `math` are in math_functions.py.
"""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch

from dynamo_lite.interpreter import datamodel
from dynamo_lite.interpreter.code.handler_table import HANDLERS
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.findings import Specializations
from dynamo_lite.tracing.interfaces import FeatureState, Step, TracerView
from dynamo_lite.tracing.policy.native_modules import is_trusted
from dynamo_lite.tracing.strings.nondeterministic import Unrecordable, is_instance
from dynamo_lite.tracing.tensors import type_queries
from dynamo_lite.tracing.vocabulary.symbolic_numbers import PYTHON_TYPE, SYMBOLIC, Specialization, concrete, real_type
from dynamo_lite.tracing.vocabulary.type_tests import is_fake, is_tensor


def specialized(tracer: TracerView, expression: Any, value: Any) -> None:
    """Add a size that the program fixes to `Specializations` (`Client.specialized`)."""
    env = tracer.recorder.env
    assert env is not None
    row = Specialization(str(expression), value, env.where(), _needs_number(tracer), _unrolls(tracer))
    tracer.own(Specializations).rows.append(row)


_HEADS = frozenset({
    "range", "enumerate", "zip", "reversed", "map", "filter", "pairwise", "unbind", "split", "chunk",
    "list", "tuple", "sum", "any", "all", "max", "min", "prod", "reduce", "extend",
})  # fmt: skip
"""Callables that make the iterator of a loop over a size, or are such a loop."""


def _unrolls(tracer: TracerView) -> bool:
    """Whether a size becomes a number for a loop over it, or a list of that length (a sign: `range(n)` may go elsewhere
    than into a `for`)."""
    if asks(tracer) in _HEADS:
        return True
    frame = tracer.vm.frame
    ops = getattr(frame.info, "ops", ()) if frame is not None else ()  # strict=False has no instructions
    if frame is None or not ops:
        return False
    handler, arg = ops[frame.pc - 1]
    if handler is HANDLERS["BINARY_OP"]:
        return arg == "*" and type(frame.stack[-1]) in (list, tuple, torch.SymInt)
    return handler is HANDLERS["GET_ITER"]


def asks(tracer: TracerView) -> str | None:
    """Return the name of the call that needs a number, if it runs natively."""
    fn = tracer.native_call.function
    native = None if type(fn) is FunctionType and not is_trusted(fn) else getattr(fn, "__name__", None)
    if "<locals>" in getattr(fn, "__qualname__", ""):  # no name that the user could know
        native = None
    return tracer.own(SizesInCalls).number_for or native


def _needs_number(tracer: TracerView) -> str:
    name = asks(tracer)
    return f"{name}() needs the number" if name else "this needs the number"


# -- the types of symbolic sizes -----------------------------------------------------------------------------------


def call_isinstance(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """isinstance(n, C) and issubclass through a class's own hooks: n is an int."""
    if len(args) == 2 and type(args[0]) in SYMBOLIC:
        return tracer.vm.call(fn, (PYTHON_TYPE[type(args[0])](), args[1]), kwargs)
    if len(args) == 2 and is_fake(args[0]):
        type_queries.instance(tracer, *args)
    elif len(args) == 2 and issubclass(type(args[0]), Unrecordable):
        return is_instance(*args)
    return NOT_HANDLED


def identical(left: Any, right: Any) -> bool:
    """Whether `left is right`, for two different objects of which one represents a number.

    CPython has one object for each int from -5 to 256, and one for each bool; other numbers that come from different
    operations are different objects.
    """
    if real_type(left) is not real_type(right) or real_type(left) is float:
        return False
    if real_type(left) is bool:
        return bool(left) is bool(right)
    return bool(left >= -5) and bool(left <= 256) and bool(left == right)


# -- conversions ---------------------------------------------------------------------------------------------------


def call_int(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """int(n), int(n / 2), int(tensor): symbolic."""
    if len(args) != 1 or kwargs:
        return NOT_HANDLED
    value = args[0]
    if is_tensor(value):
        value = _element(tracer, value)
    elif issubclass(type(value), Unrecordable):
        return value  # a number of which nothing is known, as it was
    elif type(value) not in SYMBOLIC and (own := _own_conversion(tracer, value, ("__int__",))) is not NOT_HANDLED:
        return own if type(own) is torch.SymInt else int(_Returns(own))
    if type(value) is torch.SymInt:
        return value
    if type(value) is torch.SymFloat:
        return torch.sym_int(value)
    if type(value) is torch.SymBool:
        return torch.sym_ite(value, 1, 0)
    return int(value) if value is not args[0] else NOT_HANDLED


def call_float(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """float(n), float(tensor): symbolic."""
    if len(args) != 1 or kwargs:
        return NOT_HANDLED
    value = args[0]
    if is_tensor(value):
        value = _element(tracer, value)
    elif issubclass(type(value), Unrecordable):
        return value  # a number of which nothing is known, as it was
    elif type(value) not in SYMBOLIC and (own := _own_conversion(tracer, value, ("__float__",))) is not NOT_HANDLED:
        return own if type(own) is torch.SymFloat else float(_Returns(own))
    if type(value) is torch.SymBool:
        value = torch.sym_ite(value, 1, 0)
    if type(value) in SYMBOLIC:
        return torch.sym_float(value)
    return float(value) if value is not args[0] else NOT_HANDLED


def _own_conversion(tracer: TracerView, value: Any, names: tuple[str, ...]) -> Any:
    """Return the result of the program's own `__int__` or `__float__`; else NOT_HANDLED, without a call."""
    for name in names:
        method = datamodel.type_lookup(type(value), name)
        if method is not datamodel.MISSING:
            return tracer.vm.call(method, (value,)) if type(method) is FunctionType else NOT_HANDLED
    return NOT_HANDLED


class _Returns:
    """An object for int() and float(), which raise C's own error for an invalid result of a conversion."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __int__(self) -> Any:
        return self.value

    def __float__(self) -> Any:
        return self.value


def call_bool(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """bool(tensor), bool(number of the data): symbolic, until a branch depends on it."""
    if len(args) != 1 or kwargs:
        return NOT_HANDLED
    value = args[0]
    if is_tensor(value):
        if value.is_complex() or any(type(size) is not int or size != 1 for size in value.shape):
            return NOT_HANDLED
        value = tracer.vm.call(torch.Tensor.item, (value,))
        if type(value) not in SYMBOLIC:
            return bool(value)
    elif type(value) not in SYMBOLIC or value.node.has_hint():
        return NOT_HANDLED
    return value if type(value) is torch.SymBool else value != 0


def call_index(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """operator.index(n): itself; operator.index(tensor): its value, of an integer."""
    if len(args) == 1 and type(args[0]) is torch.SymInt:
        return args[0]
    if len(args) == 1 and is_tensor(args[0]) and not (args[0].is_floating_point() or args[0].is_complex()):
        if args[0].numel() != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return call_int(tracer, fn, args, kwargs)
    return NOT_HANDLED


def _element(tracer: TracerView, tensor: torch.Tensor) -> Any:
    """The value of a tensor of one element. Raises ValueError for others, where item() has another error."""
    if tensor.numel() != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return tracer.vm.call(torch.Tensor.item, (tensor,))


# -- min, max, len, range ------------------------------------------------------------------------------------------


def _extreme(fold: Callable[[Any, Any], Any]) -> Step:
    def rule(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
        """min and max of numbers of one type: symbolic. (Of several types the result has the type of one of them.)"""
        values = args[0] if len(args) == 1 and type(args[0]) in (list, tuple, torch.Size) else args
        env = tracer.recorder.env
        if len(args) == 1 and not kwargs and hasattr(type(args[0]), "__next__") and env is not None and env.has_symbols:
            return tracer.vm.call(fn, (tracer.vm.call(list, args),))
        if kwargs or len(values) < 2 or not any(type(v) in SYMBOLIC for v in values):
            return NOT_HANDLED
        if {real_type(v) for v in values} not in ({int}, {float}):
            return NOT_HANDLED
        if any(type(v) is torch.SymFloat and not v.node.has_hint() for v in values):
            return functools.reduce(_of_data(operator.lt if fn is min else operator.gt), values)
        return functools.reduce(fold, values)

    return rule


def _of_data(is_before: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """min or max of two floats of the data. One may be nan: the result is the first then, as no comparison holds.
    (torch.sym_min puts the symbol first.)"""

    def fold(one: Any, other: Any) -> Any:
        first, second = (torch.full((), number, dtype=torch.float64) for number in (one, other))
        return torch.where(is_before(second, first), second, first).item()

    return fold


def call_len(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """len(x) of a tensor, or of an object whose own __len__ returns a size: symbolic, where C would take the number."""
    if len(args) != 1 or kwargs:
        return NOT_HANDLED
    value = args[0]
    if is_fake(value):
        return value.shape[0] if value.dim() else NOT_HANDLED
    method = datamodel.type_lookup(type(value), "__len__")
    if type(method) is not FunctionType:
        return NOT_HANDLED
    length = tracer.vm.call(method, (value,))
    if type(length) is torch.SymInt:
        if length < 0:
            raise ValueError("__len__() should return >= 0")
        return length
    return len(_Sized(length))


class _Sized:
    """An object for len(), which raises C's own error for an invalid result of `__len__`."""

    def __init__(self, length: Any) -> None:
        self.length = length

    def __len__(self) -> Any:
        return self.length


class SizesInCalls(FeatureState):
    """number_for: the operation that needs a number; ranges: id of a range → it and the size given as its stop."""

    stays = "it is about the call at work, and about ranges that are alive"

    def __init__(self, tracer: TracerView) -> None:
        self.number_for: str | None = None
        self.ranges: dict[int, tuple[range, Any]] = {}


def read_range(tracer: TracerView, owner: Any, key: str, value: Any) -> Any:
    """The reader of ranges (read_plans.py): `range(n).stop` is `n`."""
    return tracer.own(SizesInCalls).ranges.get(id(owner), (owner, value))[1] if key == "stop" else NOT_HANDLED


def call_range(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """range(start, stop, step): a loop over it is unrolled, so how many numbers it has is fixed; `stop` need not be."""
    if kwargs or not 1 <= len(args) <= 3 or not any(type(a) in SYMBOLIC for a in args):
        return NOT_HANDLED
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1) if len(args) == 2 else args
    with needs_number(tracer, "range"):
        start, step = concrete(start), concrete(step)
        symbolic = type(stop) is torch.SymInt and stop.node.has_hint()
        if not symbolic or type(start) is not int or type(step) is not int or step == 0:
            return range(start, concrete(stop), step)  # CPython's own errors
        if step > 0:
            count = (stop - start + step - 1) // step
        else:
            count = (start - stop - step - 1) // -step
        length = concrete(torch.sym_max(count, 0))
    result = range(start, start + length * step, step)
    tracer.own(SizesInCalls).ranges[id(result)] = (result, stop)
    return result


class needs_number:
    """Within, a number that is taken is for `name`: see `Specialization.why`."""

    def __init__(self, tracer: TracerView, name: str) -> None:
        self.tracer, self.name = tracer, name

    def __enter__(self) -> None:
        state = self.tracer.own(SizesInCalls)
        self.before, state.number_for = state.number_for, self.name

    def __exit__(self, *exc_info: object) -> None:
        self.tracer.own(SizesInCalls).number_for = self.before


def call_pow(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """pow(x, y, modulus): of the numbers. (A size has no power with a modulus.)"""
    if len(args) != 3 or kwargs or not any(type(a) is torch.SymInt for a in args):
        return NOT_HANDLED
    with needs_number(tracer, "pow"):
        return pow(*map(concrete, args))


def call_numel(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """torch.Size.numel(): the product."""
    if len(args) == 1 and any(type(size) in SYMBOLIC for size in args[0]):
        return math.prod(args[0])
    return NOT_HANDLED


# -- torch's functions of sizes ---------------------------------------------------------------------------------------


def call_ite(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """torch.sym_ite(condition, n, 1): torch's own insists on two SymInts or two ints."""
    if len(args) != 3 or kwargs or type(args[0]) is not torch.SymBool or type(args[1]) is type(args[2]):
        return NOT_HANDLED
    if real_type(args[1]) is not real_type(args[2]):
        return NOT_HANDLED  # torch's error
    node = args[0].node
    env = node.shape_env
    return env.wrap(node.sym_ite(env.node_of(args[1]), env.node_of(args[2])).core)


def table() -> dict[int, Step]:
    """id(callable) → rule."""
    return {
        id(isinstance): call_isinstance,
        id(int): call_int,
        id(float): call_float,
        id(bool): call_bool,
        id(torch.Tensor.is_nonzero): call_bool,
        id(torch.is_nonzero): call_bool,
        id(operator.index): call_index,
        id(min): _extreme(torch.sym_min),
        id(max): _extreme(torch.sym_max),
        id(len): call_len,
        id(builtins.range): call_range,
        id(pow): call_pow,
        id(torch.Size.numel): call_numel,
        id(torch.sym_ite): call_ite,
    }
