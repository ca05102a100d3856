"""numpy code on tensors: `tensor.numpy()` gives the program an array whose operations are torch's.

The array is torch._numpy's `ndarray`, as under torch.compile: a tensor with numpy's interface. numpy itself finds out
through its own protocols (NEP 13, `__array_ufunc__`; NEP 18, `__array_function__`) that such an array is among the
arguments of a function, so that `np.sin(a)`, `np.ones(3) * a` and `np.concatenate([a, b])` arrive at torch._numpy's
function of that name for all callers. While a trace uses arrays, the class gets these protocols and behaves like
numpy's own class; functions that torch._numpy lacks are refused. Checked with torch 2.13, numpy 2.4.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch

from dynamo_lite.tracing.arrays import differences, layouts
from dynamo_lite.tracing.calls.run_native import run_native
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.tensors import autograd_nodes
from dynamo_lite.tracing.vocabulary.symbolic_numbers import real_type
from dynamo_lite.tracing.vocabulary.type_tests import is_array, is_tensor

_MODULES = {"numpy": "torch._numpy", "numpy.linalg": "torch._numpy.linalg", "numpy.fft": "torch._numpy.fft"}
_RUNS_THE_PROGRAM = frozenset({"dynamo_lite.interpreter.datamodel.trampolines", "dynamo_lite.tracing.calls.registry"})
_UNTOUCHED = frozenset({"__init__", "__str__", "__repr__", "__dlpack__", "__iter__"})
_BYTES: dict[str, Callable[[Any, int], Any]] = {
    "strides": lambda array, size: tuple(step * size for step in array.tensor.stride()),
    "nbytes": lambda array, size: array.tensor.numel() * size,
}
_LAYOUT = ("flags", "data", "flat", *_BYTES)
_PARTS = ("T", "real", "imag")


def array_of(tracer: TracerView, tensor: torch.Tensor, force: bool = False) -> Any:
    """`tensor.numpy(force=force)`: an array on the tensor's memory. Raises eager's errors."""
    if tracer.recorder.has_dual_level:  # the fake tensor may be a dual number's wrapper, which has no memory
        tracer.refuse("higher-order-operator", function="Tensor.numpy within torch.autograd.forward_ad.dual_level")
    _check(tracer, tensor, force)
    if not force:  # of one that requires grad eager raises: so the answer holds for such inputs only
        autograd_nodes.requires_grad(tracer, tensor)
    shown = tensor.detach()
    if force:
        shown = shown.cpu().resolve_conj().resolve_neg()
    return arrays_of(tracer).ndarray(shown)


def _check(tracer: TracerView, tensor: torch.Tensor, force: bool) -> None:
    """Let eager judge whether such a tensor has a numpy array: on an empty tensor with the same flags."""
    with tracer.suspended():
        like = torch.empty((0,), dtype=tensor.dtype, device=tensor.device if tensor.device.type != "meta" else "cpu")
        like = like.conj() if tensor.is_conj() else like
        like = like._neg_view() if tensor.is_neg() else like
        if tensor.requires_grad:
            like.requires_grad_()
        _eager_numpy(like, force)


def _eager_numpy(tensor: torch.Tensor, force: bool) -> None:
    run_native(torch.Tensor.numpy, (tensor,), {"force": force})


def arrays_of(tracer: TracerView) -> Any:
    """torch._numpy, whose arrays answer as numpy's until the trace is over."""
    with tracer.suspended():
        from dynamo_lite.torch_internals._torch_numpy import arrays  # only where a program uses numpy
    if "__array_ufunc__" not in vars(arrays.ndarray):
        _prepare(tracer, arrays.ndarray)
    return arrays


# -- the class while a trace uses it ---------------------------------------------------------------------------------


def _prepare(tracer: TracerView, cls: type) -> None:
    before = dict(vars(cls))
    new = {
        "__array_ufunc__": _ufunc(tracer),
        "__array_function__": _function(tracer),
        "__array__": _refused(tracer, "numpy.ndarray.__array__"),
        "__dlpack__": _refused(tracer, "numpy.ndarray.__dlpack__"),  # C code would read a fake tensor's memory
        "__getattr__": _missing(tracer),
        "__getattribute__": _with_class(tracer),  # a class cannot be given a property `__class__` later
        "dtype": property(_dtype(before["dtype"].fget)),
        **{name: property(_layout(tracer, name, before[name].fget)) for name in _LAYOUT},
        **{name: property(_part(tracer, name, before[name])) for name in _PARTS},
        "__iter__": _items(before["__iter__"]),
        **{
            name: _with_converted(tracer, name, value)
            for name, value in before.items()
            if type(value) is FunctionType and name not in _UNTOUCHED
        },
    }

    def restore() -> None:
        for name in new:
            if name in before:
                setattr(cls, name, before[name])
            else:
                delattr(cls, name)

    for name, value in new.items():
        setattr(cls, name, value)
    tracer.journal.on_rollback(restore)
    tracer.plans.wake("numpy")


