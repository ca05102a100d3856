"""Functions of autograd with a backward of their own: straight-through, surrogate gradients, scaled ones"""

from __future__ import annotations

import torch
from torch import nn
from torch.autograd import Function

from tests.export.probe import Case, sound, t


class Round(Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad):
        return grad


class Spike(Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad / (1 + (ctx.slope * x.abs()) ** 2), None


class Reversed(Function):
    @staticmethod
    def forward(x, scale):
        return x.view_as(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.scale = inputs[1]

    @staticmethod
    def backward(ctx, grad):
        return -ctx.scale * grad, None


class Two(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        mask = x > y
        ctx.mark_non_differentiable(mask)
        return torch.maximum(x, y), mask

    @staticmethod
    def backward(ctx, grad, _):
        x, y = ctx.saved_tensors
        return (grad * 2 if ctx.needs_input_grad[0] else None), grad * (y > x)


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.lin = nn.Linear(3, 3)
        self.w = nn.Parameter(torch.randn(3))


def case(cls, *args):
    return Case(cls(), args, gradients=True)


@sound()
def straight_through():
    class M(Base):
        def forward(self, x):
            return Round.apply(self.lin(x)) * 2

    return case(M, t(2, 3))


@sound()
def surrogate():
    class M(Base):
        def forward(self, x):
            return Spike.apply(self.lin(x), 3.0)

    return case(M, t(2, 3))


@sound()
def over_time():
    class M(Base):
        def forward(self, x):
            v = torch.zeros(3)
            out = []
            for row in x:
                v = v * 0.9 + self.lin(row)
                s = Spike.apply(v - 1, 2.0)
                v = v - s.detach()
                out.append(s)
            return torch.stack(out)

    return case(M, t(4, 3))


@sound()
def gradient_reversal():
    class M(Base):
        def forward(self, x):
            h = self.lin(x)
            return h.sum(), Reversed.apply(h, 0.5)

    return case(M, t(2, 3))


@sound()
def two_results():
    class M(Base):
        def forward(self, x):
            big, mask = Two.apply(self.lin(x), self.w)
            return big * mask

    return case(M, t(2, 3))


@sound()
def fake_quantized_weight():
    class M(Base):
        def forward(self, x):
            scale = self.lin.weight.detach().abs().max() / 127
            return nn.functional.linear(x, Round.apply(self.lin.weight / scale) * scale, self.lin.bias)

    return case(M, t(2, 3))


@sound()
def of_a_constant():
    class M(Base):
        def forward(self, x):
            return Round.apply(x.detach() * 3) + self.w

    return case(M, t(2, 3))


@sound()
def without_gradients():
    class M(Base):
        def forward(self, x):
            with torch.no_grad():
                h = Round.apply(self.lin(x))
            return h * self.w

    return case(M, t(2, 3))


@sound()
def within_a_branch():
    class M(Base):
        def forward(self, x):
            h = self.lin(x)
            if h.sum() > 0:
                return Round.apply(h)
            return h * 2

    return case(M, t(2, 3))
