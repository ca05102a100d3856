"""Composite operators that compare symbolic sizes in C++, by the operators that they consist of.

at::reshape determines whether it is a view by comparing sizes and strides one by one; each comparison of symbols calls
back into Python, and may become a fact that the program does not depend on. Here algebra decides, if it can.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.autograd.graph import increment_version

from dynamo_lite.capture._torch import FakeTensor
from dynamo_lite.capture.fakes.packed_sequences import PACK, PAD, RECURRENT
from dynamo_lite.capture.fakes.results import with_history
from dynamo_lite.capture.kernels import packed_sequences, shape_rules
from dynamo_lite.capture.operator_rules.table import IN_PLACE, only_changes
from dynamo_lite.symbolic_shapes.torch_env import view_kernel
from dynamo_lite.symbolic_shapes.torch_env.broadcasting import demand_equal_sizes, demand_fits
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv
from dynamo_lite.symbolic_shapes.torch_node.layout import QUESTIONS
from dynamo_lite.torch_internals._torch_dispatch import _AutoDispatchBelowAutograd
from dynamo_lite.torch_internals._torch_fake import device_of, in_kernel, make_fake

MISS = object()
"""Run the operator as it is."""


def run(env: TorchShapeEnv, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The result of an operator on a tensor with symbolic sizes; MISS if there is no rule, or it does not apply."""
    if func in BY_DATA:
        found = BY_DATA[func](env, *args, **kwargs)
        return MISS if found is None else found
    rule = RULES.get(func)
    if not args or not is_symbolic(args):
        return MISS
    if torch.Tag.pointwise in func.tags or func is _COPY:
        shapes = [arg.shape for arg in args if isinstance(arg, torch.Tensor)]
        demand_equal_sizes(env, shapes)
        if func in IN_PLACE:
            demand_fits(env, shapes[0], shapes[1:])
            if only_changes(func, args, {**kwargs}, env):
                increment_version(args[0])
                return args[0]
    elif func in _EXPANDS and len(shape := _shape_of(args[1])) >= args[0].dim():
        demand_equal_sizes(env, [args[0].shape, shape])
    if rule is not None:
        result = rule(env, *args, **kwargs)
    elif torch.Tag.pointwise in func.tags and not func._schema.is_mutable:
        result = shape_rules.pointwise(env, func, args, kwargs)
    else:
        return MISS
    return MISS if result is None else result


def _shape_of(target: Any) -> Sequence[Any]:
    return target.shape if isinstance(target, torch.Tensor) else target


def is_symbolic(args: Sequence[Any]) -> bool:
    """Whether a size among the arguments is a symbol."""
    for arg in args:
        for value in arg if isinstance(arg, (list, tuple)) else (arg,):
            if isinstance(value, torch.SymInt):
                return True
            if isinstance(value, torch.Tensor) and value._has_symbolic_sizes_strides:
                return True
    return False


def _reshape(env: TorchShapeEnv, tensor: torch.Tensor, shape: Sequence[Any]) -> torch.Tensor | None:
    return view_kernel.reshape(env, tensor, shape)


def _view(env: TorchShapeEnv, tensor: torch.Tensor, shape: Sequence[Any]) -> torch.Tensor | None:
    """As torch's kernel below autograd (view_kernel.py), of a tensor that requires grad: of others autograd may have
    to know the view."""
    if type(tensor) is not FakeTensor or not tensor.requires_grad or not view_kernel.is_plain(tensor):
        return None
    layout = None if tensor.is_conj() or tensor.is_neg() else view_kernel.view(env, tensor, shape)
    if layout is None:
        return None
    mode, (sizes, strides) = tensor.fake_mode, ([*map(env.wrap, part)] for part in layout)
    with env.suppress_guards():
        meta = in_kernel(mode, _viewed, tensor, sizes, strides)
    return with_history(make_fake(mode, meta, device_of(tensor)), True, [tensor], tensor, False)


def _viewed(tensor: torch.Tensor, sizes: Sequence[Any], strides: Sequence[Any]) -> torch.Tensor:
    with _AutoDispatchBelowAutograd():  # of a plain tensor, as in results.py
        return tensor.detach().as_strided(sizes, strides, tensor.storage_offset())


def _flatten(env: TorchShapeEnv, tensor: torch.Tensor, start_dim: int = 0, end_dim: int = -1) -> torch.Tensor | None:
    start, end = (dim + tensor.dim() if dim < 0 else dim for dim in (start_dim, end_dim))
    if not 0 <= start < end < tensor.dim():
        return None  # nothing to do, or an error
    shape = tensor.shape
    return view_kernel.reshape(env, tensor, [*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]])


def _contiguous(
    env: TorchShapeEnv, tensor: torch.Tensor, *, memory_format: torch.memory_format = torch.contiguous_format
) -> torch.Tensor | None:
    """A copy, if only some sizes make it one. Whether it is one, is asked where the program depends on that."""
    if memory_format is not torch.contiguous_format:
        return None
    is_itself = may_be_itself(env, tensor)
    if is_itself is None or (is_itself and not env.context.copies):
        return None
    return torch.ops.aten.clone.default(tensor, memory_format=torch.contiguous_format)


