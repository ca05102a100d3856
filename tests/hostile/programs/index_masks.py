"""Masks that vmap makes of functions of indices, and functions marked for torch.export's own tracer"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
from torch._export.wrappers import allow_in_pre_dispatch_graph
from torch.export import Dim

from tests.export.probe import Case, equal, t

N = Dim("n", min=3, max=20)


def mask_of(function: Any, batch: int, length: Any) -> torch.Tensor:
    """function(b, q, k) for all indices, as transformers makes its masks."""
    for dims in ((None, None, 0), (None, 0, None), (0, None, None)):
        function = torch.vmap(function, in_dims=dims, out_dims=0)
    with TransformGetItemToIndex():
        return function(torch.arange(batch), torch.arange(length), torch.arange(length))


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return grad * 2 * ctx.saved_tensors[0]

    @classmethod
    @allow_in_pre_dispatch_graph
    def apply(cls, *args):
        return super().apply(*args)


class Own(Square):
    @classmethod
    def apply(cls, *args):
        return super().apply(*args) + 1


def masks(*lengths: int) -> list[Any]:
    return [((t(2, n), torch.rand(2, n) > 0.5), {}) for n in lengths]


@equal
def padding_by_index():
    def f(x, padding):
        mask = mask_of(lambda b, q, k: padding[b, k] & (q >= k), 2, x.shape[1])
        return x[:, None, :].masked_fill(~mask, 0.0)

    return Case(f, masks(5)[0][0], dynamic_shapes=({1: N}, {1: N}), also=masks(7, 3))


@equal
def two_tables():
    def f(x):
        return mask_of(lambda b, q, k: (x[b, k] > x[b, q]) | (k < 2), 2, 4)

    return f, (t(2, 4),)


@equal
def a_window_of_a_documents_table():
    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("documents", torch.tensor([[0, 0, 1, 1, 1], [0, 1, 1, 2, 2]]))

        def forward(self, x):
            def same(b, q, k):
                return (self.documents[b, q] == self.documents[b, k]) & ((q - k).abs() < 3)

            return mask_of(same, 2, 5) * x[:, None, :]

    return Module(), (t(2, 5),)


@equal
def a_mask_from_a_closure_that_counts():
    def f(x):
        seen = []

        def causal(b, q, k):
            seen.append(1)
            return q >= k

        return mask_of(causal, x.shape[0], x.shape[1]), len(seen)

    return f, (t(2, 4),)


@equal
def gradient_inside_of_vmap_with_indices():
    def f(x):
        def row(b):
            with TransformGetItemToIndex():
                return x[b].sum() * 2

        return torch.vmap(row)(torch.arange(x.shape[0]))

    return f, (t(3, 4),)


@equal
def marked_apply():
    return (lambda x: Square.apply(x) + 1), (t(3),)


@equal
def marked_apply_where_gradients_are_taken():
    return (lambda x: Square.apply(x)), (t(3, requires_grad=True),)


@equal
def apply_of_a_subclass():
    return (lambda x: Own.apply(x)), (t(3),)


@equal
def marked_apply_on_a_parameter():
    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(3))

        def forward(self, x):
            return Square.apply(self.weight) * x

    return Module(), (t(3),)


@equal
def grad_mode_inside_of_a_transform():
    def f(x):
        def row(r):
            with torch.no_grad():
                return r * 2

        return torch.vmap(row)(x)

    return f, (t(2, 3),)
