"""Determines the exception that eager raises, when an operator fails on fake tensors.

A decomposition may raise ValueError where the kernel raises RuntimeError, and a meta kernel has its own
message: a program that catches the exception, or reads the message, would take another path. So the real operator runs
on zeros of the same sizes.
"""

from __future__ import annotations

import math
import re
import traceback
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final, NamedTuple

import torch

from dynamo_lite.capture._torch import FakeTensor, OpOverload
from dynamo_lite.capture.errors import CaptureError
from dynamo_lite.symbolic_shapes.expressions.evaluation import evaluate
from dynamo_lite.symbolic_shapes.expressions.expr import symbols_of
from dynamo_lite.symbolic_shapes.expressions.floats import float_symbols_of
from dynamo_lite.symbolic_shapes.torch_node.symbolic_types import SYMBOLIC_TYPES
from dynamo_lite.torch_internals._torch_dispatch import (
    DisableTorchFunction,
    _disable_current_modes,
    _DisablePythonDispatcher,
)
from dynamo_lite.torch_internals._torch_pytree import pytree
from dynamo_lite.torch_internals._torch_tensors import _neg_view

_KERNELS_RAISE = (RuntimeError, IndexError, TypeError, NotImplementedError)
"""The classes that kernels raise themselves: if eager cannot run, fake tensors are assumed to raise the same."""
OURS = frozenset({"aten", "prims"})
"""The namespaces of torch's own operators. A kernel of the user's may do anything: it is not run for this."""
aten = torch.ops.aten
SEES_MEMORY: Final[frozenset[int]] = frozenset(
    map(id, (
        aten.as_strided.default, aten.as_strided_.default, aten.as_strided_copy.default,
        aten.as_strided_scatter.default, aten.set_.source_Tensor, aten.view.dtype, aten.view_as_complex.default,
    ))
)  # fmt: skip
"""By their ids, the operators whose errors depend on memory besides the elements of a tensor: its size, and its
start."""
_LIMIT: Final = 1 << 24
"""Elements of the largest argument that is made: the kernel may run to its end."""
_MEMORY = 1 << 32
"""Bytes around a tensor, which nothing touches."""
_INT = {int}
Storages = dict[int, torch.Tensor]
"""The memory of real arguments, by that of their fake tensors."""


class NotAsked(Exception):
    """Eager cannot run the call: memory that cannot be made or is too large, another device, an unbacked size."""


class Emptied(NamedTuple):
    """Stands for what tensors hold: nothing, for their sizes in these dimensions are 0."""

    dims: slice


_EMPTIED: Final = (Emptied(slice(1)), Emptied(slice(-1, None)), Emptied(slice(None)))


def of_eager(func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any], error: Exception) -> Exception:
    """The exception that eager raises for this call, which raised `error` on fake tensors, at the example's sizes.

    It is `error` itself if autograd or C++ code above the kernels has raised it, on tensors that are as in eager.

    Raises:
        NotAsked: eager cannot run the call.
        CaptureError: eager does not fail, or that depends on data.
    """
    of_kernel = _is_of_kernel(error)
    if not of_kernel and not symbolic_sizes((args, kwargs)):
        return error
    if func.namespace not in OURS and isinstance(error, _KERNELS_RAISE):
        raise NotAsked
    if of_kernel and _has_mask((args, kwargs)) and _RUN_TIME.search(str(error)):
        raise _not_run(func, "whether it raises depends on how many elements a mask takes")
    if of_kernel and _is_of_fallback(error) and rests_on_data(error, func, args, kwargs):
        raise _not_run(func, _first_line(error))
    eager = _raised_at_any_size(func, args, kwargs)
    if eager is not None and (of_kernel or type(eager) is type(error)):
        return eager
    if not of_kernel:
        return error
    if not isinstance(error, _KERNELS_RAISE):
        raise NotAsked
    raise _not_run(func, _first_line(error))


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _not_run(func: OpOverload, reason: str) -> CaptureError:
    return CaptureError(
        "no-meta-kernel",
        f"{func} cannot be run on tensors without data: {reason}",
        "use another operator",
        {"operator": str(func), "reason": reason},
    )