def may_be_itself(env: TorchShapeEnv, tensor: torch.Tensor) -> bool | None:
    """Whether `tensor.contiguous()` is the tensor itself in the example, where other sizes may differ; else None."""
    if not view_kernel.is_plain(tensor) or not tensor._has_symbolic_sizes_strides:
        return None
    question = QUESTIONS["is_contiguous"](*(list(map(env.unwrap, part)) for part in (tensor.shape, tensor.stride())))
    return None if env.memo.decide(question) is not None else env.hint_of(question)


def _is_nonzero(env: TorchShapeEnv, tensor: torch.Tensor) -> bool:
    """bool(tensor): how many elements there are decides whether that is an error (ATen/native/TensorProperties).

    Raises RuntimeError for none and for several, as eager does; the answer for one is the data's.
    """
    count = math.prod(tensor.shape)
    if count == 0:
        raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
    if count != 1:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    return torch.ops.aten.is_nonzero.default(tensor.as_strided((), (), 0))  # an offset may be symbolic, too


def _ctc_loss(
    env: TorchShapeEnv,
    log_probs: torch.Tensor,
    targets: torch.Tensor,
    input_lengths: torch.Tensor,
    target_lengths: torch.Tensor,
    blank: int = 0,
    reduction: int = 1,
    zero_infinity: bool = False,
) -> torch.Tensor:
    """A number, or one for each sequence where they are not reduced. Eager reads the lengths (ATen/native/LossCTC)."""
    batch = () if log_probs.dim() < 3 else (log_probs.shape[1],)
    loss = log_probs.new_empty(batch if reduction == 0 else ())
    return loss + log_probs.sum() * 0 if log_probs.requires_grad else loss


def _pad_sequence(
    env: TorchShapeEnv,
    sequences: Sequence[torch.Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> torch.Tensor | None:
    """As long as the longest of the sequences, whichever that is (ATen/native/PackedSequence.cpp compares them)."""
    first = sequences[0]
    trailing = tuple(first.shape[1:])
    if not first.dim() or padding_side not in ("left", "right") or len(sequences) < 2:
        return None
    if any(tuple(other.shape[1:]) != trailing for other in sequences if other.dim() == first.dim()):
        return None
    if any(other.dim() != first.dim() for other in sequences):
        return None
    longest = functools.reduce(torch.sym_max, [other.shape[0] for other in sequences])
    sizes = (len(sequences), longest) if batch_first else (longest, len(sequences))
    padded = first.new_empty((*sizes, *trailing))
    if any(other.requires_grad for other in sequences) and torch.is_grad_enabled():
        padded = padded + sum(other.sum() for other in sequences) * 0
    return padded


_COPY = torch.ops.aten.copy_.default
_EXPANDS = frozenset(
    {torch.ops.aten.expand.default, torch.ops.aten.expand_as.default, torch.ops.aten.broadcast_to.default}
)

_UPSAMPLE = tuple(
    getattr(torch.ops.aten, name).vec for name in (
        "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "_upsample_nearest_exact1d",
        "_upsample_nearest_exact2d", "_upsample_nearest_exact3d", "upsample_linear1d", "upsample_bilinear2d",
        "_upsample_bilinear2d_aa", "upsample_bicubic2d", "_upsample_bicubic2d_aa", "upsample_trilinear3d",
    )
)  # fmt: skip

BY_DATA: dict[Any, Callable[..., Any]] = {
    PACK: packed_sequences.pack,
    PAD: packed_sequences.pad,
    **dict.fromkeys(RECURRENT, packed_sequences.recurrent),
    torch.ops.aten.ctc_loss.Tensor: _ctc_loss,
}
"""Operators whose results have sizes that only run time knows, where torch's rule is wrong."""

BY_PARTS = frozenset({torch.ops.aten.narrow.Tensor, torch.ops.aten.combinations.default})
"""Operators that read data inside: recorded by their parts, so that the graph has the values."""

RULES: dict[Any, Callable[..., Any]] = {
    torch.ops.aten.is_nonzero.default: _is_nonzero,
    torch.ops.aten.reshape.default: _reshape,
    torch.ops.aten.view.default: _view,
    torch.ops.aten.flatten.using_ints: _flatten,
    torch.ops.aten.contiguous.default: _contiguous,
    torch.ops.aten.pad_sequence.default: _pad_sequence,
    torch.ops.aten.linear.default: shape_rules.linear,
    torch.ops.aten.matmul.default: shape_rules.matmul,
    torch.ops.aten.cdist.default: shape_rules.distances,
    torch.ops.aten.scaled_dot_product_attention.default: shape_rules.attention,
    torch.ops.aten.layer_norm.default: shape_rules.layer_norm,
    torch.ops.aten.batch_norm.default: shape_rules.batch_norm,
    **dict.fromkeys(_UPSAMPLE, shape_rules.upsampled),
    torch.ops.aten.affine_grid_generator.default: shape_rules.affine_grid,
    torch.ops.aten.take_along_dim.default: shape_rules.take_along_dim,
    torch.ops.aten.kron.default: shape_rules.kron,
    torch.ops.aten.lstm.input: shape_rules.recurrent,
    torch.ops.aten.gru.input: shape_rules.recurrent,
    torch.ops.aten.rnn_tanh.input: shape_rules.recurrent,
    torch.ops.aten.rnn_relu.input: shape_rules.recurrent,
    torch.ops.aten.conv1d.default: shape_rules.convolution,
    torch.ops.aten.conv2d.default: shape_rules.convolution,
    torch.ops.aten.conv3d.default: shape_rules.convolution,
}
