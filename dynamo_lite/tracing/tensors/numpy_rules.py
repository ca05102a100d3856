"""The calls that lead from tensors to numpy's arrays and back, and those of torch's that take no array."""

from __future__ import annotations

import sys
from types import FunctionType
from typing import Any

import torch

from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.torch_internals._torch_tensors import TensorBase
from dynamo_lite.tracing.arrays import layouts
from dynamo_lite.tracing.interfaces import Step, TracerView
from dynamo_lite.tracing.policy.classify import classify
from dynamo_lite.tracing.policy.verdicts import CallKind
from dynamo_lite.tracing.strings.nondeterministic import Unrecordable, refuse_use
from dynamo_lite.tracing.tensors import constructors
from dynamo_lite.tracing.tensors.numpy_arrays import array_of, arrays_of, call, converted, counterpart
from dynamo_lite.tracing.vocabulary.type_tests import is_array, is_tensor

_MAKES_ARRAYS = ("array", "asarray", "asanyarray", "ascontiguousarray")


def is_awake(tracer: TracerView) -> bool:
    """Whether the program has made a numpy array of a tensor."""
    return "numpy" in tracer.plans.awake


def plan(tracer: TracerView, fn: Any) -> Step | None:
    """The step of a call plan for what may be a function of torch's written in C."""
    return refuse_unknown if is_awake(tracer) else None


def plan_library(tracer: TracerView, fn: Any) -> Step | None:
    """Return the step of a call plan for a Python function of torch's that would run natively.

    The C functions that it calls would read the memory of an array on a fake tensor (`torch.as_tensor(lengths)` in
    pack_padded_sequence). If it is interpreted, each of them has its rule.
    """
    is_library = type(fn) is FunctionType and fn.__module__.startswith("torch.")
    if not is_library or fn.__module__.startswith("torch._numpy") or id(fn) in tracer.rules:
        return None
    return _interpret_with_arrays


def _interpret_with_arrays(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if any(is_array(arg) for arg in (*args, *kwargs.values())):
        return tracer.vm.interpret_function(fn, args, kwargs)
    return NOT_HANDLED


def refuse_unknown(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Refuse an array for a function of torch's written in C, which would read it item by item."""
    if any(is_array(arg) or _holds_array(arg, dimensions=1) for arg in args) and _is_torchs(fn):
        tracer.refuse("numpy-function", function=f"{getattr(fn, '__qualname__', fn)} of torch")
    return NOT_HANDLED


def _is_torchs(fn: Any) -> bool:
    if isinstance(fn, type):
        return issubclass(fn, torch.Tensor) or fn.__module__.startswith("torch")
    return type(fn) is not FunctionType and classify(fn).kind is CallKind.OPERATOR


def call_numpy(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """Tensor.numpy(force=False)."""
    return array_of(tracer, args[0], **kwargs)


def call_array(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """np.asarray(x) and its like, of a tensor or of a value that holds arrays: numpy has no protocol for these."""
    if not args:
        return NOT_HANDLED
    source = args[0]
    if is_tensor(source):
        source = array_of(tracer, source)
    elif type(source) in (list, tuple) and any(is_array(part) for part in source):
        source = arrays_of(tracer).stack([converted(tracer, part) for part in source])
    elif not is_array(source):
        return NOT_HANDLED
    of_arrays = arrays_of(tracer).asarray if fn.__name__ == "asanyarray" else counterpart(fn)  # all are plain arrays
    return call(tracer, f"numpy.{fn.__name__}", (fn, of_arrays), (source, *args[1:]), kwargs)


def _to_tensor(before: Step | None, shares: bool) -> Step:
    """torch.from_numpy(a), torch.tensor(a), ...: the tensor of an array, or a copy of it."""

    def rule(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
        if args and issubclass(type(args[0]), Unrecordable):
            refuse_use(args[0])
        if args and _holds_array(args[0]):
            args = (_stacked(tracer, fn, args[0]), *args[1:])
        if not args or not is_array(args[0]):
            return NOT_HANDLED if before is None else before(tracer, fn, args, kwargs)
        if not layouts.is_as_its_tensor(args[0]):
            with tracer.suspended():
                fn(layouts.ones_like(args[0]))  # raises where the strides are negative
        tensor = args[0].tensor.detach()
        if shares and not args[1:] and not kwargs:
            return tensor
        if shares:
            return fn(tensor, *args[1:], **kwargs)
        wants_gradient = kwargs.get("requires_grad", False)
        tensor = tensor.clone().to(dtype=kwargs.get("dtype"), device=kwargs.get("device"))
        return tensor.requires_grad_() if wants_gradient else tensor

    return rule


def _stacked(tracer: TracerView, fn: Any, parts: Any) -> Any:
    """The array of a list of arrays, whose items C code would read one by one."""
    if not _are_alike(parts):
        tracer.refuse("numpy-function", function=f"torch.{fn.__name__} of a list of different things")
    return arrays_of(tracer).stack(list(parts))


def _are_alike(parts: Any) -> bool:
    """Whether all are arrays of one dtype, which the tensor has as well."""
    return all(is_array(part) and part.tensor.dtype == parts[0].tensor.dtype for part in parts)


def _holds_array(value: Any, dimensions: int = 0) -> bool:
    """Whether there is an array of at least so many dimensions in nested lists."""
    if type(value) not in (list, tuple):
        return False
    return any(part.tensor.ndim >= dimensions if is_array(part) else _holds_array(part, dimensions) for part in value)


def _refusing(before: Step | None) -> Step:
    """torch.FloatTensor([a]) and the like, which read an array item by item."""

    def rule(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
        if any(is_array(arg) or _holds_array(arg) for arg in args):
            tracer.refuse("numpy-function", function=f"{fn.__name__} of torch")
        return NOT_HANDLED if before is None else before(tracer, fn, args, kwargs)

    return rule


def _of_tensor(before: Step | None) -> Step:
    """float(a), int(a): the rule for the tensor."""

    def rule(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
        if len(args) == 1 and is_array(args[0]):
            args = (args[0].tensor,)
        return NOT_HANDLED if before is None else before(tracer, fn, args, kwargs)

    return rule


def table(rows: dict[int, Step]) -> dict[int, Step]:
    """Return id(callable) → rule; `rows` has the rules for arguments without arrays."""
    found: dict[int, Step] = {id(TensorBase.numpy): call_numpy, id(torch.Tensor.numpy): call_numpy}
    for fn in (torch.from_numpy, torch.as_tensor, torch.asarray):
        found[id(fn)] = _to_tensor(rows.get(id(fn)), shares=True)
    for kind in (float, int):
        found[id(kind)] = _of_tensor(rows.get(id(kind)))
    found[id(torch.tensor)] = _to_tensor(rows.get(id(torch.tensor)), shares=False)
    for maker in constructors.OTHERS:
        found[id(maker)] = _refusing(rows.get(id(maker)))
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        found |= {id(getattr(numpy, name)): call_array for name in _MAKES_ARRAYS}
    return found
