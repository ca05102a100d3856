"""Operators in place and with out=, resizing, storages, type promotion, constants."""

from __future__ import annotations

import torch

from tests.export.probe import Case, equal, ints, refused, t


@equal
def where_one_arg():
    def f(x):
        return (torch.where(x > 0)[0].shape, x * 2)

    return (f, (t(5),))


@equal
def where_one_arg_tensor():
    def f(x):
        return torch.where(x > 0)[0]

    return (f, (t(5),))


@equal
def where_scalar_promotion():
    def f(x):
        return (
            torch.where(x > 0, 1, 0),
            torch.where(x > 0, 1.0, 0),
            torch.where(x > 0, x, 1j),
            torch.where(x > 0, torch.tensor(1), 2.5),
            torch.where(x > 0, torch.ones(5, dtype=torch.int8), 300),
        )

    return (f, (t(5),))


@equal
def inplace_on_expanded():
    def f(x):
        y = torch.zeros(1, 3).expand(2, 3)
        try:
            y.add_(x)
        except RuntimeError as e:
            return x * len(str(e).split())
        return y

    return (f, (t(2, 3),))


@equal
def inplace_on_view_chain():
    def f(x):
        y = x.clone()
        y.view(-1)[::2].mul_(2)
        y.t()[0].add_(1)
        y[:, 1:][0].neg_()
        y.diagonal().zero_()
        y.unsqueeze(0).squeeze(0)[1] = 5
        return y

    return (f, (t(3, 3),))


@equal
def inplace_self_overlap():
    def f(x):
        y = x.clone()
        try:
            y[1:].copy_(y[:-1])
        except RuntimeError:
            return x
        return y

    return (f, (t(4),))


@equal
def inplace_dtype_error():
    def f(x):
        y = torch.ones(3, dtype=torch.int64)
        try:
            y.add_(1.5)
            return x
        except RuntimeError:
            return x * 2

    return (f, (t(3),))


@equal
def inplace_input_view_alias():
    def f(x):
        v = x[1:]
        v += 1
        return (x * 1, v)

    return (f, (t(4),))


@equal
def inplace_two_inputs_same():
    a = t(4)
    def f(x, y):
        x.add_(1)
        return y * 2

    return Case(f, (a, a))


@equal
def inplace_two_inputs_views():
    a = t(4)
    def f(x, y):
        x.add_(1)
        return y * 2

    return Case(f, (a[:2], a[1:3]))


@equal
def out_argument():
    def f(x):
        o = torch.empty(3)
        r = torch.add(x, 1, out=o)
        return (o, r is o)

    return (f, (t(3),))


@equal
def out_argument_resizes():
    def f(x):
        o = torch.empty(0)
        torch.add(x, 1, out=o)
        return (o, o.shape)

    return (f, (t(3),))


@equal
def out_argument_input():
    def f(x, o):
        torch.mul(x, 2, out=o)
        return o + 1

    return (f, (t(3), torch.zeros(3)))


@equal
def out_argument_overlaps():
    def f(x):
        o = x.clone()
        torch.cumsum(o, 0, out=o)
        return o

    return (f, (t(3),))


@equal
def out_tuple():
    def f(x):
        v, i = (torch.empty(0), torch.empty(0, dtype=torch.int64))
        torch.sort(x, out=(v, i))
        return (v, i)

    return (f, (t(5),))


@equal
def out_dtype_cast():
    def f(x):
        o = torch.empty(3, dtype=torch.float64)
        torch.add(x, 1, out=o)
        return o

    return (f, (t(3),))


@equal
def resize_made():
    def f(x):
        y = x.clone()
        y.resize_(2)
        return y

    return (f, (t(4),))


@equal
def resize_input():
    def f(x):
        x.resize_(2)
        return x * 2

    return (f, (t(4),))


@equal
def set_made():
    def f(x):
        y = torch.empty(0)
        y.set_(x)
        y.add_(1)
        return (y, x)

    return (f, (t(4),))


@equal
def data_write():
    def f(x):
        y = x.clone()
        y.data.mul_(2)
        y.data[0] = 5
        return y

    return (f, (t(4),))


@equal
def data_assign():
    def f(x):
        y = x.clone()
        z = y
        y.data = x * 3
        return (z, y)

    return (f, (t(4),))


@equal
def data_write_input():
    def f(x):
        x.data.add_(1)
        return x * 2

    return (f, (t(4),))


@equal
def detach_shares():
    def f(x):
        y = x * 2
        d = y.detach()
        d.add_(1)
        return (y, d)

    return Case(f, (t(4, requires_grad=True),), gradients=True)


@refused('data-dependent-value')
def storage_compare():
    def f(x):
        y = x[1:]
        return x * (y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr())

    return (f, (t(4),))


@refused('data-dependent-value')
def storage_offset_asked():
    def f(x):
        return (x * x[2:].storage_offset() + x.storage_offset(), x.untyped_storage().nbytes())

    return Case(f, (t(4),), also=[((t(6)[2:],), {})])


@refused('data-dependent-value')
def is_set_to():
    def f(x):
        return (x * (1 + x.is_set_to(x)), x[:].is_set_to(x), x[1:].is_set_to(x))

    return (f, (t(4),))


@equal
def promote_scalars():
    def f(x, i, b):
        return (
            x + 1,
            i + 1.5,
            i / 2,
            b + 1,
            b + True,
            i + torch.tensor(1.5),
            x + torch.tensor(1.0, dtype=torch.float64),
            i * True,
            b * 2.0,
            x.half() + torch.tensor(1.0),
            torch.tensor(2) + x,
            i // 2,
            i % 2.5,
            torch.result_type(i, 1.0),
            torch.can_cast(torch.float32, torch.int32),
            torch.add(i, 1, alpha=2),
            i.to(torch.uint8) + 300,
            -b.int(),
        )

    return (f, (t(3), ints(3), t(3) > 0))


@equal
def promote_sum_types():
    def f(i, b):
        return (
            b.sum(),
            b.float().mean(),
            i.to(torch.int8).sum(),
            i.to(torch.int8).prod(),
            i.cumsum(0),
            b.cumsum(0),
            i.to(torch.uint8).sum(dtype=torch.uint8),
            b.any(),
            b.all(),
            i.bool().sum(),
            i.to(torch.int8).max(),
        )

    return (f, (ints(3), t(3) > 0))


@equal
def wrapped_number_keeps():
    def f(x):
        s = torch.tensor(3.0, dtype=torch.float64)
        return (
            x * s,
            torch.tensor(3.0) * x.double(),
            (x.half() * s).dtype,
            torch.stack([s, s]) * x[:2],
            x.half() * torch.tensor([3.0]),
        )

    return (f, (t(3),))


@equal
def item_of_constant():
    def f(x):
        c = torch.tensor([1.5, 2.5])
        return x * c[1].item() + int(c.sum()) + len(c) + c.tolist()[0]

    return (f, (t(3),))


@equal
def constant_changed_then_item():
    def f(x):
        c = torch.tensor([1.0, 2.0])
        c += 1
        return x * c[0].item()

    return (f, (t(3),))


@equal
def constant_filled_by_input_then_item():
    def f(x):
        c = torch.zeros(3)
        c[0] = 2
        c[1] = x[0]
        return x * c[0].item()

    return (f, (t(3),))