def _has_mask(values: Any) -> bool:
    return any(isinstance(value, torch.Tensor) and value.dtype is torch.bool for value in pytree.tree_leaves(values))


_RUN_TIME = re.compile(r"\bu\d+\b")
"""A size that run time knows only, in the text of an error."""


def lacks_no_kernel(func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any], error: Exception) -> bool:
    """Whether a NotImplementedError is one that eager raises as well (a padding of more dimensions than a tensor has),
    not a missing kernel. (A quantised tensor is checked with a plain one in eager, for which there may be no kernel.)
    """
    if type(error) is not NotImplementedError or func.namespace not in OURS:
        return False
    try:
        raised = raised_on(0, func, args, kwargs)
    except NotAsked:
        return False
    return type(raised) is NotImplementedError and not str(raised).startswith("Could not run ")


def _is_of_kernel(error: Exception) -> bool:
    """Whether an exception comes from below FakeTensorMode, or from Python code in a kernel's place."""
    return any(
        frame.f_code.co_filename.startswith(_KERNELS) for frame, _ in traceback.walk_tb(error.__traceback__)
    )


def _is_of_fallback(error: Exception) -> bool:
    """Whether FakeTensorMode has run the real kernel, on zeros, for want of another."""
    return any(frame.f_code.co_name == "run_fallback_kernel" for frame, _ in traceback.walk_tb(error.__traceback__))


_PARTS = ("_subclasses", "_meta_registrations", "_refs", "_prims", "_decomp", "_library")
_KERNELS = (str(Path(__file__).parent / "composites"), *(str(Path(torch.__file__).parent / part) for part in _PARTS))
"""Where the Python code is that runs in the place of kernels. Checked against torch 2.13.0."""


def sizes_of_text(values: Any) -> list[Any] | None:
    """The sizes that the text of an error may name; None if run time knows one of them only."""
    sizes = symbolic_sizes(values)
    return None if any(size.node.hint is None for size in sizes) else sizes


def _raised_at_any_size(func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> Exception | None:
    """The exception of the real kernel on zeros, at several values of each unbacked size.

    Raises: NotAsked, also if the exception depends on that value, and if such a number is an argument itself that eager
    accepts: the failure was then due to the missing number, not to missing data.
    """
    if sizes_of_text((args, kwargs)) is not None:
        return raised_on(0, func, args, kwargs)
    raised = [raised_on(0, func, args, kwargs, run_time=number) for number in _NUMBERS]
    if len(set(map(type, raised))) > 1:
        raise NotAsked
    if raised[0] is None and any(number.node.hint is None for number in _numbers((args, kwargs))):
        raise NotAsked
    return raised[0]


_NUMBERS = (3, 2, 1, 0, 7, 64)
"""Values assumed for an unbacked size (the nearest in its range): an operator may fail for few rows only."""


def raised_on(
    fill: int | Emptied, func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any], limit: int = _LIMIT,
    run_time: int | None = None,
) -> Exception | None:  # fmt: skip
    """The exception of the real kernel on tensors that hold `fill`, of at most `limit` elements; None if it succeeds.

    run_time: the value assumed for unbacked sizes.
    Raises: NotAsked.
    """
    draws = torch.Tag.nondeterministic_seeded in func.tags  # the generator is put back at the end of the run as well
    with (
        DisableTorchFunction(), _disable_current_modes(), _DisablePythonDispatcher(),
        torch.random.fork_rng(devices=()) if draws else nullcontext(), torch.no_grad(), warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        try:
            storages: Storages | None = {} if id(func) in SEES_MEMORY else None
            real_args = [_real(a, storages, fill, limit, run_time) for a in args]
            real_kwargs = {k: _real(v, storages, fill, limit, run_time) for k, v in kwargs.items()}
        except RuntimeError as error:  # a kind of tensor that is not made so (quantized)
            raise NotAsked from error
        try:
            func(*real_args, **real_kwargs)
        except Exception as eager:
            return eager.with_traceback(None)
    return None


def rests_on_data(
    error: Exception, func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any], limit: int = _LIMIT
) -> bool:
    """Whether `error`, which eager raises on zeros, may be about the zeros.

    It is not if it is about a dtype, or if it is the same where there are no elements.
    """
    tensors = [value for value in pytree.tree_leaves((args, kwargs)) if isinstance(value, torch.Tensor)]
    if type(error) is NotImplementedError or all(shown_number(t.numel()) == 0 for t in tensors):
        return False
    for emptied in _EMPTIED:
        try:
            other = raised_on(emptied, func, args, kwargs, limit)
        except NotAsked:
            continue
        if type(other) is type(error) and _without_numbers(other) == _without_numbers(error):
            return False
    return True


