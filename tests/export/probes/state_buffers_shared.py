"""Buffers, continued: shared names, views, in-place changes, parameters."""

# Programs as users write them, odd ones too.

from __future__ import annotations

import torch
from torch import nn

from ..probe import equal, refused, sound, t


class Buffered(nn.Module):
    """A buffer `b` of three ones and, unless told otherwise, a second one `c` of zeros."""

    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.ones(3))
        self.register_buffer("c", torch.zeros(3), persistent=False)


@equal
def buffer_under_two_names():
    class M(Buffered):
        def __init__(self):
            super().__init__()
            self.register_buffer("same", self.b)

        def forward(self, x):
            self.b.add_(x)
            return self.same * 2

    return M(), (t(3),)


@refused("shared-buffer-assigned")
def buffer_under_two_names_one_assigned():
    class M(Buffered):
        def __init__(self):
            super().__init__()
            self.register_buffer("same", self.b)

        def forward(self, x):
            y = self.b + self.same
            self.b = self.b + x
            return y

    return M(), (t(3),)


@equal
def buffer_is_a_view_of_another():
    class M(Buffered):
        def __init__(self):
            super().__init__()
            self.register_buffer("part", self.b[:2])

        def forward(self, x):
            self.part.add_(10)
            return x * self.b

    return M(), (t(3),)


@equal
def buffer_of_a_shared_submodule():
    class Inner(Buffered):
        def forward(self, x):
            self.b = self.b + x
            return x * self.b

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = Inner()
            self.second = self.first

        def forward(self, x):
            return self.second(self.first(x))

    return M(), (t(3),)


@equal
def buffer_of_a_submodule_assigned_from_outside():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Buffered()

        def forward(self, x):
            self.inner.b = self.inner.b * 2 + x
            return self.inner.b - x

    return M(), (t(3),)


@equal
def buffers_of_a_module_list_assigned():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = nn.ModuleList(Buffered() for _ in range(3))

        def forward(self, x):
            for i, part in enumerate(self.parts):
                part.b = part.b + x * i
                x = x + part.b
            return x

    return M(), (t(3),)


@equal
def buffer_returned_itself():
    class M(Buffered):
        def forward(self, x):
            self.b.add_(x)
            return self.b

    return M(), (t(3),)


@equal
def assigned_buffer_returned():
    class M(Buffered):
        def forward(self, x):
            self.b = self.b + x
            return self.b, x + 1

    return M(), (t(3),)


@equal
def buffer_data_changed():
    class M(Buffered):
        def forward(self, x):
            self.b.data.add_(1)
            return x * self.b

    return M(), (t(3),)


@sound("tensor-data-assigned")
def buffer_data_assigned():
    class M(Buffered):
        def forward(self, x):
            self.b.data = self.b.data + x
            return x * self.b

    return M(), (t(3),)


@equal
def buffer_view_changed():
    class M(Buffered):
        def forward(self, x):
            self.b.view(3, 1)[1].fill_(5)
            self.b[:1].zero_()
            return x * self.b

    return M(), (t(3),)


@equal
def buffer_changed_with_out_argument():
    class M(Buffered):
        def forward(self, x):
            torch.add(x, 1, out=self.b)
            return x * self.b

    return M(), (t(3),)


@equal
def exponential_moving_average_under_no_grad():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(3, 3)
            self.register_buffer("ema", torch.zeros(3))

        def forward(self, x):
            y = self.lin(x)
            with torch.no_grad():
                self.ema.lerp_(y.mean(0), 0.1)
            return y - self.ema

    return M(), (t(2, 3),)


@equal
def ring_buffer():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("window", torch.zeros(4, 3))

        def forward(self, x):
            self.window = torch.cat([self.window[1:], x.unsqueeze(0)])
            return self.window.mean(0)

    return M(), (t(3),)


@equal
def rolled_buffer_in_place():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("window", torch.arange(4.0))

        def forward(self, x):
            self.window.copy_(self.window.roll(1))
            self.window[0] = x.sum()
            return self.window * x

    return M(), (t(4),)


@equal
def parameter_changed_under_no_grad():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(3))

        def forward(self, x):
            with torch.no_grad():
                self.w.mul_(0.5)
            return x * self.w

    return M(), (t(3),)


@equal
def parameter_data_changed():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(3))

        def forward(self, x):
            self.w.data.clamp_(max=0.5)
            return x * self.w

    return M(), (t(3),)


@refused("parameter-assigned")
def parameter_is_replaced():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(3))

        def forward(self, x):
            y = x * self.w
            self.w = nn.Parameter(self.w.detach() * 2)
            return y

    return M(), (t(3),)


@sound("tensor-data-assigned", "tensor-attribute")
def parameter_data_assigned():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(3))

        def forward(self, x):
            self.w.data = self.w.data * 2
            return x * self.w

    return M(), (t(3),)


@equal
def plain_tensor_attribute_changed():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.state = torch.zeros(3)

        def forward(self, x):
            self.state += x
            return self.state * 1

    return M(), (t(3),)


@equal
def global_tensor_changed_through_a_view():
    state = torch.zeros(2, 3)

    def forward(x):
        state[0].add_(x)
        return state * 1

    return forward, (t(3),)


@equal
def plain_tensor_in_a_list_changed():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.states = [torch.zeros(3), torch.ones(3)]

        def forward(self, x):
            self.states[1].copy_(x)
            return self.states[1] + 1

    return M(), (t(3),)


@equal
def plain_tensors_read():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.arange(3.0)
            self.parts = {"a": [torch.ones(3)], "b": (torch.zeros(3), 2)}

        def forward(self, x):
            return x * self.table + self.parts["a"][0] - self.parts["b"][0] * self.parts["b"][1]

    return M(), (t(3),)


@equal
def unused_parameters_and_buffers():
    class M(Buffered):
        def __init__(self):
            super().__init__()
            self.unused = nn.Linear(2, 2)

        def forward(self, x):
            return x + self.b

    return M(), (t(3),)


@sound("kept-gradient")
def gradient_of_a_parameter_is_set():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(3))

        def forward(self, x):
            y = x * self.w if self.w.grad is None else x * self.w.grad
            self.w.grad = torch.full((3,), 7.0)
            return y

    return M(), (t(3),)


@sound("tensor-attribute", "python-state")
def requires_grad_of_a_parameter_is_changed():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(3))

        def forward(self, x):
            y = x * self.w
            self.w.requires_grad_(False)
            return y

    return M(), (t(3),)


@sound("tensor-attribute", "python-state", "new-state-tensor")
def tensor_keeps_a_python_attribute():
    class M(Buffered):
        def forward(self, x):
            n = getattr(self.b, "uses", 0)
            self.b.uses = n + 1
            return x * self.b.uses

    return M(), (t(3),)


@equal
def frozen_parameter():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(3, 3).requires_grad_(False)
            self.free = nn.Linear(3, 3)

        def forward(self, x):
            y = self.lin(x)
            return y, y.requires_grad, self.free(x)

    return M(), (t(2, 3),)
