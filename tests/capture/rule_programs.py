"""Random calls of operators on random layouts: transposed, expanded, sliced, channels-last, of one element, empty."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

aten = torch.ops.aten
_DTYPES = (torch.float64, torch.int64, torch.bool, torch.float16, torch.int32, torch.uint8)


class Draw(random.Random):
    """Draws shapes, layouts and tensors."""

    def shape(self, low: int = 0, high: int = 4) -> list[int]:
        sizes = (0, 1, 2) if self.random() < 0.1 else (1, 1, 2, 2, 3, 4, 5)
        return [self.choice(sizes) for _ in range(self.randint(low, high))]

    def part(self, shape: list[int]) -> list[int]:
        """A shape that broadcasts to `shape`."""
        sizes = [1 if self.random() < 0.25 else size for size in shape]
        return sizes[self.randint(0, len(sizes)) :] if self.random() < 0.3 else sizes

    def tensor(self, shape: list[int], dtype: torch.dtype | None = torch.float32) -> torch.Tensor:
        """dtype: None for any; a third of the floating-point ones require grad."""
        dtype = dtype or (torch.float32 if self.random() < 0.5 else self.choice(_DTYPES))
        strides = self._strides(shape)
        offset = self.choice((0, 0, 0, 3))
        base = torch.zeros(offset + 1 + sum((a - 1) * b for a, b in zip(shape, strides) if a), dtype=dtype)
        if dtype.is_floating_point and self.random() < 0.3:
            base.requires_grad_()
        return base.as_strided(shape, strides, offset)

    def _strides(self, shape: list[int]) -> list[int]:
        order, gaps = [*range(len(shape))], self.random() < 0.15
        kind = self.random()
        if kind < 0.35:
            self.shuffle(order)
        elif kind < 0.5 and len(shape) == 4:
            order = [0, 2, 3, 1]
        strides, step = [0] * len(shape), 1
        for index in reversed(order):
            if shape[index] == 1 and self.random() < 0.2:
                strides[index] = self.choice((1, step, 7, 0))
                continue
            step += gaps and self.randint(0, 2)
            strides[index] = step
            step *= max(shape[index], 1)
        if shape and self.random() < 0.08:
            strides[self.randrange(len(shape))] = 0
        return strides

    def dim(self, tensor: torch.Tensor) -> int:
        return self.randint(-max(tensor.dim(), 1), max(tensor.dim(), 1) - 1)

    def factors(self, count: int) -> list[int]:
        """Sizes whose product is `count`, one of them -1 at times."""
        sizes = []
        for prime in (2, 2, 3, 5):
            if count > 1 and count % prime == 0 and self.random() < 0.6:
                sizes.append(prime)
                count //= prime
        sizes += [count, *[1] * self.randint(0, 2)]
        self.shuffle(sizes)
        if self.random() < 0.3:
            sizes[self.randrange(len(sizes))] = -1
        return sizes

    def number(self) -> Any:
        return self.choice((1, 2, 2.5, True, 0, -1))


def unary(d: Draw) -> Any:
    names = (
        "relu",
        "neg",
        "abs",
        "sign",
        "floor",
        "sin",
        "exp",
        "sigmoid",
        "isnan",
        "logical_not",
        "bitwise_not",
        "rsqrt",
        "isfinite",
        "square",
        "round",
        "erf",
        "ceil",
        "reciprocal",
        "tanh",
        "cos",
        "log",
    )
    smooth = (F.gelu, F.silu, F.hardswish, F.softplus, F.leaky_relu, F.elu, F.mish, F.hardtanh, F.relu6, F.logsigmoid)
    if d.random() < 0.4:
        return d.choice(smooth)(d.tensor(d.shape()))
    return getattr(torch, d.choice(names))(d.tensor(d.shape(), None))


def binary(d: Draw) -> Any:
    names = (
        "add",
        "sub",
        "mul",
        "div",
        "maximum",
        "minimum",
        "pow",
        "remainder",
        "eq",
        "lt",
        "logical_and",
        "bitwise_and",
        "bitwise_or",
        "atan2",
        "fmod",
        "ge",
        "clamp_min",
        "logical_xor",
        "bitwise_xor",
        "max",
        "ne",
        "rsub",
        "floor_divide",
    )
    shape = d.shape()
    left = d.tensor(shape, None)
    right: Any = d.tensor(d.part(shape), left.dtype if d.random() < 0.5 else None) if d.random() < 0.8 else d.number()
    return getattr(torch, d.choice(names))(left, right)


def choosing(d: Draw) -> Any:
    shape = d.shape()
    condition, a = d.tensor(d.part(shape), torch.bool), d.tensor(d.part(shape), None)
    b: Any = d.tensor(shape, None) if d.random() < 0.6 else d.number()
    return d.choice(
        (
            lambda: torch.where(condition, a, b),
            lambda: torch.where(condition, b, a),
            lambda: torch.clamp(a, 0, d.number()),
            lambda: a.masked_fill(condition, d.number()),
            lambda: torch.div(a, b, rounding_mode="floor"),
        )
    )()


def viewed(d: Draw) -> Any:
    t = d.tensor(d.shape(), None)
    sizes = d.factors(t.numel())
    order = d.sample(range(t.dim()), t.dim())
    wide = [d.choice((1, 3)) if size == 1 else size for size in t.shape]
    return d.choice(
        (
            lambda: t.view(sizes),
            lambda: t.reshape(sizes),
            lambda: t.flatten(d.dim(t), d.dim(t)),
            lambda: t.permute(order),
            lambda: t.transpose(d.dim(t), d.dim(t)),
            lambda: t.unsqueeze(d.dim(t)),
            lambda: t.squeeze(d.dim(t)),
            lambda: t.squeeze(),
            lambda: t.t(),
            lambda: t.expand([2] * d.randint(0, 1) + wide),
            lambda: t.detach(),
            lambda: t.unflatten(d.dim(t), d.factors(4)),
            lambda: t.expand_as(torch.zeros(wide)),
            lambda: aten.alias(t),
        )
    )()


def cut(d: Draw) -> Any:
    t = d.tensor(d.shape(1), None)
    at = d.dim(t)
    return d.choice(
        (
            lambda: aten.slice.Tensor(
                t, at, d.choice((None, 0, 1, -2, 9)), d.choice((None, 2, -1, 99)), d.randint(1, 3)
            ),
            lambda: t.select(at, d.randint(-3, 3)),
            lambda: t.unbind(at),
            lambda: t.split(d.randint(1, 3), at),
            lambda: t.chunk(d.randint(1, 3), at),
            lambda: t.narrow(at, d.randint(-2, 2), d.randint(0, 2)),
            lambda: t.split([1, t.shape[at] - 1], at),
        )
    )()


def product(d: Draw) -> Any:
    shape = d.shape(2)
    rows, columns = d.randint(1, 3), d.randint(1, 4)
    batch = [*shape[:-2], shape[-1], columns] if d.random() < 0.7 else [shape[-1], columns]
    one, other = d.tensor([rows, 3]), d.tensor([3, columns])
    return d.choice(
        (
            lambda: torch.matmul(d.tensor(shape), d.tensor(batch)),
            lambda: torch.mm(one, other),
            lambda: F.linear(d.tensor(shape), d.tensor([columns, shape[-1]]), d.tensor([columns])),
            lambda: torch.addmm(d.tensor(d.part([rows, columns])), one, other),
            lambda: torch.bmm(d.tensor([2, rows, 3]), d.tensor([2, 3, columns])),
        )
    )()


def convolved(d: Draw) -> Any:
    space, groups, into, out = d.randint(1, 3), d.choice((1, 1, 2)), d.randint(1, 3), d.randint(1, 3)
    image = d.tensor([d.randint(1, 2), into * groups, *(d.randint(1, 5) for _ in range(space))])
    kernel = [d.randint(1, 3) for _ in range(space)]
    bias = d.tensor([out * groups]) if d.random() < 0.6 else None
    options = {"stride": d.randint(1, 2), "groups": groups, "dilation": d.choice((1, 1, 2))}
    if d.random() < 0.3:
        weight, extra = d.tensor([into * groups, out, *kernel]), d.choice((0, 0, 1))
        transposed = getattr(F, f"conv_transpose{space}d")
        return transposed(image, weight, bias, padding=d.randint(0, 1), output_padding=extra, **options)
    padding = d.choice((0, 1, "same", "valid"))
    return getattr(F, f"conv{space}d")(image, d.tensor([out * groups, into, *kernel]), bias, padding=padding, **options)


def pooled(d: Draw) -> Any:
    space = d.randint(1, 3)
    image = d.tensor(d.shape(space + 1, space + 2))
    modes = {1: ("nearest", "linear"), 2: ("nearest", "bilinear", "bicubic"), 3: ("nearest", "trilinear")}[space]
    window = (d.randint(1, 3), d.choice((None, 1, 2)), d.choice((0, 1)))
    size: Any = {"size": [3] * space} if d.random() < 0.5 else {"scale_factor": d.choice((2, 1.5, 0.5))}
    return d.choice(
        (
            lambda: getattr(F, f"max_pool{space}d")(image, *window),
            lambda: getattr(F, f"avg_pool{space}d")(image, *window),
            lambda: getattr(F, f"adaptive_avg_pool{space}d")(image, d.randint(1, 3)),
            lambda: F.interpolate(image, mode=d.choice(modes), **size),
        )
    )()


def normalised(d: Draw) -> Any:
    t = d.tensor(d.shape(2))
    tail, channels = [*t.shape[-d.randint(1, t.dim()) :]], [t.shape[1]]
    weight, bias = (d.tensor(channels) if d.random() < 0.7 else None for _ in range(2))
    mean, variance = d.tensor(channels).detach(), d.tensor(channels).detach()
    return d.choice(
        (
            lambda: F.layer_norm(t, tail, d.tensor(tail), d.tensor(tail) if d.random() < 0.5 else None),
            lambda: F.batch_norm(t, mean, variance, weight, bias, d.random() < 0.5),
            lambda: F.rms_norm(t, tail, d.tensor(tail)),
            lambda: F.group_norm(t, d.choice((1, t.shape[1])), weight, bias),
            lambda: F.softmax(t, d.dim(t)),
            lambda: F.log_softmax(t, d.dim(t)),
            lambda: F.dropout(t, d.choice((0.0, 0.5, 1.0)), d.random() < 0.6),
            lambda: torch._weight_norm(t, d.tensor([t.shape[0], *[1] * (t.dim() - 1)])),
            lambda: torch._weight_norm(t, d.tensor([*[1] * (t.dim() - 1), t.shape[-1]]), t.dim() - 1),
        )
    )()


def attended(d: Draw) -> Any:
    batch, heads, width = d.randint(1, 2), d.randint(1, 3), d.choice((1, 4, 8))
    length, keys = d.choice((1, 3)), d.choice((1, 3, 5))

    def operand(steps: int) -> torch.Tensor:
        kind = d.random()
        if kind < 0.5:
            return d.tensor([batch, steps, heads, width]).transpose(1, 2)
        packed = torch.zeros(batch, steps, 3 * heads * width)[..., : heads * width]
        own = d.tensor([batch, heads, steps, width])
        return packed.view(batch, steps, heads, width).transpose(1, 2) if kind < 0.6 else own

    masks = ([length, keys], [batch, heads, length, keys], [batch, 1, length, keys], [1, 1, length, keys], [keys])
    mask = d.tensor([*d.choice(masks)], d.choice((torch.float32, torch.bool))) if d.random() < 0.5 else None
    causal = mask is None and d.random() < 0.4
    dropout = d.choice((0.0, 0.0, 0.1))
    query = operand(length)
    return F.scaled_dot_product_attention(query, operand(keys), operand(keys), mask, dropout, causal)


def unrolled(d: Draw) -> Any:
    cls, width = d.choice((nn.LSTM, nn.GRU, nn.RNN)), d.randint(1, 3)
    layer = cls(
        width,
        d.randint(1, 3),
        d.randint(1, 2),
        batch_first=d.random() < 0.5,
        bidirectional=d.random() < 0.4,
        bias=d.random() < 0.6,
    )
    return layer.requires_grad_(d.random() < 0.5)(d.tensor([d.randint(1, 2), d.choice((1, 3)), width]))


def joined(d: Draw) -> Any:
    shape = d.shape(1)
    at = d.randrange(len(shape))
    parts = [d.tensor([*shape[:at], d.randint(0, 3), *shape[at + 1 :]]) for _ in range(d.randint(1, 3))]
    same = [d.tensor(shape) for _ in range(d.randint(1, 3))]
    return d.choice((lambda: torch.cat(parts, at - d.choice((0, len(shape)))), lambda: torch.stack(same, at)))()


def indexed(d: Draw) -> Any:
    t = d.tensor(d.shape(1), None)
    at = d.dim(t)
    shapes = ((), (2,), (2, 1), (3, 1, 1), (1, 2))
    places: list[Any] = [d.tensor([*d.choice(shapes)], torch.int64) for _ in range(d.randint(1, min(3, t.dim())))]
    places += [slice(None)] * (d.random() < 0.3)
    one = torch.zeros([1] * t.dim(), dtype=torch.int64)
    return d.choice(
        (
            lambda: t[tuple(places)],
            lambda: F.embedding(torch.zeros(d.shape(), dtype=torch.int64), d.tensor([5, 3])),
            lambda: t.index_select(at, torch.zeros(2, dtype=torch.int64)),
            lambda: t.gather(at, one),
            lambda: t.roll([1], [at]),
            lambda: torch.diff(t, dim=at),
            lambda: torch.diff(t, dim=at, prepend=d.tensor([*t.shape], t.dtype) if d.random() < 0.5 else None),
            lambda: t.repeat([d.randint(0, 2) for _ in range(t.dim() + d.randint(0, 1))]),
            lambda: t.flip([at]),
            lambda: t.repeat_interleave(d.randint(1, 2), at),
            lambda: t.tril(),
            lambda: t.triu(1),
            lambda: F.pad(t, [d.randint(0, 2) for _ in range(2 * d.randint(1, 2))]),
            lambda: F.pad(t, [1, -1]),
        )
    )()


def reduced(d: Draw) -> Any:
    t = d.tensor(d.shape(), None)
    names = ("sum", "mean", "amax", "amin", "any", "all", "argmax", "argmin", "cumsum", "max", "min", "norm")
    where = [d.dim(t)] * (d.random() < 0.8)
    return getattr(torch, d.choice(names))(t, *where, **({"keepdim": True} if where and d.random() < 0.3 else {}))


def converted(d: Draw) -> Any:
    t = d.tensor(d.shape(), None)
    formats = (torch.contiguous_format, torch.channels_last, torch.preserve_format)
    return d.choice(
        (
            lambda: t.to(torch.float64),
            lambda: t.to(torch.int64),
            lambda: t.to(t.dtype),
            lambda: t.to(t.dtype, copy=True),
            lambda: t.to("cpu", torch.float32),
            lambda: t.contiguous(),
            lambda: t.clone(),
            lambda: t.type_as(torch.zeros(1)),
            lambda: t.clone(memory_format=d.choice(formats)),
            lambda: t.contiguous(memory_format=torch.channels_last),
            lambda: t.to(torch.zeros(1)),
            lambda: aten.to.dtype_layout(t, dtype=torch.float32),
        )
    )()


def made(d: Draw) -> Any:
    t = d.tensor(d.shape(), None)
    start, end, step = d.choice((0, 1, 0.5)), d.choice((1, 5.3, 4)), d.choice((1, 2, 0.3))
    return d.choice(
        (
            lambda: torch.zeros_like(t),
            lambda: torch.empty_like(t),
            lambda: torch.rand_like(t),
            lambda: torch.full_like(t, 2),
            lambda: torch.ones_like(t, dtype=torch.int64),
            lambda: t.new_zeros(2, 3),
            lambda: t.new_full((2,), 1.0),
            lambda: torch.arange(d.randint(0, 5)),
            lambda: torch.arange(start, end, step),
            lambda: torch.arange(5, 1, -2),
            lambda: torch.zeros(d.shape()),
            lambda: torch.full(d.shape(), d.number()),
            lambda: torch.rand(d.shape()),
            lambda: torch.ones(2, dtype=torch.bool),
            lambda: torch.arange(3.0),
            lambda: torch.empty(2, 3),
        )
    )()


KINDS: dict[str, Callable[[Draw], Any]] = {
    function.__name__: function
    for function in (
        unary,
        binary,
        choosing,
        viewed,
        cut,
        product,
        convolved,
        pooled,
        normalised,
        attended,
        unrolled,
        joined,
        indexed,
        reduced,
        converted,
        made,
    )
}