def _without_numbers(error: Exception) -> str:
    return re.sub(r"\d+", "", str(error))


def symbolic_sizes(values: Any) -> list[Any]:
    """The sizes and strides in an operator's arguments that are not plain numbers."""
    found: list[Any] = []
    todo = [values]
    while todo:  # not by pytree, which takes some twenty calls for each operand
        value = todo.pop()
        kind = type(value)
        if kind is tuple or kind is list:
            todo += reversed(value)
        elif kind is dict:
            todo += reversed(value.values())
        elif isinstance(value, FakeTensor) and value.layout is torch.strided:
            numbers = (*value.shape, *value.stride(), value.storage_offset())
            found += [number for number in numbers if type(number) is not int]
        elif isinstance(value, SYMBOLIC_TYPES):
            found.append(value)
    return found


def _numbers(values: Any) -> list[Any]:
    """The symbolic numbers among an operator's arguments; not the sizes of its tensors."""
    return [value for value in pytree.tree_leaves(values) if isinstance(value, SYMBOLIC_TYPES)]


def of_overlap(
    func: OpOverload, written: Sequence[torch.Tensor], args: Sequence[Any], kwargs: dict[str, Any]
) -> Exception | None:
    """The error of eager because elements that `func` writes share memory, with each other or with an operand.

    Fake tensors have no such check. The real kernel runs on zeros in the same memory layout, since kernels differ
    (fill_ and masked_fill_ do write to an expanded tensor). None if there is no such error.
    """
    if func.namespace != "aten" or not any(_may_overlap(tensor, (args, kwargs)) for tensor in written):
        return None
    with DisableTorchFunction(), _disable_current_modes(), _DisablePythonDispatcher():
        storages: Storages = {}
        try:
            real_args = [_real(a, storages) for a in args]
            real_kwargs = {k: _real(v, storages) for k, v in kwargs.items()}
        except (NotAsked, RuntimeError):
            return None
        try:
            with torch.no_grad():
                func(*real_args, **real_kwargs)
        except Exception as eager:
            return eager.with_traceback(None) if str(eager).startswith(_OVERLAPS) else None
    return None


def on_zeros(func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any], limit: int) -> Any:
    """The result of the real kernel for zeros of the example's sizes, strides and dtypes.

    Raises: NotAsked, and the kernel's exceptions.
    """
    with (
        DisableTorchFunction(), _disable_current_modes(), _DisablePythonDispatcher(),
        torch.random.fork_rng(devices=()), torch.no_grad(),
    ):
        real_args = [_real(a, None, 0, limit) for a in args]
        return func(*real_args, **{k: _real(v, None, 0, limit) for k, v in kwargs.items()})


_OVERLAPS = (
    "unsupported operation: more than one element",
    "unsupported operation: some elements",
)


