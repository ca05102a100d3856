"""Kept values that a later call could tell apart"""

from __future__ import annotations

import torch
from torch import nn

from tests.export.probe import equal, refused, t


class M(nn.Module):
    """`forward(x)` is `body(self, x)`; the keyword arguments become attributes."""

    def __init__(self, body, **attrs):
        super().__init__()
        self.body = body
        self.w = nn.Parameter(torch.randn(3))
        self.register_buffer("b", torch.randn(3))
        self.k = None
        for n, v in attrs.items():
            setattr(self, n, v)

    def forward(self, x):
        return self.body(self, x)


@refused("new-state-tensor")
def prev_is_updated_buffer():
    def body(s, x):
        if s.k is None:
            out = x + s.b
            s.b = s.b + 1
            s.k = s.b
            return out
        out = x + s.k
        s.b = s.b + 1
        return out

    return M(body), (t(3),)


@refused("python-state")
def first_call_only_assert():
    def body(s, x):
        if s.k is None:
            torch._assert_async((x < 100).all())
            s.k = 1
        return x * 2

    return M(body), (t(3),)


@refused("python-state")
def buffer_value_by_flag():
    def body(s, x):
        k = 1 if s.k is None else 2
        s.k = 1
        s.b = s.b + k
        return x * 2

    return M(body), (t(3),)


@refused("python-state")
def buffer_inplace_by_flag():
    def body(s, x):
        k = 1 if s.k is None else 2
        s.k = 1
        s.b.add_(k)
        return x * 2

    return M(body), (t(3),)


@refused("python-state")
def input_inplace_by_flag():
    def body(s, x):
        k = 1 if s.k is None else 2
        s.k = 1
        x.add_(k)
        return s.b * 2

    return M(body), (t(3),)


@refused("new-state-tensor")
def kept_used_then_changed_once():
    def body(s, x):
        if s.k is None:
            s.k = torch.ones(3)
            s.k.add_(1)
            return x + s.k
        y = x + s.k
        s.k.add_(1)
        return y

    return M(body), (t(3),)


@refused("new-state-tensor")
def kept_changed_not_used():
    def body(s, x):
        if s.k is None:
            s.k = torch.ones(3)
        s.k.add_(1)
        return x * 2

    return M(body), (t(3),)


@refused("new-state-tensor")
def kept_changed_through_view():
    def body(s, x):
        if s.k is None:
            base = torch.zeros(2, 3)
            s.k = base[0]
            s.v = base[1]
        y = x + s.k
        s.v.add_(1)
        return y

    return M(body), (t(3),)


@refused("new-state-tensor")
def kept_base_changed_by_view():
    def body(s, x):
        if s.k is None:
            s.k = torch.zeros(3)
            s.v = s.k[:2]
        y = x + s.k
        s.v.add_(1)
        return y

    return M(body), (t(3),)


@refused("new-state-tensor")
def kept_reshape_of_buf_inplace():
    def body(s, x):
        if s.k is None:
            s.k = s.b.reshape(3, 1)
        y = x + s.k[:, 0]
        s.k.add_(1)
        return y

    return M(body), (t(3),)


@equal
def kept_view_of_buf_which_changes():
    def body(s, x):
        if s.k is None:
            s.k = s.b[:2]
        y = x[:2] + s.k
        s.b.add_(1)
        return y

    return M(body), (t(3),)


@refused("new-state-tensor")
def kept_view_of_buf_assigned():
    def body(s, x):
        if s.k is None:
            s.k = s.b[:2]
        y = x[:2] + s.k
        s.b = s.b + 1
        return y

    return M(body), (t(3),)


@equal
def kept_view_of_param_changed():
    def body(s, x):
        if s.k is None:
            s.k = s.w.detach()
        y = x + s.k
        with torch.no_grad():
            s.w.mul_(0.5)
        return y

    return M(body), (t(3),)


@refused("new-state-tensor")
def kept_value_of_param_changed():
    def body(s, x):
        if s.k is None:
            s.k = s.w.detach() * 2
        y = x + s.k
        with torch.no_grad():
            s.w.mul_(0.5)
        return y

    return M(body), (t(3),)


@refused("new-state-tensor")
def kept_value_of_param_changed_by_view():
    def body(s, x):
        if s.k is None:
            s.k = s.w.detach() * 2
        y = x + s.k
        s.w.detach()[0].mul_(0.5)
        return y

    return M(body), (t(3),)


@refused("new-state-tensor")
def kept_after_bn_stats():
    class B(nn.Module):
        def __init__(s):
            super().__init__()
            s.bn = nn.BatchNorm1d(3)
            s.k = None

        def forward(s, x):
            if s.k is None:
                s.k = s.bn.running_mean * 2
            return s.bn(x) + s.k

    return B().train(), (t(4, 3),)


@refused("new-state-tensor")
def bn_of_param_once():
    class B(nn.Module):
        def __init__(s):
            super().__init__()
            s.bn = nn.BatchNorm1d(3)
            s.k = None
            s.w = nn.Parameter(torch.randn(4, 3))

        def forward(s, x):
            if s.k is None:
                s.k = s.bn(s.w)
            return x + s.k

    return B().train(), (t(4, 3),)


@equal
def bn_of_param_once_eval():
    class B(nn.Module):
        def __init__(s):
            super().__init__()
            s.bn = nn.BatchNorm1d(3)
            s.k = None
            s.w = nn.Parameter(torch.randn(4, 3))

        def forward(s, x):
            if s.k is None:
                s.k = s.bn(s.w)
            return x + s.k

    return B().eval(), (t(4, 3),)


