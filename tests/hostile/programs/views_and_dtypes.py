"""Views, dtypes, results in given tensors (out=), numbers out of constants"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from tests.export.probe import equal, ints, promised, t


@equal
def out_into_view_of_buffer():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.zeros(4, 3))

        def forward(self, x):
            torch.add(x, 1, out=self.b[1])
            torch.mul(x, 2, out=self.b.t()[:, 2])
            return self.b * 1, self.b[1]

    return M(), (t(3),)


@equal
def out_of_other_dtype_int_to_float_view():
    def f(x, y):
        o = torch.zeros(3, 2)
        r = torch.sum(x, 1, out=o[:, 0])
        torch.add(y, y, out=o[:, 1])
        return o, r is o, r.stride(), r._base is o

    return f, (t(3, 2), ints(3))


@equal
def out_same_as_operand_transposed():
    def f(x):
        y = x.clone()
        torch.add(y, y.t().clone(), out=y)
        torch.cumsum(y, 0, out=y)
        return y

    return f, (t(3, 3),)


@equal
def out_sort_two():
    def f(x):
        v, i = torch.empty(0), torch.empty(0, dtype=torch.long)
        r = torch.sort(x, dim=-1, out=(v, i))
        return r.values is v, v, i, type(r).__name__, v.shape

    return f, (t(3, 4),)


@equal
def out_resized_keeps_alias():
    def f(x):
        base = torch.zeros(6)
        v = base[:3]
        torch.add(x, 1, out=v)
        w = base.view(2, 3)
        torch.mul(x, 2, out=w[1])
        base[0] = 7
        return base, v, w

    return f, (t(3),)


@equal
def uint8_arith_wraps():
    def f(x):
        return (
            x + 250,
            x - 5,
            -x,
            x * x,
            x // 3,
            x % 7,
            x << 4,
            ~x,
            x / 2,
            x.sum(),
            x.cumsum(0),
            x + 0.5,
            x + True,
            x**2,
        )

    return f, (torch.tensor([0, 1, 7, 250, 255], dtype=torch.uint8),)


@equal
def int8_scalar_overflow():
    def f(x):
        return (
            x + 127,
            x * 2,
            x.abs(),
            x.neg(),
            torch.clamp(x, -3, 3),
            x.to(torch.uint8),
            x.to(torch.bool),
            x.float().to(torch.int8),
        )

    return f, (torch.tensor([-128, 127, 3], dtype=torch.int8),)


@equal
def bool_tensor_arith():
    def f(x):
        return (
            x + x,
            x * 2,
            x | True,
            x ^ x,
            ~x,
            x.sum(),
            x + 1.5,
            x.cumsum(0),
            x & 1,
            x.float().mean(),
            x == 1,
            x.to(torch.int8) - 1,
            x.all(),
            x.any(0),
            torch.where(x, 1, 0),
            torch.where(x, 1.0, 0),
        )

    return f, (torch.tensor([True, False, True]),)


@equal
def float8_roundtrip():
    def f(x):
        a = x.to(torch.float8_e4m3fn)
        b = x.to(torch.float8_e5m2)
        return (
            a,
            b,
            a.float() - b.float(),
            a.view(torch.uint8),
            a.to(torch.bfloat16) * 2,
            torch.stack([a.view(torch.uint8), b.view(torch.uint8)]),
        )

    return f, (t(5),)


@equal
def bfloat16_scalar_mix():
    def f(x, s):
        return (
            x + 1.0,
            x * s,
            s * x[0],
            x + torch.tensor(2.0),
            x + torch.tensor([2.0]),
            x // 1.5,
            x.sum(dtype=torch.float64),
            x.mean(),
            x.softmax(0, dtype=torch.float32),
            torch.result_type(x, s),
            torch.can_cast(x.dtype, torch.int8),
            torch.promote_types(x.dtype, torch.half),
        )

    return f, (t(4).bfloat16(), torch.tensor(3.0, dtype=torch.float64))


@equal
def half_constant_precision():
    def f(x):
        c = torch.tensor(0.1, dtype=torch.half)
        return x * c.item(), x * c, x * float(c), c.double(), x + 65504 * 2, (x * 0 + 65504) * 2

    return f, (t(3).half(),)


@equal
def complex_scalar_types():
    def f(x):
        return (
            x * 1j,
            x + (1 + 2j),
            x.real * 1j,
            complex(1, 2) * x.imag,
            x.abs(),
            x.angle(),
            x**2,
            x / (1j),
            torch.polar(x.abs(), x.angle()),
            x.sum(),
            x == 1j,
            torch.complex(x.real, x.imag.contiguous()),
            x.conj() @ x,
            torch.vdot(x, x),
            x.sgn(),
        )

    return f, (torch.randn(4, dtype=torch.complex64),)


@equal
def expanded_input_write():
    def f(x, y):
        z = x.expand(3, 4)
        try:
            z.add_(1)
        except RuntimeError as e:
            return y * 2, "single memory location" in str(e)
        return y * 3, False

    return f, (t(3, 1), t(3))


@equal
def overlapping_as_strided_input():
    def f(x):
        w = x.as_strided((3, 3), (1, 1))
        v = x.unfold(0, 2, 1)
        return (
            w.sum(1),
            v * 2,
            w.is_contiguous(),
            v.stride(),
            w.clone().stride(),
            w.contiguous().stride(),
            v.reshape(-1),
        )

    return f, (t(5),)


@equal
def input_unfold_overlapping():
    base = t(7)

    def f(x):
        y = x * 2
        return y, y.stride(), x.clone().stride(), torch.empty_like(x).stride(), x.contiguous().stride()

    return f, (base.unfold(0, 3, 1),)


@equal
def empty_like_preserve_strides():
    def f(x):
        return (
            torch.empty_like(x).stride(),
            torch.zeros_like(x),
            x.new_zeros(x.shape).stride(),
            (x + x.contiguous()).stride(),
            (x.contiguous() + x).stride(),
            torch.where(x > 0, x, 0.0).stride(),
            F.relu(x).stride(),
            x.clone(memory_format=torch.contiguous_format).stride(),
            x.double().stride(),
        )

    return f, (t(2, 3, 4).permute(2, 0, 1),)


@equal
def stride_zero_dim_input():
    def f(x):
        y = x + 1
        return (
            y,
            y.stride(),
            x.clone().stride(),
            torch.zeros_like(x).stride(),
            x.sum(0),
            x.mul(2).stride(),
            x.is_contiguous(),
        )

    return f, (t(3).expand(4, 3),)


@equal
def zero_size_reductions():
    def f(x):
        e = x[:, :0]
        return (
            e.sum(1),
            e.prod(1),
            e.mean(1),
            e.any(1),
            e.all(),
            e.logsumexp(1),
            e.max() if e.numel() else x.max(),
            torch.cat([e, x], 1),
            e.softmax(1),
            e @ e.t(),
            e.std(1),
            torch.linalg.norm(e),
            e.reshape(0, 3),
        )

    return f, (t(3, 4),)


@equal
def zero_size_dim_dynamic():
    def f(x):
        k = x.shape[0] - x.shape[0]
        e = x.new_empty(k, 3)
        return torch.cat([e, x]), e.sum(0), x[:k].shape[0] == 0, x[x.shape[0] :].sum(), list(e), e.tolist()

    return promised(f, t(4, 3), also=[t(7, 3)])


@equal
def nested_view_write_chain():
    def f(x):
        a = x.clone()
        b = a.view(2, 6)[1]
        c = b.unflatten(0, (2, 3)).transpose(0, 1)
        c[0] += 1
        d = a.flatten()[::2]
        d *= 2
        c[1:].zero_()
        e = a.diagonal(0, 0, 1)
        e.fill_(9)
        return a, b, c, d, e

    return f, (t(3, 4),)


@equal
def write_through_input_select_then_return_base():
    def f(x):
        v = x[1]
        v[0] = 5
        w = x.t()[0]
        w.mul_(2)
        return x, v, w

    return f, (t(3, 4),)


@equal
def write_through_real_of_buffer():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("c", torch.zeros(3, dtype=torch.complex64))

        def forward(self, x):
            self.c.real.add_(x)
            self.c.imag.copy_(self.c.real * 2)
            torch.view_as_real(self.c)[..., 1].neg_()
            return self.c * 1, self.c.abs()

    return M(), (t(3),)


@equal
def view_dtype_write():
    def f(x):
        y = x.clone()
        v = y.view(torch.int32)
        v.bitwise_and_(0x7FFFFFFF)
        w = v.view(torch.uint8)
        return y, v, w[..., -1], w.shape, w.stride()

    return f, (t(4),)


@equal
def masked_write_through_view():
    def f(x):
        y = x.clone()
        y[1:][y[1:] > 0] = 0
        y[..., None][..., 0].masked_fill_(y < -0.5, 3)
        y[[0, 1], [1, 2]] += 10
        y[y.isnan()] = 0
        y.index_fill_(1, torch.tensor([0]), 4.0)
        y.select(0, 0).index_copy_(0, torch.tensor([2]), y.new_tensor([7.0]))
        return y

    return f, (t(3, 4),)


@equal
def swap_through_views():
    def f(x):
        y = x.clone()
        y[0], y[1] = y[1], y[0]
        a, b = y.unbind(1)[:2]
        a += b
        y[[0, 2]] = y[[2, 0]]
        return y, a, b

    return f, (t(3, 4),)


@equal
def iadd_list_alias():
    def f(x):
        rows = list(x.clone())
        rows[0] += 1
        rows2 = rows
        rows2 += [x[0]]
        first, *rest = rows
        first *= 2
        return rows[0], len(rows), torch.stack(rows), rest[-1] is rows[-1]

    return f, (t(3, 4),)


@equal
def augmented_on_attribute_tensor():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.ones(3))
            self.k = 2.0

        def forward(self, x):
            self.b += x
            self.b *= self.k
            old = self.b
            self.b = self.b + 1
            old += 100
            return self.b * 1, old

    return M(), (t(3),)


@equal
def tensors_in_dict_keys():
    def f(x):
        a, b = x * 1, x * 2
        d = {a: 'a', b: 'b'}
        return x, d[a], d.get(b), a in d, (x * 3) in d, len({a, a, b})

    return f, (t(3),)


@equal
def numbers_out_of_nested_constants():
    TABLE = {'w': [torch.tensor(2), {'k': torch.tensor([1.5, 2.5])}], 'n': torch.tensor([3, 4])}

    def f(x):
        w, n = TABLE['w'], TABLE['n']
        return (
            x * w[0].item() + w[1]['k'][1].item(),
            x.repeat(int(w[0])),
            x[: n[0]],
            n.tolist(),
            x * float(w[1]['k'].sum()),
            [int(v) for v in n],
            x.view(1, int(n[0])),
        )

    return f, (t(3),)


@equal
def item_of_shape_tensor():
    def f(x):
        s = torch.tensor(x.shape)
        n = s.prod().item()
        return x.reshape(n), x.sum() / n, torch.tensor([x.shape[0] * 2])[0].item() + 1, s

    return promised(f, t(4, 3), also=[t(5, 3)])


@equal
def item_min_max_of_sizes():
    def f(x):
        s = torch.as_tensor([x.shape[0], 7])
        m = int(s.max())
        return x.new_zeros(m), s.min(), s.float().mean(), torch.arange(m)

    return promised(f, t(4, 3), also=[t(9, 3)])