def _may_overlap(tensor: torch.Tensor, operands: Any) -> bool:
    if type(tensor) is not FakeTensor or tensor.layout is not torch.strided:
        return False
    steps = zip(tensor.shape, tensor.stride())
    if any(shown_number(stride) == 0 and shown_number(size) != 1 for size, stride in steps):
        return True
    storage = tensor.untyped_storage()._cdata
    others = (t for t in pytree.tree_leaves(operands) if type(t) is FakeTensor and t is not tensor)
    return any(t.layout is torch.strided and t.untyped_storage()._cdata == storage for t in others)


def rest_on_overlap(tensor: torch.Tensor) -> None:
    """Make it a guard that elements of the tensor share memory: with a size of 1 there would have been no error."""
    for size, stride in zip(tensor.shape, tensor.stride()):
        if type(size) is not int and shown_number(stride) == 0:
            bool(size > 1)


def _real(
    value: Any, storages: Storages | None = None, fill: int | Emptied = 0, limit: int = _LIMIT,
    run_time: int | None = None,
) -> Any:  # fmt: skip
    """The argument as eager has it in the example, holding `fill`.

    storages: with these, tensors are in memory that is as large as it is there, and shared as it is there.
    run_time: the number that sizes of run time are taken for.
    Raises: NotAsked.
    """
    if isinstance(value, torch.Tensor):
        if type(value) is not FakeTensor or value.layout is not torch.strided or value.device.type != "cpu":
            raise NotAsked
        shape, stride = (_real(tuple(numbers), run_time=run_time) for numbers in (value.shape, value.stride()))
        if isinstance(fill, Emptied):
            shape, fill = _emptied(shape, fill.dims), 0
        if math.prod(shape) > limit:
            raise NotAsked
        if storages is not None:
            made = _in_storage(value, shape, stride, storages, run_time)
        else:
            made = torch.empty_strided(shape, stride, dtype=value.dtype)
        return _with_bits_of(value, made.fill_(fill))
    if isinstance(value, SYMBOLIC_TYPES):
        return _number(value, run_time)
    if type(value) in (list, tuple):
        if set(map(type, value)) <= _INT:
            return value
        return type(value)([_real(v, storages, fill, limit, run_time) for v in value])
    return value


def _with_bits_of(value: FakeTensor, made: torch.Tensor) -> torch.Tensor:
    """`made`, conjugated and negated as the fake tensor."""
    if value.is_conj():
        made = made.conj()
    return _neg_view(made) if value.is_neg() else made


def _emptied(shape: Sequence[int], dims: slice) -> tuple[int, ...]:
    sizes = [*shape]
    sizes[dims] = [0] * len(sizes[dims])
    return tuple(sizes)


def _number(size: Any, run_time: int | None) -> Any:
    """The number of the example, or with `run_time` (or the nearest that may be) for what run time knows only."""
    node, env = size.node.current(), size.node.shape_env
    if size.node.hint is not None:
        return size.node.hint
    if run_time is None or float_symbols_of(node):
        raise NotAsked
    values = {}
    for symbol in symbols_of(node):
        lo, hi = env.core.bounds(symbol.as_int())
        values[symbol] = min(max(run_time, lo), hi) if symbol.hint is None else symbol.hint
    return evaluate(node, values)


def _in_storage(value: FakeTensor, shape: Any, stride: Any, storages: Storages, run_time: int | None) -> torch.Tensor:
    offset = _real(value.storage_offset(), run_time=run_time)
    needed = 1 + offset + sum((size - 1) * step for size, step in zip(shape, stride)) if math.prod(shape) else 0
    nbytes = max(_real(value.untyped_storage().nbytes(), run_time=run_time), needed * value.dtype.itemsize)
    key = value.untyped_storage()._cdata
    if key not in storages:
        if nbytes > _MEMORY:
            raise NotAsked
        storages[key] = torch.empty(nbytes, dtype=torch.uint8)
    empty = torch.empty(0, dtype=value.dtype)
    return empty.set_(storages[key].untyped_storage(), offset, shape, stride)


def shown_number(size: Any) -> Any:
    """The number of the example."""
    return size if type(size) is int else size.node.hint
