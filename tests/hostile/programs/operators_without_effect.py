"""Devices, operators that change nothing, parts of complex tensors and of constants."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from tests.export.probe import equal, t


@equal
def device_things():
    def f(x):
        return (
            x.to('cpu') is x,
            x.to(x.device) is x,
            x.to(torch.float32) is x,
            x.float() is x,
            x.cpu() is x,
            x.type(),
            x.is_cuda,
            x.get_device(),
            x.to(torch.float64).dtype,
            x.type_as(x) is x,
            torch.device('cpu') == x.device,
            x + 1,
        )

    return (f, (t(3),))


@equal
def identity_noop_ops():
    def f(x):
        return (
            x.contiguous() is x,
            x.expand(3) is x,
            x.view(3) is x,
            x.squeeze() is x,
            x.detach() is x,
            x.clone() is x,
            F.dropout(x, 0.5, False) is x,
            x.requires_grad_(False) is x,
            x[...] is x,
            x[:] is x,
            x.expand_as(x) is x,
            x.reshape(3) is x,
            torch.atleast_1d(x) is x,
            torch.as_tensor(x) is x,
            torch.ravel(x) is x,
            x.flatten() is x,
            x.real is x,
            x.conj() is x,
            x.positive() is x,
            torch.broadcast_tensors(x, x)[0] is x,
            x.transpose(0, 0) is x,
            x.nan_to_num() is x,
            nn.Identity()(x) is x,
            x.sum(()) is x,
            x.cumsum(0) is x,
            x.to(copy=True, dtype=torch.float32) is x,
            x * 1,
        )

    return (f, (t(3),))


@equal
def noop_aliasing_outputs():
    def f(x):
        return (
            x.contiguous(),
            x.flatten(),
            x.reshape(3),
            torch.broadcast_to(x, (3,)),
            F.dropout(x, 0.5, False),
            x.view_as(x),
            x.detach(),
            x.real,
            x.conj(),
            x.resolve_conj(),
            torch.atleast_1d(x),
            x.squeeze(0),
            x.nan_to_num(),
            x.to(torch.float32),
            torch.ravel(x),
            x.positive(),
            nn.Identity()(x),
            nn.Flatten(0)(x),
            x.requires_grad_(False),
            x.swapaxes(0, 0),
            x.sum_to_size(3),
            x.clamp(-100),
            x.expand(3),
            x[None][0],
            x.T,
        )

    return (f, (t(3),))



@equal
def parts_of_complex_tensors_set():
    """`x.real = y` is copy_() into a view, of an argument, a buffer and a value of the program."""

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer('b', torch.ones(3, dtype=torch.complex64))

        def forward(self, x):
            y = x * 2
            y.real, y.imag = 10, x.real
            x.imag = y.real + 1
            self.b.real = x.imag
            return y, self.b * 1, [x.sum(), y[0]]

    return M(), (torch.randn(3, dtype=torch.complex64),)


@equal
def part_of_a_constant_set():
    kept = torch.ones(3, dtype=torch.complex64)

    def f(x):
        kept.real = x
        return x + kept.imag

    return f, (t(3),)
