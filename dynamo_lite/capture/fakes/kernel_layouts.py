"""Operators whose results have another memory layout than their meta kernels return, if an operand has its dimensions
in another order: torch's Python form of batch_norm keeps that order, and the kernel writes a new tensor.

Only a query of memory (`is_contiguous()`, `stride()`, a view) distinguishes the two. The kernel is run on zeros with
the memory layout of the example's operands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from dynamo_lite.capture._torch import FakeTensor
from dynamo_lite.capture.fakes.results import make_results, recipe_of, tensors_among
from dynamo_lite.capture.kernels.eager_errors import NotAsked, on_zeros, shown_number

aten = torch.ops.aten

OTHERWISE = frozenset({
    aten.batch_norm.default, aten.native_batch_norm.default, aten._native_batch_norm_legit.default,
    aten._native_batch_norm_legit.no_stats, aten._native_batch_norm_legit_no_training.default,
    aten._native_batch_norm_legit_functional.default, aten._batch_norm_with_update.default,
    aten._batch_norm_no_update.default, aten.channel_shuffle.default, aten.native_channel_shuffle.default,
})  # fmt: skip
"""Of torch's samples with their dimensions in other orders (torch 2.13.0); results of rules are right without this."""

TWINS: dict[Any, tuple[int, int]] = {aten.mkldnn_rnn_layer_backward.default: (3, 4)}
"""Operators that return one tensor twice → the numbers of these results (torch/aten/src/ATen/native/mkldnn/RNN.cpp, the
gradient of both biases). FakeTensorMode's cache returns two tensors where the kernel was run before."""

_LIMIT = 1 << 26
"""Limit of an operand's elements: the kernel takes as long as in eager."""


def as_eager(
    func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any, unasked: set[str], keeps_graph: bool = False
) -> Any:
    """`out` with the memory layout of eager's result; `out` itself if the kernel cannot be run.

    unasked: the operator's name is added in that case. keeps_graph: autograd's graph of `out` is needed later.
    """
    given = tensors_among([*args, *kwargs.values()])
    if all(map(_is_in_order, given)):
        return out
    try:
        real = on_zeros(func, args, dict(kwargs), _LIMIT)
    except (NotAsked, RuntimeError):
        unasked.add(str(func))
        return out
    recipe = recipe_of(args, dict(kwargs), out, read=_same)
    if recipe is None:
        return out
    orders = [_other_order(tensor, other) for tensor, other in zip(tensors_among([out]), tensors_among([real]))]
    if any(like.source is not None for like in recipe.tensors) or orders == [None] * len(recipe.tensors):
        return out
    if keeps_graph:
        tensors = [_in_order(tensor, order) for tensor, order in zip(tensors_among([out]), orders)]
        return tensors[0] if recipe.kind is None else recipe.kind(tensors)
    likes = (
        like if order is None else like._replace(stride=_strides(like.shape, order))
        for like, order in zip(recipe.tensors, orders)
    )
    mode = next(tensor.fake_mode for tensor in given if isinstance(tensor, FakeTensor))
    return make_results(recipe._replace(tensors=tuple(likes)), mode, given)


def as_twins(func: Any, out: Any) -> Any:
    """The results of an operator of TWINS, the two of them as one tensor."""
    first, second = TWINS[func]
    results = [*out]
    results[second] = results[first]
    return type(out)(results)


def run_into(run: Callable[..., Any], unasked: set[str]) -> Callable[..., Any]:
    """`run`, for an operator that may give a tensor which it writes into (`out=`) other sizes: kernels in Python give
    it contiguous strides, eager's the order of its operands' dimensions."""

    def run_and_lay_out(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        names = [argument.name for argument in func._schema.arguments]
        given = dict(zip(names, args)) | kwargs
        written = [given.get(argument.name) for argument in func._schema.arguments if argument.is_out]
        before = [(x, tuple(x.shape)) for x in tensors_among(written) if x.layout is torch.strided]
        out = run(func, args, kwargs)
        _lay_out_again(func, args, kwargs, before, unasked)
        return out

    return run_and_lay_out


def _lay_out_again(
    func: Any,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    before: Sequence[tuple[torch.Tensor, tuple[Any, ...]]],
    unasked: set[str],
) -> None:
    """before: the tensors that were written into, with their sizes."""
    resized = [tensor for tensor, shape in before if tuple(tensor.shape) != shape]
    given = {id(tensor) for tensor, _ in before}
    operands = [x for x in tensors_among([*args, *kwargs.values()]) if id(x) not in given]
    if not resized or any(x.layout is not torch.strided for x in operands):
        return
    if all(_numbers(x.stride()) == _strides(_numbers(x.shape), range(x.dim())) for x in operands):
        return
    shapes = [tuple(tensor.shape) for tensor in resized]
    try:
        real = on_zeros(func, _emptied(args, resized), _emptied(kwargs, resized), _LIMIT)
    except (NotAsked, RuntimeError):
        unasked.add(str(func))
        return
    by_output = dict(zip((id(tensor) for tensor, _ in before), tensors_among([real])))
    for tensor, shape in zip(resized, shapes):
        order = _other_order(tensor, by_output[id(tensor)])
        if all(type(size) is int for size in shape):
            tensor.as_strided_(shape, by_output[id(tensor)].stride())
        elif order is not None:
            tensor.as_strided_(shape, _strides(shape, order))


def _emptied(values: Any, resized: Sequence[torch.Tensor]) -> Any:
    """The same arguments, with nothing in these tensors."""
    if isinstance(values, Mapping):
        return {name: _emptied(value, resized) for name, value in values.items()}
    if isinstance(values, (list, tuple)):
        return type(values)(_emptied(value, resized) for value in values)
    return values.new_empty(0) if any(values is tensor for tensor in resized) else values


def _in_order(tensor: torch.Tensor, order: list[int] | None) -> torch.Tensor:
    if order is None:
        return tensor
    return tensor.permute(order).contiguous().permute([order.index(dim) for dim in range(len(order))])


def _same(size: Any) -> Any:
    return size


def _is_in_order(tensor: torch.Tensor) -> bool:
    """Whether its dimensions are ordered in memory from outermost to innermost, without gaps, on the example."""
    shape = _numbers(tensor.shape)
    return None in shape or _told(shape, _strides(shape, range(len(shape)))) == _told(shape, tensor.stride())


def _other_order(out: torch.Tensor, real: torch.Tensor) -> list[int] | None:
    """The order of the dimensions of `real` in memory; None if `out` has the same, or `real` has gaps."""
    shape = tuple(real.shape)
    steps = tuple(real.stride())
    told = _told(shape, steps)
    if _numbers(out.shape) != shape or told == _told(shape, out.stride()):
        return None
    order = sorted(range(len(shape)), key=lambda dim: (-steps[dim], dim))
    return order if _told(shape, _strides(shape, order)) == told else None


def _strides(shape: Sequence[Any], order: Sequence[int]) -> tuple[Any, ...]:
    strides: list[Any] = [1] * len(shape)
    step: Any = 1
    for dim in reversed(order):
        strides[dim] = step
        step = step * shape[dim]
    return tuple(strides)


def _numbers(sizes: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(map(shown_number, sizes))


def _told(shape: Sequence[int], strides: Sequence[Any]) -> dict[int, Any]:
    """The strides that matter: of dimensions whose size is not 1."""
    return {dim: shown_number(stride) for dim, stride in enumerate(strides) if shape[dim] != 1}