def _called_by_torch() -> bool:
    """Whether torch's own code has read the attribute or called the method that calls this."""
    return _calling_module().startswith("torch.")


def _calling_module() -> str:
    frame: Any = sys._getframe(1)
    while frame.f_globals is globals():
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", ""))


def _numpys_dtype(array: Any) -> Any:
    import numpy

    return numpy.dtype(str(array.tensor.dtype).removeprefix("torch."))


def _dtype(own: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def dtype(array: Any) -> Any:
        return own(array) if _called_by_torch() else _numpys_dtype(array)

    return dtype


def _with_class(tracer: TracerView) -> Callable[[Any, str], Any]:
    def attribute(array: Any, name: str) -> Any:
        if name != "__class__" or (asker := _calling_module()).startswith("torch."):
            return object.__getattribute__(array, name)
        if asker.startswith("dynamo_lite.") and asker not in _RUNS_THE_PROGRAM:
            return object.__getattribute__(array, name)
        if array.tensor.ndim == 0:  # numpy would give a scalar for some of these, and an array for others
            tracer.refuse("numpy-function", function="the type of an array without dimensions")
        import numpy

        return numpy.ndarray

    return attribute


def _layout(tracer: TracerView, name: str, own: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def attribute(array: Any) -> Any:
        if _called_by_torch():
            return own(array)
        if name in _BYTES and layouts.is_as_its_tensor(array):
            return _BYTES[name](array, array.tensor.element_size())
        return tracer.refuse("numpy-function", function=f"numpy.ndarray.{name}")

    return attribute


def _part(tracer: TracerView, name: str, own: property) -> Callable[[Any], Any]:
    def attribute(array: Any) -> Any:
        get: Any = own.fget
        if _called_by_torch():
            return get(array)
        return call(tracer, f"numpy.ndarray.{name}", (operator.attrgetter(name), get), (array,), {})

    return attribute


def _items(own: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """An item of an array with one dimension is a number of its own, not a view: each is taken by its index."""

    def items(array: Any) -> Any:
        if _called_by_torch() or array.tensor.ndim == 0:
            return own(array)
        return (array[place] for place in range(len(array)))

    return items


def _missing(tracer: TracerView) -> Callable[[Any, str], Any]:
    def getattribute(array: Any, name: str) -> Any:
        import numpy

        if hasattr(numpy.ndarray, name) and (not name.startswith("__") or name == "__array_interface__"):
            tracer.refuse("numpy-function", function=f"numpy.ndarray.{name}")
        raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r}")

    return getattribute


def _refused(tracer: TracerView, name: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        tracer.refuse("numpy-function", function=name)

    return refuse


# -- calls ---------------------------------------------------------------------------------------------------------


def call(tracer: TracerView, name: str, pair: tuple[Any, Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """torch._numpy's function (of a pair: numpy's, torch._numpy's) on converted arguments.

    Functions that torch._numpy lacks, and those whose dtype or number of dimensions differs from numpy, are refused.
    """
    import numpy

    reference, fn = pair
    args = _promoted(tracer, reference, [converted(tracer, value) for value in args])
    kwargs = {key: converted(tracer, value) for key, value in kwargs.items()}
    if (other := differences.refused(reference, args, kwargs)) is not None:
        tracer.refuse("numpy-function", function=f"{name} ({other})")
    asked = layouts.reference(tracer, reference, args, kwargs)
    try:
        result = fn(*args, **kwargs)
    except NotImplementedError:
        tracer.refuse("numpy-function", function=name)
    results = _arrays_in(result)
    for given, like in zip(results, asked.results):
        if (given.tensor.ndim, _numpys_dtype(given)) != (numpy.ndim(like), numpy.asarray(like).dtype):
            tracer.refuse("numpy-function", function=f"{name} (which gives {numpy.asarray(like).dtype} here)")
    layouts.as_in_numpy(tracer, name, asked, [*args, *kwargs.values()], results)
    return result


def _promoted(tracer: TracerView, reference: Any, args: list[Any]) -> list[Any]:
    """Integer operands of a ufunc that computes in floats, as these: torch would take its default dtype (int32 / 2)."""
    import numpy

    name = _UFUNCS.get(getattr(reference, "__name__", ""), "")
    ufunc: Any = reference if isinstance(reference, numpy.ufunc) else getattr(numpy, name, None)
    if ufunc is None or len(args) != ufunc.nin:
        return args
    kinds = [_numpys_dtype(value) if is_array(value) else real_type(value) for value in args]
    try:
        wanted = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout))
    except (TypeError, ValueError):
        return args
    arrays = arrays_of(tracer)
    for place, (value, dtype) in enumerate(zip(args, wanted)):
        if is_array(value) and _numpys_dtype(value).kind in "iub" and dtype.kind in "fc":
            args[place] = arrays.ndarray.astype(value, dtype.name)
    return args


_UFUNCS = {"__truediv__": "true_divide", "__rtruediv__": "true_divide", "__pow__": "power", "__rpow__": "power"}


def _arrays_in(result: Any) -> list[Any]:
    """The arrays among a function's results, which are one, a tuple or a named tuple (`numpy.linalg.qr`)."""
    parts = [*result] if not is_array(result) and isinstance(result, (tuple, list)) else [result]
    return parts if all(is_array(part) for part in parts) else []


def _with_converted(tracer: TracerView, name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _called_by_torch():
            return fn(self, *args, **kwargs)
        if name.startswith("__") and any(is_tensor(arg) for arg in args):
            tracer.refuse("numpy-function", function=f"numpy.ndarray.{name} with a tensor")
        import numpy

        return call(tracer, f"numpy.ndarray.{name}", (getattr(numpy.ndarray, name), fn), (self, *args), kwargs)

    return method


def converted(tracer: TracerView, value: Any) -> Any:
    """An argument as torch._numpy takes it: numpy's dtypes by name, its scalars and arrays as constants."""
    import numpy

    if is_array(value):  # before any isinstance: it would ask the array
        return value
    if isinstance(value, numpy.generic):
        value = numpy.asarray(value)
    if type(value) is numpy.ndarray:
        return arrays_of(tracer).ndarray(_constant(tracer, value))
    if isinstance(value, numpy.dtype) or (isinstance(value, type) and issubclass(value, numpy.generic)):
        return numpy.dtype(value).name
    if value is numpy.newaxis or not isinstance(value, (list, tuple, slice)):
        return value
    if isinstance(value, slice):
        return slice(*(converted(tracer, part) for part in (value.start, value.stop, value.step)))
    parts = [converted(tracer, part) for part in value]
    return parts if type(value) is list else tuple(parts)


def _constant(tracer: TracerView, array: Any) -> torch.Tensor:
    from dynamo_lite.tracing.tensors.shared_memory import call_shared

    try:
        return call_shared(tracer, torch.from_numpy, (array,), {})
    except (TypeError, ValueError):  # strings, objects, negative strides
        tracer.refuse("numpy-function", function=f"numpy.asarray of dtype {array.dtype} or with negative strides")


def _ufunc(tracer: TracerView) -> Callable[..., Any]:
    def __array_ufunc__(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        fn = counterpart(ufunc)
        name = f"numpy.{ufunc.__name__}"
        if method != "__call__" or fn is None or any(is_tensor(value) for value in inputs):
            tracer.refuse("numpy-function", function=name if method == "__call__" else f"{name}.{method}")
        out = kwargs.pop("out", None)
        if out is not None:
            if len(out) != 1 or not is_array(out[0]):
                tracer.refuse("numpy-function", function=f"{name} with out=")
            kwargs["out"] = out[0]
        return call(tracer, name, (ufunc, fn), inputs, kwargs)

    return __array_ufunc__


def _function(tracer: TracerView) -> Callable[..., Any]:
    def __array_function__(self: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        name = f"{func.__module__}.{func.__name__}"
        fn = counterpart(func)
        if fn is None or any(issubclass(kind, torch.Tensor) for kind in types):
            tracer.refuse("numpy-function", function=name)
        return call(tracer, name, (func, fn), args, kwargs)

    return __array_function__


def counterpart(fn: Any) -> Callable[..., Any] | None:
    """torch._numpy's function for one of numpy's; None if it has none."""
    for here, there in _MODULES.items():
        module, name = sys.modules[here], fn.__name__
        if getattr(module, name, None) is fn:
            instead = differences.INSTEAD.get(name) if here == "numpy" else None
            return instead or getattr(sys.modules[there], name, None)
    return None
