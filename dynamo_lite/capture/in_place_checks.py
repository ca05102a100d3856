"""Checks of operators that change tensors in place, before they run on fake tensors."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import torch

from dynamo_lite.capture._torch import OpOverload
from dynamo_lite.capture.errors import CaptureError
from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.graph.lifting import Lifted, Unwritable
from dynamo_lite.capture.graph.subgraphs import Levels
from dynamo_lite.capture.kernels import eager_errors


class Constants(Protocol):
    """The memory of tensors that are not inputs, parameters or buffers, as the recorder tracks it."""

    constant_storages: dict[int, Lifted]
    computed_storages: dict[int, Unwritable]

    def become_state(self, lifted: Lifted) -> bool: ...


def written(func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> Iterator[torch.Tensor]:
    """The tensors that an operator with these arguments changes in place."""
    for index, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = args[index] if index < len(args) else kwargs.get(argument.name)
            values = value if isinstance(value, (list, tuple)) else [value]
            yield from (v for v in values if isinstance(v, torch.Tensor))


@functools.cache
def may_reshape(func: OpOverload) -> bool:
    """Whether an operator may give a tensor that it changes other sizes or strides (unsqueeze_, resize_, out=)."""
    return torch.Tag.inplace_view in func.tags or any(argument.is_out for argument in func._schema.arguments)


def check_constants(constants: Constants, func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Makes a buffer of an outer constant that is changed, or of which a view is changed. Rejects the change if it
    cannot be a buffer: the program would change its own copy."""
    _check_changed(constants, func, written(func, args, kwargs))


def _check_changed(constants: Constants, func: OpOverload, tensors: Iterable[torch.Tensor]) -> None:
    for tensor in tensors:
        reason = constants.computed_storages.get(storage_key(tensor))
        if reason is not None:
            raise CaptureError(reason.id, reason.what, reason.instead, {"function": str(func), **reason.details})
        lifted = constants.constant_storages.get(storage_key(tensor))
        if lifted is not None and not constants.become_state(lifted):
            raise CaptureError(
                "constant-mutated",
                f"{func} changes {lifted.fqn}, which is neither an input nor a registered buffer",
                "register it as a buffer (register_buffer), or clone() it first",
                {"target": lifted.fqn},
            )


def overlap_error(func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> Exception | None:
    """The error that eager raises for a write to elements that share memory (an expanded tensor)."""
    tensors = [*written(func, args, kwargs)]
    error = eager_errors.of_overlap(func, tensors, args, kwargs)
    if error is not None:
        for tensor in tensors:
            eager_errors.rest_on_overlap(tensor)
    return error


def check_operands(levels: Levels, func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Rejects in-place changes of a sub-graph's operands."""
    _check_operands(levels, func, written(func, args, kwargs))


def _check_operands(levels: Levels, func: OpOverload, tensors: Iterable[torch.Tensor]) -> None:
    for tensor in tensors:
        if not levels.absorbs_change(tensor) and levels.changes_operand(tensor):
            raise CaptureError(
                "subgraph-mutates",
                f"{func} changes a tensor that exists outside of the function that a control-flow operator was given",
                "clone() it first, or return the new value",
                {"operator": str(func)},
            )


def check_shapes(
    originals: dict[int, torch.Tensor], func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]
) -> None:
    """After the run: rejects new sizes or strides for a parameter, buffer or constant.

    Later reads would return the old ones. originals: the id of a fake tensor → the tensor that it represents.
    """
    for tensor in written(func, args, kwargs):
        original = originals.get(id(tensor))
        if original is None or _geometry(original) == _geometry(tensor):
            continue
        name = func._overloadpacket._qualified_op_name.rpartition("::")[2]
        raise CaptureError(
            "tensor-reshaped",
            f"{func} gives a parameter, a buffer or a constant other sizes or strides in place",
            "reshape a copy, or a view of it",
            {"name": name},
        )


def _geometry(tensor: torch.Tensor) -> tuple[Any, ...]:
    if tensor.layout is not torch.strided:
        return (tensor.shape,)
    return tensor.shape, tensor.stride(), tensor.storage_offset()


def check_statistics(constants: Constants, levels: Levels, func: OpOverload, args: Sequence[Any]) -> None:
    """The checks of in-place changes for running statistics, which schemas do not mark as changed.

    `args` are those of batch_norm or instance_norm.
    """
    if args[5] is not True:
        return
    statistics = [tensor for tensor in args[3:5] if tensor is not None]
    _check_changed(constants, func, statistics)
    if levels:
        _check_operands(levels, func, statistics)
