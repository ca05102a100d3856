"""Operators whose results have simple sizes, though torch's kernels decide on sizes to compute them.

A recurrent layer is unrolled by its decomposition, which fixes the number of steps; a convolution chooses its backend
by the batch's size. Neither matters for the recording: one node, and the metadata of its result. The rules here derive
these from the sizes of the arguments, and record eager's demands on them. They are used only if a size is a symbol
(composites.py); other cases are left to torch.

Sources: RNN.cpp, UpSample.cpp, AffineGridGenerator.cpp, Convolution.cpp, LinearAlgebra.cpp, Distance.cpp and
TensorAdvancedIndexing.cpp in aten/src/ATen/native, and ConvUtils.h (torch 2.13.0).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import torch

from dynamo_lite.capture._torch import FakeTensor
from dynamo_lite.capture.fakes import static_cache
from dynamo_lite.capture.fakes.results import with_history
from dynamo_lite.capture.operator_rules.table import SHADOW, result_of
from dynamo_lite.symbolic_shapes.expressions.relations import eq, ge, ne
from dynamo_lite.symbolic_shapes.torch_env.broadcasting import broadcast
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv
from dynamo_lite.symbolic_shapes.torch_env.view_kernel import contiguous_strides

aten = torch.ops.aten


def recurrent(
    env: TorchShapeEnv, input: torch.Tensor, hx: Any, params: Sequence[torch.Tensor], has_biases: bool, num_layers: int,
    dropout: float, train: bool, bidirectional: bool, batch_first: bool,
) -> tuple[torch.Tensor, ...] | None:  # fmt: skip
    """aten.lstm.input, gru.input, rnn_tanh.input, rnn_relu.input on (time, batch, features), or batch first.

    Returns (output, last state) or, for an LSTM, (output, last hidden state, last cell state).
    """
    states = [hx] if isinstance(hx, torch.Tensor) else [*hx]
    given = [input, *states, *params]
    if not are_plain(given) or input.dim() != 3 or any(state.dim() != 3 for state in states):
        return None
    batch, time = (input.shape[0], input.shape[1]) if batch_first else (input.shape[1], input.shape[0])
    demands = [ge(env.unwrap(time), 1)]
    demands += [eq(env.unwrap(state.shape[1]), env.unwrap(batch)) for state in states]
    if not all(env.demand(demand) for demand in demands):
        return None
    features = states[0].shape[2] * (2 if bidirectional else 1)
    output = new_result([time, batch, features], input, given)
    if batch_first:
        output = output.transpose(0, 1)
    return (output, *(new_result(state.shape, state, given) for state in states))


def convolution(
    env: TorchShapeEnv, input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, stride: Any = 1,
    padding: Any = 0, dilation: Any = 1, groups: int = 1,
) -> torch.Tensor | None:  # fmt: skip
    """aten.conv1d, conv2d and conv3d (default overloads) on a batch, with channels first or last as on the example."""
    given = [t for t in (input, weight, bias) if t is not None]
    space = weight.dim() - 2
    if not are_plain(given) or input.dim() != weight.dim() or isinstance(padding, str):
        return None
    strides, pads, dilations = (_spread(value, space) for value in (stride, padding, dilation))
    if None in (strides, pads, dilations) or groups < 1 or not _is_multiple(weight.shape[0], groups):
        return None
    if bias is not None and bias.dim() != 1:
        return None
    sizes = [input.shape[0], weight.shape[0]]
    demands = [eq(env.unwrap(input.shape[1]), env.unwrap(weight.shape[1]) * groups)]
    demands += [] if bias is None else [eq(env.unwrap(bias.shape[0]), env.unwrap(weight.shape[0]))]
    for size, kernel, step, pad, spread in zip(input.shape[2:], weight.shape[2:], strides, pads, dilations):  # type: ignore[arg-type]
        room = size + 2 * pad - (spread * (kernel - 1) + 1)
        demands.append(ge(env.unwrap(room), 0))
        sizes.append(room // step + 1)
    order: tuple[int, ...] | None = tuple(range(space + 2))
    if not all(is_contiguous(env, t) for t in (input, weight)):
        options = (bias, strides, pads, dilations, groups)
        channels_last = (0, *range(2, space + 2), 1)
        order = _order(env, _CONVOLUTIONS[space], (input, weight, *options), {}, (order, channels_last))
    if order is None or not all(env.demand(demand) for demand in demands):
        return None
    return _new_in_order(sizes, order, input, given)


_CONVOLUTIONS = {1: aten.conv1d.default, 2: aten.conv2d.default, 3: aten.conv3d.default}


def linear(
    env: TorchShapeEnv, input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None
) -> torch.Tensor | None:
    """aten.linear with a matrix of weights; the result is contiguous, whatever the input's strides."""
    given = [t for t in (input, weight, bias) if t is not None]
    if not are_plain(given) or input.dim() < 2 or weight.dim() != 2:
        return None
    sizes = [*input.shape[:-1], weight.shape[0]]
    if not env.demand(eq(env.unwrap(input.shape[-1]), env.unwrap(weight.shape[1]))):
        return None
    return None if bias is not None and not _expands(env, bias, sizes) else new_result(sizes, input, given)


