"""The sizes of results that depend on constant data: `mask.nonzero()`, `x[mask]`, `lengths.repeat_interleave(counts)`.

Fake kernels give such a result a size that is known at run time only. Where the data is the same in each call, the size
is a number, which becomes a fact, as by `torch._check(size == 3)`: a split into that many parts, a branch on it or a
loop over it are decided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import torch

from dynamo_lite.capture._torch import OpOverload, _disable_current_modes
from dynamo_lite.capture.interfaces import OperatorRecording
from dynamo_lite.symbolic_shapes.expressions.relations import eq
from dynamo_lite.torch_internals._torch_dispatch import DisableTorchFunction

_aten = torch.ops.aten
_COMPOSITE = frozenset(
    {
        _aten.repeat_interleave.self_Tensor,
        _aten.where.default,
        _aten.nonzero_numpy.default,
        _aten.argwhere.default,
    }
)
"""Operators made of such ones, which are recorded as one node."""
_MASKS = (torch.bool, torch.uint8)


def concerns(func: OpOverload) -> bool:
    """Whether the sizes of an operator's results depend on data."""
    return (torch.Tag.dynamic_output_shape in func.tags and not func._schema.is_mutable) or func in _COMPOSITE


def note(recorder: OperatorRecording, func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any], out: Any) -> None:
    """Add the facts about the sizes of `out`, the result of such an operator."""
    if recorder.env is None:
        return
    unknown = [(tensor, [*_unknown(tensor)]) for tensor in _several(out)]
    if not any(dims for _, dims in unknown):
        return
    with torch.no_grad():
        sizes = _RULES.get(func, _computed)(recorder, func, args, kwargs)
    for (tensor, dims), known in zip(unknown, sizes or ()):
        for dim in dims:
            size = tensor.shape[dim]
            recorder.env.expect_true(eq(recorder.env.unwrap(size), known(dim)), kind="constant data")


Sizes = Sequence[Callable[[int], int]]
"""Of each result: dimension → size."""


def _unknown(tensor: Any) -> Iterator[int]:
    if isinstance(tensor, torch.Tensor):
        for dim, size in enumerate(tensor.shape):
            if isinstance(size, torch.SymInt) and size.node.maybe_as_int() is None and not size.node.has_hint():
                yield dim


def _computed(recorder: OperatorRecording, func: OpOverload, args: Sequence[Any], kwargs: Any) -> Sizes | None:
    """By running the operator, if all of its tensors are constant."""
    given = [_data(recorder, arg) for arg in (*args, *kwargs.values())]
    if any(value is _VARIES for value in given):
        return None
    with _disable_current_modes(), DisableTorchFunction():
        try:
            made = func(*given[: len(args)], **dict(zip(kwargs, given[len(args) :])))
        except Exception:  # eager raises it in the call
            return None
        return [[*result.shape].__getitem__ for result in _several(made)]


def _several(out: Any) -> Sequence[Any]:
    return out if isinstance(out, (tuple, list)) else (out,)


_VARIES: Final = object()


def _data(recorder: OperatorRecording, value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        known = recorder.constant_values.of(value)
        return _VARIES if known is None else known
    return _VARIES if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)) else value


def _indexed(recorder: OperatorRecording, func: OpOverload, args: Sequence[Any], kwargs: Any) -> Sizes | None:
    """By how many elements the masks take: each mask makes one dimension of that size, and these are broadcast."""
    masks = [index for index in args[1] if isinstance(index, torch.Tensor) and index.dtype in _MASKS]
    if any(isinstance(index, torch.Tensor) and index.dtype not in _MASKS and index.dim() for index in args[1]):
        return None
    return _counted(recorder, masks)


def _selected(recorder: OperatorRecording, func: OpOverload, args: Sequence[Any], kwargs: Any) -> Sizes | None:
    return _counted(recorder, [args[1]]) if tuple(args[0].shape) == tuple(args[1].shape) else None


def _repeated(recorder: OperatorRecording, func: OpOverload, args: Sequence[Any], kwargs: Any) -> Sizes | None:
    """Each element as often as its count says; a single count is that of all."""
    counts = recorder.constant_values.of(args[1])
    if counts is None:
        return None
    dim = args[2] if len(args) > 2 else kwargs.get("dim")
    rows = args[0].numel() if dim is None else args[0].shape[dim]
    with _disable_current_modes(), DisableTorchFunction():
        total = int(counts.sum())
        if counts.numel() == 1:
            total *= rows
    return [lambda dim: total] if isinstance(total, int) else None


def _counted(recorder: OperatorRecording, masks: Sequence[Any]) -> Sizes | None:
    found = [recorder.constant_values.of(mask) for mask in masks]
    with _disable_current_modes(), DisableTorchFunction():
        counts = {-1 if mask is None else int(mask.count_nonzero()) for mask in found}
    if len(counts) != 1 or -1 in counts:
        return None
    return [lambda dim: next(iter(counts))]


_RULES: Final[dict[OpOverload, Callable[..., Sizes | None]]] = {
    _aten.index.Tensor: _indexed,
    _aten.masked_select.default: _selected,
    _aten.repeat_interleave.self_Tensor: _repeated,
}
