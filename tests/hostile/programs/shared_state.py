"""Parameters, buffers and modules under several names"""

from __future__ import annotations

import torch
from torch import nn

from tests.export.probe import equal, refused, t


@equal
def tied_weights():
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.b(self.a(x)), self.b.weight

    return M(), (t(2, 3),)


@equal
def module_under_two_names():
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Linear(3, 3)
            self.b = self.a

        def forward(self, x):
            return self.b(self.a(x)) + self.b.weight.sum()

    return M(), (t(2, 3),)


class Scaled(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner, self.scale = inner, nn.Parameter(t(3))

    def forward(self, x):
        return self.inner(x) * self.scale


@equal
def module_of_two_parents():
    inner = nn.Linear(3, 3)
    return nn.Sequential(Scaled(inner), nn.ReLU(), Scaled(inner), inner), (t(2, 3),)


@equal
def norm_of_two_parents():
    norm = nn.BatchNorm1d(3)
    return nn.Sequential(Scaled(norm), Scaled(norm)), (t(4, 3),)


def _buffers(first: bool, second: bool) -> nn.Module:
    """One buffer under the names x and y, each persistent or not; x is changed in place."""

    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            buffer = t(3)
            self.register_buffer("x", buffer, persistent=first)
            self.register_buffer("y", buffer, persistent=second)

        def forward(self, v):
            self.x.add_(1)
            return v * self.y + self.x

    return M()


@equal
def buffer_under_two_names_changed():
    return _buffers(True, True), (t(3),)


@equal
def buffer_persistent_under_its_second_name():
    return _buffers(False, True), (t(3),)


@equal
def buffer_persistent_under_its_first_name():
    return _buffers(True, False), (t(3),)


@equal
def buffer_never_persistent():
    return _buffers(False, False), (t(3),)


@equal
def constant_that_is_a_buffer():
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("b", t(3))
            self.__dict__["c"] = self.b
            self.kept = [self.b]

        def forward(self, x):
            return x * self.b + self.c - self.kept[0]

    return M(), (t(3),)


@equal
def parameter_in_lists_and_dicts():
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ws = nn.ParameterList([nn.Parameter(t(3))] * 2)
            self.d = nn.ParameterDict({"a": self.ws[0], "b": nn.Parameter(t(3))})

        def forward(self, x):
            return x * self.ws[0] + self.ws[1] * self.d["a"] - self.d["b"]

    return M(), (t(3),)


@equal
def parameter_and_buffer_on_one_memory():
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(t(3))
            self.register_buffer("b", self.w.detach())

        def forward(self, x):
            return x * self.w + self.b

    return M(), (t(3),)


@refused("shared-buffer-assigned")
def buffer_under_two_names_assigned():
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            buffer = t(3)
            self.register_buffer("x", buffer)
            self.register_buffer("y", buffer)

        def forward(self, v):
            self.x = self.x + 1
            return v * self.y

    return M(), (t(3),)


@equal
def in_place_below_no_grad():
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Linear(3, 3)
            self.register_buffer("mean", torch.zeros(3))
            self.old, self.new = nn.Module(), nn.Module()
            for part in (self.old, self.new):
                part.register_buffer("mean", self.mean)

        def forward(self, x):
            with torch.no_grad():
                self.new.mean.mul_(0.9).add_(x.mean(0))
            return self.a(x) - self.old.mean

    return M(), (t(2, 3),)