def matmul(env: TorchShapeEnv, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor | None:
    """aten.matmul of batches of matrices, or of one batch with a matrix: the result is contiguous."""
    if not are_plain([left, right]) or left.dim() < 3 or right.dim() < 2:
        return None
    batch = broadcast(env, [left.shape[:-2], right.shape[:-2]])
    if batch is None or not env.demand(eq(env.unwrap(left.shape[-1]), env.unwrap(right.shape[-2]))):
        return None
    return new_result([*batch, left.shape[-2], right.shape[-1]], left, [left, right])


def distances(
    env: TorchShapeEnv, x1: torch.Tensor, x2: torch.Tensor, p: float = 2.0, compute_mode: int | None = None
) -> torch.Tensor | None:
    """aten.cdist: between the rows of batches of matrices. (How it is computed depends on how many rows there are.)"""
    if not are_plain([x1, x2]) or min(x1.dim(), x2.dim()) < 2 or p < 0:
        return None
    batch = [] if x1.dim() == x2.dim() == 2 else broadcast(env, [x1.shape[:-2], x2.shape[:-2]])
    if batch is None or not env.demand(eq(env.unwrap(x1.shape[-1]), env.unwrap(x2.shape[-1]))):
        return None
    return new_result([*batch, x1.shape[-2], x2.shape[-2]], x1, [x1, x2])


def attention(
    env: TorchShapeEnv, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
    attn_mask: torch.Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False, *,
    scale: float | None = None, enable_gqa: bool = False,
) -> torch.Tensor | None:  # fmt: skip
    """aten.scaled_dot_product_attention on (batch, heads, length, width).

    It is laid out as the kernel that torch picks does it: contiguous, or as (batch, length, heads, width).
    """
    given = [query, key, value, *([] if attn_mask is None else [attn_mask])]
    if enable_gqa or not are_plain([query, key, value]) or any(t.dim() != 4 for t in given):
        return None
    batch, heads, length, width = query.shape
    same = [(key.shape[0], batch), (value.shape[0], batch), (key.shape[1], heads), (value.shape[1], heads),
            (key.shape[3], width), (value.shape[2], key.shape[2])]  # fmt: skip
    if attn_mask is not None:
        target = [batch, heads, length, key.shape[2]]
        same += [(a, b) for a, b in zip(attn_mask.shape, target) if not (type(a) is int and a == 1)]
    options = (*given, *[None] * (4 - len(given)), dropout_p, is_causal)
    sdpa = aten.scaled_dot_product_attention.default
    order = _order(env, sdpa, options, {"scale": scale}, ((0, 1, 2, 3), (0, 2, 1, 3)))
    if order is None or not all(env.demand_equal(env.unwrap(a), env.unwrap(b)) for a, b in same):
        return None
    return _new_in_order([batch, heads, length, value.shape[3]], order, query, given)


_Order = tuple[int, ...]
_orders: dict[Any, _Order | None] = {}


def _order(
    env: TorchShapeEnv, func: Any, args: Sequence[Any], kwargs: dict[str, Any], orders: Sequence[Any]
) -> _Order | None:
    """The order of dimensions, from the outermost, in which the result is laid out for the example, one of `orders`.

    None if in none of them, or if the example does not distinguish them.
    """
    shown = [_example(env, a) if isinstance(a, torch.Tensor) else a for a in args]
    if any(a is not None and b is None for a, b in zip(args, shown)):
        return None
    key = static_cache.key_of(func, shown, kwargs)
    if key is None or (key, *orders) not in _orders:
        said = None if SHADOW else result_of(func, shown, kwargs)
        if said is None:
            out = func(*shown, **kwargs)
            shape, stride = tuple(out.shape), tuple(out.stride())
        else:
            shape, stride = said.tensors[0][:2]
        fitting = [order for order in orders if stride == _strides(shape, order)]
        found = fitting[0] if len(fitting) == 1 else None
        if key is None:
            return found
        _orders[key, *orders] = found
    return _orders[key, *orders]


def _strides(shape: Sequence[int], order: _Order) -> _Order:
    """The strides of a tensor without gaps whose dimensions have this order in memory."""
    strides, step = [0] * len(shape), 1
    for dimension in reversed(order):
        strides[dimension] = step
        step *= max(shape[dimension], 1)
    return tuple(strides)


def _example(env: TorchShapeEnv, tensor: torch.Tensor) -> torch.Tensor | None:
    """A fake tensor with the example's sizes and strides; None for sizes that no example has."""
    sizes = [size if type(size) is int else env.hint_of(env.unwrap(size)) for size in tensor.shape]
    strides = [stride if type(stride) is int else env.hint_of(env.unwrap(stride)) for stride in tensor.stride()]
    if None in sizes or None in strides:
        return None
    made = torch.empty_strided(sizes, strides, dtype=tensor.dtype, device=tensor.device)
    return made.requires_grad_(tensor.requires_grad)


def layer_norm(
    env: TorchShapeEnv, input: torch.Tensor, normalized_shape: Sequence[Any], weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None, eps: float = 1e-5, cudnn_enable: bool = True,
) -> torch.Tensor | None:  # fmt: skip
    """aten.layer_norm: a contiguous tensor of the input's sizes."""
    given = [t for t in (input, weight, bias) if t is not None]
    count = len(normalized_shape)
    if not are_plain(given) or not 0 < count <= input.dim():
        return None
    sizes = [tuple(normalized_shape), *(tuple(t.shape) for t in given[1:])]
    tail = tuple(input.shape[-count:])
    if any(len(size) != count for size in sizes):
        return None
    pairs = [(a, b) for size in sizes for a, b in zip(size, tail)]
    if not all(env.expect_true(eq(env.unwrap(a), env.unwrap(b))) for a, b in pairs):
        return None
    return new_result(input.shape, input, given)


def batch_norm(
    env: TorchShapeEnv, input: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None,
    running_mean: torch.Tensor | None, running_var: torch.Tensor | None, training: bool, *options: Any,
) -> torch.Tensor | None:  # fmt: skip
    """aten.batch_norm of a batch of some size, which torch demands not to be empty."""
    channels = [t for t in (weight, bias, running_mean, running_var) if t is not None]
    batch, *others = input.shape
    if not are_plain([input, *channels]) or type(batch) is int or not is_contiguous(env, input):
        return None
    if not others or not all(type(size) is int and size for size in others) or len(channels) != 4:
        return None
    if any(tuple(t.shape) != (others[0],) or t.stride() != (1,) for t in channels):
        return None
    if not env.expect_true(ne(env.unwrap(batch), 0)):
        return None
    return new_result(input.shape, input, [input, *channels])


def upsampled(env: TorchShapeEnv, input: torch.Tensor, output_size: Sequence[Any] | None, *options: Any) -> Any:
    """aten.upsample_*.vec of contiguous images, to given sizes or by the factors that end `options` (UpSample.cpp)."""
    space, factors = input.dim() - 2, options[-1]
    if space < 1 or not are_plain([input]) or not is_contiguous(env, input):
        return None
    if (output_size is None) is (factors is None):
        return None
    sizes = [*(output_size or ())]
    if factors is not None and len(factors) == space:
        sizes = [torch.sym_int(size * factor) for size, factor in zip(input.shape[2:], factors)]
    if len(sizes) != space:
        return None
    demands = [ge(env.unwrap(size), 1) for size in (*input.shape[1:], *sizes)]
    if not all(env.demand(demand) for demand in demands):
        return None
    return new_result([*input.shape[:2], *sizes], input, [input])


def affine_grid(
    env: TorchShapeEnv, theta: torch.Tensor, size: Sequence[Any], align_corners: bool
) -> torch.Tensor | None:
    """aten.affine_grid_generator: for each position of images of `size` (batch, channels, ...) a place in another."""
    space = len(size) - 2
    if not are_plain([theta]) or space not in (2, 3) or theta.dim() != 3:
        return None
    pairs = zip(theta.shape, (size[0], space, space + 1))
    if not all(env.expect_true(eq(env.unwrap(a), env.unwrap(b))) for a, b in pairs):
        return None
    return new_result([size[0], *size[2:], space], theta, [theta])


def pointwise(env: TorchShapeEnv, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> torch.Tensor | None:
    """An operator that works element by element, on tensors whose dimensions are in order, possibly with gaps or
    expanded: broadcast sizes, contiguous (TensorIterator.cpp, reorder_dimensions, keeps them in that order)."""
    values = (*args, *kwargs.values())
    tensors = [a for a in values if isinstance(a, torch.Tensor)]
    if not tensors or any(isinstance(a, (list, tuple, torch.SymFloat, torch.SymBool)) for a in values):
        return None
    if any(type(t) is not FakeTensor or t.layout is not torch.strided or t.is_conj() or t.is_neg() for t in tensors):
        return None
    if any(t.device != tensors[0].device for t in tensors) or not all(_is_in_order(env, t) for t in tensors):
        return None
    sizes = broadcast(env, [t.shape for t in tensors])
    dtype = None if sizes is None else _dtype_of(func, args, kwargs)
    if sizes is None or dtype is None:
        return None
    requiring = [t for t in tensors if t.requires_grad] if dtype.is_floating_point or dtype.is_complex else []
    return new_result(sizes, tensors[0], requiring, dtype)


def take_along_dim(
    env: TorchShapeEnv, tensor: torch.Tensor, indices: torch.Tensor, dim: int | None = None
) -> torch.Tensor | None:
    """aten.take_along_dim along a dimension: in the others, both are broadcast (TensorAdvancedIndexing.cpp)."""
    rank = tensor.dim()
    if dim is None or not -rank <= dim < rank or indices.dim() != rank or indices.dtype is not torch.int64:
        return None  # flattened, or an error
    if any(type(t) is not FakeTensor or t.layout is not torch.strided for t in (tensor, indices)):
        return None
    axis = dim % rank
    others = broadcast(env, [(*t.shape[:axis], *t.shape[axis + 1 :]) for t in (tensor, indices)])
    if others is None or tensor.device != indices.device:
        return None
    return new_result([*others[:axis], indices.shape[axis], *others[axis:]], tensor, [tensor])


def kron(env: TorchShapeEnv, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor | None:
    """aten.kron of contiguous tensors: in each dimension, the product of the sizes (LinearAlgebra.cpp)."""
    given = [left, right]
    if any(type(t) is not FakeTensor or t.layout is not torch.strided for t in given) or left.device != right.device:
        return None
    if not all(is_contiguous(env, t) for t in given):
        return None  # only the kernel determines the result's strides
    rank = max(left.dim(), right.dim())
    sizes = [a * b for a, b in zip(*([1] * (rank - t.dim()) + [*t.shape] for t in given))]
    dtype = _dtype_of(aten.mul.Tensor, given, {})
    return None if dtype is None else new_result(sizes, left, [t for t in given if t.requires_grad], dtype)


def _dtype_of(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> torch.dtype | None:
    """The dtype of the result: that of the same call on tensors of one element. None if it has more than one result."""
    key = (func, *map(_dtype_key, args), *((name, _dtype_key(value)) for name, value in kwargs.items()),
           torch.get_default_dtype())  # fmt: skip
    if key not in _dtypes:
        with torch.no_grad():
            out = func(*map(_one_element, args), **{name: _one_element(value) for name, value in kwargs.items()})
        _dtypes[key] = out.dtype if isinstance(out, torch.Tensor) else None
    return _dtypes[key]


_dtypes: dict[Any, torch.dtype | None] = {}


def _dtype_key(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return (value.dtype, value.device, value.dim() == 0)
    return (type(value), repr(value)) if isinstance(value, (float, complex)) else (type(value), _one_element(value))


def _one_element(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return torch.empty(() if value.dim() == 0 else (1,), dtype=value.dtype, device=value.device)
    return 1 if isinstance(value, torch.SymInt) else value


def _is_multiple(size: Any, number: int) -> bool:
    """Whether a size is a multiple of a number, as far as it is known here."""
    return number == 1 or (type(size) is int and size % number == 0)


def _expands(env: TorchShapeEnv, tensor: torch.Tensor, sizes: Sequence[Any]) -> bool:
    """Whether a tensor is expanded to these sizes, which is demanded; False if the kernel has to decide."""
    pairs = [(a, b) for a, b in zip(reversed(tensor.shape), reversed(sizes)) if type(a) is not int or a not in (1, b)]
    if tensor.dim() > len(sizes) or any(type(a) is int and type(b) is int for a, b in pairs):
        return False
    return all(env.demand_equal(env.unwrap(a), env.unwrap(b)) for a, b in pairs)


def _spread(value: Any, count: int) -> list[int] | None:
    values = [value] if isinstance(value, int) else [*value]
    if not all(type(v) is int for v in values) or len(values) not in (1, count):
        return None
    return values * count if len(values) == 1 else values


def are_plain(tensors: Sequence[Any]) -> bool:
    """FakeTensors of one floating-point dtype on one device, strided; no autocast, which would change the dtype."""
    first = tensors[0]
    return not (torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda")) and all(
        type(t) is FakeTensor
        and t.layout is torch.strided
        and t.dtype is first.dtype
        and t.dtype.is_floating_point
        and t.device == first.device
        for t in tensors
    )


def is_contiguous(env: TorchShapeEnv, tensor: torch.Tensor) -> bool:
    sizes = [env.node_of(size).current() for size in tensor.shape]
    return [env.node_of(stride).current() for stride in tensor.stride()] == contiguous_strides(sizes)


def _is_in_order(env: TorchShapeEnv, tensor: torch.Tensor) -> bool:
    """Whether each dimension is within the one before it in memory, for all sizes; an expanded one may be anywhere."""
    if is_contiguous(env, tensor):
        return True
    dims = [(env.unwrap(size), env.unwrap(stride)) for size, stride in zip(tensor.shape, tensor.stride())]
    dims = [(size, stride) for size, stride in dims if stride.as_constant() != 0 and size.as_constant() != 1]
    return all(
        env.memo.decide(ge(outer, size * stride)) is True and env.memo.decide(ge(stride, 1)) is True
        for (_, outer), (size, stride) in pairwise(dims)
    )


def _new_in_order(
    sizes: Sequence[Any], order: _Order, like: torch.Tensor, given: Sequence[torch.Tensor]
) -> torch.Tensor:
    """A result without gaps, its dimensions in this order in memory."""
    made = new_result([sizes[dimension] for dimension in order], like, given)
    return made if order == tuple(range(len(order))) else made.permute([order.index(d) for d in range(len(order))])


def new_result(
    sizes: Sequence[Any], like: torch.Tensor, given: Sequence[torch.Tensor], dtype: torch.dtype | None = None
) -> torch.Tensor:
    """A contiguous result that depends on `given`."""
    made = aten.empty.memory_format(sizes, dtype=dtype or like.dtype, device=like.device)
    requires_grad = torch.is_grad_enabled() and any(t.requires_grad for t in given)
    return with_history(made, requires_grad, given, None, False)
