"""What branches and loops on data change in place, next to parameters that require grad"""

from __future__ import annotations

import torch
from torch import nn

from tests.export.probe import Case, sound, t


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.w = nn.Parameter(torch.randn(3))
        self.register_buffer("ema", torch.zeros(3))
        self.lin = nn.Linear(3, 3)


def case(cls, x):
    return Case(cls(), (x,), also=[((-x,), {})], gradients=True)


@sound()
def detached():
    class M(Base):
        def forward(self, x):
            h = x * self.w
            if h.sum() > 0:
                self.ema.mul_(0.9).add_(h.detach(), alpha=0.1)
            return h * 2 + self.ema

    return case(M, t(3))


@sound()
def without_gradients():
    class M(Base):
        def forward(self, x):
            h = self.lin(x)
            if h.sum() > 0:
                with torch.no_grad():
                    self.ema.lerp_(h, 0.1)
            return h

    return case(M, t(3))


@sound()
def through_data():
    class M(Base):
        def forward(self, x):
            h = self.lin(x)
            if h.sum() > 0:
                self.ema.copy_(h.data)
            return h * 2

    return case(M, t(3))


@sound()
def an_item():
    class M(Base):
        def forward(self, x):
            h = self.lin(x)
            if h.sum() > 0:
                self.ema[0] = h.detach()[1]
            else:
                h = h * self.w
            return h

    return case(M, t(3))


@sound()
def only_the_other_side_uses_a_parameter():
    class M(Base):
        def forward(self, x):
            if x.sum() > 0:
                self.ema.add_(1)
                y = x * 2
            else:
                y = x * self.w
            return y.detach() + self.ema

    return case(M, t(3))


@sound()
def in_a_loop():
    class M(Base):
        def forward(self, x):
            h = self.lin(x)
            with torch.no_grad():
                v = h.abs().sum()
                while v > 1:
                    self.ema.mul_(0.5).add_(v)
                    v = v / 2
            return h

    return case(M, t(3))


@sound()
def an_input():
    class M(Base):
        def forward(self, x):
            y = x.clone()
            h = x * self.w
            if h.sum() > 0:
                y.add_(h.detach())
            return h, y

    return case(M, t(3))


@sound()
def a_counter():
    class M(Base):
        def forward(self, x):
            h = self.lin(x)
            if h.mean() > 0:
                self.ema[0] += 1
                h = h * 2
            return h + self.ema.sum()

    return case(M, t(3))


@sound()
def both_sides():
    class M(Base):
        def forward(self, x):
            h = self.lin(x)
            if h.sum() > 0:
                self.ema.add_(h.detach())
            else:
                self.ema.sub_(self.w.detach())
            return h * self.ema

    return case(M, t(3))


@sound()
def what_does_require_grad():
    class M(Base):
        def forward(self, x):
            acc = torch.zeros(3)
            h = x * self.w
            if h.sum() > 0:
                acc.add_(h)
            return acc * 2 + h

    return case(M, t(3))
