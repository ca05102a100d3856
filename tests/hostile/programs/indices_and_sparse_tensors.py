"""Autocast and grad mode, einsum, indices, nested, sparse and quantised tensors, memory formats."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

from tests.export.probe import Case, equal, refused, t


class Base(nn.Module):
    def __init__(self, **attributes):
        super().__init__()
        for name, value in attributes.items():
            setattr(self, name, value)



def dyn(f, *args, also=(), **kw):
    return Case(
        f,
        args,
        dynamic_shapes=({0: Dim('n', min=2, max=64)},) + (None,) * (len(args) - 1),
        also=[((a, *args[1:]), {}) for a in also],
        **kw,
    )


@equal
def autocast_decorator():
    @torch.autocast('cpu', dtype=torch.bfloat16)
    def g(x):
        return x @ x

    def f(x):
        return (g(x), torch.is_autocast_enabled('cpu'))

    return (f, (t(3, 3),))


@equal
def no_grad_decorator_generator():
    @torch.no_grad()
    def g(x):
        for i in range(2):
            yield (x * i)

    def f(x):
        a, b = g(x)
        return (a, b, x * 2, torch.is_grad_enabled())

    return (f, (t(3, requires_grad=True),))


@equal
def enable_grad_in_no_grad():
    def f(x):
        with torch.no_grad():
            with torch.enable_grad():
                y = x * 2
            z = y * 3
        return (y, z, y * 4)

    return Case(f, (t(3, requires_grad=True),), gradients=True)


@equal
def set_grad_enabled_function():
    def f(x):
        torch.set_grad_enabled(False)
        y = x * 2
        torch.set_grad_enabled(True)
        return (y, x * 3)

    return (f, (t(3, requires_grad=True),))


@equal
def inference_in_no_grad_in_autocast():
    def f(x):
        with torch.autocast('cpu', torch.bfloat16), torch.no_grad(), torch.inference_mode():
            y = x @ x
        return (y.float() * 2, y.dtype)

    return (f, (t(3, 3),))


@equal
def einsum_strings():
    def f(x, y):
        return (
            torch.einsum('ij,jk->ki', x, y),
            torch.einsum('...i,...i', x, y),
            torch.einsum('ii', x),
            torch.einsum(x, [0, 1], y, [1, 2], [0, 2]),
            torch.einsum('ij , jk', x, y),
            torch.einsum('...ij,...jk->...ik', x[None], y),
        )

    return (f, (t(3, 3), t(3, 3)))


@equal
def einsum_symbolic():
    def f(x, y):
        return (torch.einsum('bi,ij->bj', x, y), torch.einsum('b...,b...->b', x, x), torch.einsum('bi,ci->bc', x, x))

    return dyn(f, t(4, 3), t(3, 3), also=[t(2, 3), t(7, 3)])


@equal
def index_mixes():
    def f(x, i, m):
        return (
            x[None, ..., 0],
            x[i],
            x[i, :, None],
            x[:, i],
            x[i, ..., i],
            x[i[:, None], i],
            x[..., None, -1],
            x[True],
            x[False].shape,
            x[[0, 1], :, [1, 0]],
            x[0, 1],
            x[[0, 1]],
            x[m[0]] if False else 0,
            x[None, i, None],
            x[1:, [0, 1]],
            x[:, None, i],
        )

    return (f, (t(4, 4, 4), torch.tensor([0, 2]), t(4) > 0))


@equal
def index_numpy_and_range():
    def f(x):
        return (
            x[np.int64(1)],
            x[np.array([0, 1])],
            x[torch.tensor(1)],
            x[range(2)] if False else 0,
            x[list(range(2))],
            x[[True, False, True, False]],
            x[torch.tensor([True, False, True, False])].shape,
        )

    return (f, (t(4, 4),))


@equal
def setitem_mixes():
    def f(x, i):
        y = x.clone()
        y[i] = 1
        y[:, i] += 2
        y[..., -1] = torch.arange(4.0)
        y[y > 1] = 9
        y[None, 0] = 3
        y[i, i] *= 2
        y[[0, 1], [1, 0]] = torch.tensor([7.0, 8.0])
        y[1:3, ::2] = y[0:2, 1::2]
        y[torch.tensor(1)] = 4
        y[0][1] = 5
        y[True] = y * 2
        return y

    return (f, (t(4, 4), torch.tensor([0, 2])))


@equal
def setitem_scalar_types():
    def f(x):
        y = x.clone()
        y[0] = True
        y[1] = 2
        y[2] = np.float64(3.5)
        z = torch.zeros(3, dtype=torch.int32)
        z[0] = 2.9
        z[1] = True
        z[2] = torch.tensor(7.7)
        return (y, z)

    return (f, (t(4),))


@equal
def index_put_accumulate():
    def f(x, i):
        return (
            x.index_put((i,), torch.ones(3), accumulate=True),
            x.index_put_((i,), torch.tensor(2.0)),
            x.index_add(0, i, torch.ones(3)),
            x.scatter_add(0, i, torch.ones(3)),
            x.scatter_reduce(0, i, torch.ones(3) * 5, 'prod', include_self=False),
            x.scatter_reduce(0, i, torch.ones(3), 'amax'),
            x.index_reduce(0, i, torch.ones(3), 'mean'),
            x.put(i, torch.ones(3), True),
            x.scatter(0, i, 2.0, reduce='multiply'),
        )

    return (f, (t(5), torch.tensor([0, 2, 0])))


@refused('tensor-subclass')
def nested_tensor():
    def f(x):
        return torch.nested.nested_tensor([x, x[:1]]).to_padded_tensor(0.0)

    return (f, (t(2, 3),))


@refused('tensor-subclass')
def nested_jagged():
    def f(x):
        n = torch.nested.as_nested_tensor([x, x[:1]], layout=torch.jagged)
        return (n * 2).values()

    return (f, (t(2, 3),))


@equal
def sparse_made():
    def f(x):
        return (x.to_sparse() * 2).to_dense()

    return (f, (t(2, 3),))


@equal
def sparse_input():
    def f(x, y):
        return torch.sparse.mm(x, y)

    return (f, (torch.eye(3).to_sparse(), t(3, 3)))


@equal
def sparse_constant():
    class M(Base):
        def forward(self, x):
            return self.s @ x


    return (M(s=torch.eye(3).to_sparse()), (t(3, 3),))


@equal
def sparse_csr_buffer():
    class M(Base):
        def forward(self, x):
            return self.s @ x


    m = M()
    m.register_buffer('s', torch.eye(3).to_sparse_csr())
    return (m, (t(3, 3),))


@refused('no-meta-kernel')
def quantised():
    def f(x):
        q = torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)
        return (q.dequantize(), q.int_repr())

    return (f, (t(3, 3),))


@equal
def fake_quant():
    def f(x):
        return torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127)

    return (f, (t(3, 3),))


@equal
def channels_last_asked():
    def f(x):
        y = x.contiguous(memory_format=torch.channels_last)
        return (
            y.stride(),
            y.is_contiguous(),
            y.is_contiguous(memory_format=torch.channels_last),
            y * 2,
            (y + 1).stride(),
            F.relu(y).stride(),
            y.permute(0, 2, 3, 1).is_contiguous(),
            torch.empty_like(y).stride(),
            y.clone().stride(),
            y.reshape(2, -1).stride(),
        )

    return Case(f, (t(2, 3, 4, 4),), also=[((t(2, 3, 4, 4).to(memory_format=torch.channels_last),), {})])


@equal
def channels_last_branch():
    def f(x):
        return x * 2 if x.is_contiguous(memory_format=torch.channels_last) else x * 3

    return Case(
        f,
        (t(2, 3, 4, 4),),
        also=[((t(2, 3, 4, 4).to(memory_format=torch.channels_last),), {}), ((t(2, 1, 4, 4),), {})],
    )


@equal
def channels_last_conv():
    class M(Base):
        def forward(self, x):
            y = self.c(x)
            return (y, y.is_contiguous(memory_format=torch.channels_last), y.stride())


    return Case(
        M(c=nn.Conv2d(3, 4, 1)),
        (t(2, 3, 4, 4),),
        also=[((t(2, 3, 4, 4).to(memory_format=torch.channels_last),), {})],
    )


@equal
def suggest_strides_of_ops():
    def f(x):
        y = x.t()
        return [
            (y + 1).stride(),
            y.clone().stride(),
            y.contiguous().stride(),
            torch.cat([y, y]).stride(),
            torch.stack([y, y]).stride(),
            y.sum(0, keepdim=True).stride(),
            (y @ y.t()).stride(),
            torch.where(y > 0, y, 0.0).stride(),
            y.softmax(0).stride(),
            y.sort(0)[0].stride(),
            y.flip(0).stride(),
            y.to(torch.float64).stride(),
            torch.zeros_like(y).stride(),
            y.cumsum(0).stride(),
            F.gelu(y).stride(),
            y.bernoulli(0.5).stride(),
            torch.rand_like(y).stride(),
            y.roll(1, 0).stride(),
            y.index_select(0, torch.tensor([0])).stride(),
            y[[0, 1]].stride(),
            y.masked_fill(y > 0, 1).stride(),
            y.clamp(0).stride(),
            y.pow(2).stride(),
            torch.addmm(x @ y, x, y).stride(),
            y.repeat(2, 2).stride(),
            F.pad(y, (1, 1)).stride(),
            F.layer_norm(y, (2,)).stride(),
            y.max(0)[0].stride(),
            y.tril().stride(),
            y.triu().stride(),
            torch.linalg.qr(y)[0].stride(),
            torch.linalg.inv(x @ y + 5 * torch.eye(2)).stride(),
        ]

    return (f, (t(2, 3),))