@refused("python-state")
def bn_first_call_only():
    class B(nn.Module):
        def __init__(s):
            super().__init__()
            s.bn = nn.BatchNorm1d(3)
            s.k = None

        def forward(s, x):
            if s.k is None:
                s.bn(x)
                s.k = 1
            return x + 1

    return B().train(), (t(4, 3),)


@refused("new-state-tensor")
def random_in_place():
    def body(s, x):
        if s.k is None:
            s.k = torch.empty(3).uniform_()
        return x + s.k

    return M(body), (t(3),)


@refused("new-state-tensor")
def dropout_kept_train():
    def body(s, x):
        if s.k is None:
            s.k = torch.nn.functional.dropout(s.w, 0.5, True)
        return x + s.k

    return M(body), (t(3),)


@equal
def dropout_kept_eval():
    def body(s, x):
        if s.k is None:
            s.k = torch.nn.functional.dropout(s.w, 0.5, False) * 2
        return x + s.k

    return M(body), (t(3),)


@equal
def cond_kept():
    def body(s, x):
        if s.k is None:
            s.k = torch.cond(s.b.sum() > 0, lambda v: v + 1, lambda v: v - 1, (s.b,))
        return x + s.k

    return M(body), (t(3),)


@equal
def read_in_cond():
    def body(s, x):
        if s.k is None:
            s.k = s.b * 2
        return torch.cond(x.sum() > 0, lambda v: v + s.k, lambda v: v - s.k, (x,))

    return M(body), (t(3),)


@equal
def kept_in_autocast():
    def body(s, x):
        if s.k is None:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                s.k = s.w.view(1, 3) @ s.w.view(3, 1)
        return x + s.k

    return M(body), (t(3),)


@refused("python-state")
def autocast_first_call_only():
    def body(s, x):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=s.k is None):
            y = (x.view(1, 3) @ s.w.view(3, 1)).float()
        s.k = 1
        return y

    return M(body), (t(3),)


@refused("python-state")
def nograd_first_call_only():
    def body(s, x):
        with torch.set_grad_enabled(s.k is not None):
            y = x * s.w
        s.k = 1
        return y

    return M(body), (t(3),)


@refused("new-state-tensor")
def second_call_deletes():
    def body(s, x):
        if s.k is None:
            s.k = s.w * 2
            return x + s.k
        s.k = None
        return x + s.w * 2

    return M(body), (t(3),)


@refused("new-state-tensor")
def third_call_other():
    def body(s, x):
        if s.k is None:
            s.k = s.w * 2
        elif not hasattr(s, "z"):
            s.z = s.w * 3
        else:
            return x
        return x + s.k

    return M(body), (t(3),)


@refused("new-state-tensor")
def exchanged_each_call():
    def body(s, x):
        s.p, s.q = s.q, s.p
        return x + s.p

    m = M(body)
    m.p = torch.ones(3)
    m.q = torch.zeros(3)
    return m, (t(3),)


@equal
def kept_object():
    class Box:
        pass

    def body(s, x):
        if s.k is None:
            s.k = Box()
            s.k.cos = s.w.cos()
            s.k.sin = [s.w.sin(), (s.b * 2,)]
        return x * s.k.cos + s.k.sin[0] + s.k.sin[1][0]

    return M(body), (t(3),)


@refused("new-state-tensor")
def kept_object_input():
    class Box:
        pass

    def body(s, x):
        if s.k is None:
            s.k = Box()
            s.k.cos = [(x.cos(),)]
        return x * s.k.cos[0][0]

    return M(body), (t(3),)


@equal
def kept_shape_from_input():
    def body(s, x):
        if s.k is None or s.k.shape != x.shape:
            s.k = torch.zeros_like(x) + 1
        return x * s.k

    return M(body), (t(3),)


@equal
def kept_requires_grad_asked():
    def body(s, x):
        if s.k is None:
            s.k = s.w * 2
        return x * s.k + (1 if s.k.requires_grad else 0) + (1 if s.k.is_leaf else 0)

    return M(body), (t(3),)


@refused("new-state-tensor")
def grad_through_kept():
    def body(s, x):
        if s.k is None:
            s.k = s.w * 2
        (g,) = torch.autograd.grad((x * s.k).sum(), s.w, retain_graph=True)
        return g

    return M(body), (t(3),)


@refused("new-state-tensor")
def grad_through_kept_sq():
    def body(s, x):
        if s.k is None:
            s.k = s.w * s.w
        (g,) = torch.autograd.grad((x * s.k).sum(), s.w)
        return g

    return M(body), (t(3),)


@equal
def kept_identity():
    def body(s, x):
        if s.k is None:
            s.k = s.w * 2
            s.z = s.k
        return x * (2 if s.z is s.k else 1)

    return M(body), (t(3),)


@equal
def kept_identity_of_param():
    def body(s, x):
        if s.k is None:
            s.k = s.w
            s.z = s.w
        return x * (2 if s.k is s.w else 1) + s.z

    return M(body), (t(3),)


@refused("new-state-tensor")
def dict_by_kept_len():
    def body(s, x):
        if len(s.d) < 2:
            s.d[len(s.d)] = s.w * 2
        return x * s.d[0] + len(s.d)

    return M(body, d={}), (t(3),)


@equal
def two_entries():
    def body(s, x):
        for i in range(3):
            if i not in s.d:
                s.d[i] = s.w * i
            x = x + s.d[i]
        return x

    return M(body, d={}), (t(3),)
