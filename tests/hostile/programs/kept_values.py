"""Values computed once and kept for later calls"""

from __future__ import annotations

import functools

import torch
from torch import nn

from tests.export.probe import equal, refused, t


class Kept(nn.Module):
    def __init__(self, make, **attrs):
        super().__init__()
        self.make = make
        self.weight = nn.Parameter(torch.randn(3, 3))
        self.register_buffer("buf", torch.randn(3, 3))
        self.kept = None

    def forward(self, x):
        if self.kept is None:
            self.kept = self.make(self, x)
        return x + self.kept


@equal
def of_param():
    return Kept(lambda s, x: s.weight * 2), (t(3, 3),)


@equal
def of_buf():
    return Kept(lambda s, x: s.buf * 2), (t(3, 3),)


@equal
def of_param_nograd():
    def make(s, x):
        with torch.no_grad():
            return s.weight * 2

    return Kept(make), (t(3, 3),)


@equal
def of_param_nograd_deco():
    class M(Kept):
        @torch.no_grad()
        def build(self):
            return self.weight.softmax(-1)

    return M(lambda s, x: s.build()), (t(3, 3),)


@equal
def of_consts_nograd():
    def make(s, x):
        with torch.no_grad():
            return torch.arange(3.0) * 2

    return Kept(make), (t(3, 3),)


@equal
def of_param_detach():
    return Kept(lambda s, x: s.weight.detach()), (t(3, 3),)


@equal
def the_param_itself():
    return Kept(lambda s, x: s.weight), (t(3, 3),)


@equal
def the_param_data():
    return Kept(lambda s, x: s.weight.data), (t(3, 3),)


@equal
def view_of_buf():
    return Kept(lambda s, x: s.buf[0]), (t(3, 3),)


@equal
def of_x_dtype():
    return Kept(lambda s, x: s.buf.to(x.dtype)), (t(3, 3),)


@equal
def of_x_dtype2():
    return Kept(lambda s, x: s.buf.to(x.dtype)), (t(3, 3).double(),)


@equal
def like_x():
    return Kept(lambda s, x: torch.zeros_like(x)), (t(3, 3),)


@equal
def new_x():
    return Kept(lambda s, x: x.new_ones(3)), (t(3, 3),)


@refused("new-state-tensor")
def buf_changed():
    class M(Kept):
        def forward(self, x):
            y = super().forward(x)
            self.buf.add_(1)
            return y

    return M(lambda s, x: s.buf * 2), (t(3, 3),)


@equal
def other_buf_changed():
    class M(Kept):
        def __init__(s, *a):
            super().__init__(*a)
            s.register_buffer("n", torch.zeros(3))

        def forward(self, x):
            y = super().forward(x)
            self.n.add_(1)
            return y + self.n

    return M(lambda s, x: s.buf * 2), (t(3, 3),)


@refused("new-state-tensor")
def buf_assigned():
    class M(Kept):
        def forward(self, x):
            y = super().forward(x)
            self.buf = self.buf + 1
            return y

    return M(lambda s, x: s.buf * 2), (t(3, 3),)


@refused("new-state-tensor")
def view_changed_after():
    class M(Kept):
        def forward(self, x):
            base = torch.zeros(3, 3)
            if self.kept is None:
                self.kept = base[:1]
            y = x + self.kept
            base.add_(1)
            return y

    return M(None), (t(3, 3),)


@equal
def built_in_place():
    def make(s, x):
        m = torch.full((3, 3), float("-inf"))
        m.triu_(1)
        return m

    return Kept(make), (t(3, 3),)


@equal
def built_in_place_slices():
    def make(s, x):
        pe = torch.zeros(3, 4)
        pos = torch.arange(3.0).unsqueeze(1)
        pe[:, 0::2] = torch.sin(pos)
        pe[:, 1::2] = torch.cos(pos)
        return pe[:, :3]

    return Kept(make), (t(3, 3),)


@equal
def kept_aliases_output():
    class M(Kept):
        def forward(self, x):
            super().forward(x)
            return self.kept

    return M(lambda s, x: s.weight * 2), (t(3, 3),)


@equal
def kept_aliases_output_const():
    class M(Kept):
        def forward(self, x):
            super().forward(x)
            return self.kept

    return M(lambda s, x: torch.ones(3)), (t(3, 3),)


@equal
def register_in_forward():
    class M(nn.Module):
        def forward(self, x):
            n = x.shape[0]
            if not hasattr(self, "mask") or self.mask.size(0) < n:
                self.register_buffer("mask", torch.ones(n, n).triu(), persistent=False)
            return x @ self.mask[:n, :n]

    return M(), (t(3, 3),)


@equal
def none_buffer():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.register_buffer("mask", None)

        def forward(self, x):
            n = x.shape[0]
            if self.mask is None:
                self.mask = torch.ones(n, n).triu()
            return x @ self.mask[:n, :n]

    return M(), (t(3, 3),)


@equal
def buffer_grows():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.register_buffer("mask", torch.ones(2, 2).triu(), persistent=False)

        def forward(self, x):
            n = x.shape[0]
            if self.mask.shape[0] < n:
                self.mask = torch.ones(n, n).triu()
            return x @ self.mask[:n, :n]

    return M(), (t(3, 3),)


@equal
def position_ids():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.register_buffer("pos", torch.arange(8))
            s.emb = nn.Embedding(8, 3)

        def forward(self, x):
            self.pos = torch.arange(x.shape[0])
            return x + self.emb(self.pos)

    return M(), (t(3, 3),)


@equal
def rotary_grows():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.max_seq = 0
            s.cos = None
            s.register_buffer("inv", 1.0 / (10 ** (torch.arange(0, 4, 2).float() / 4)))

        def forward(self, x):
            n = x.shape[0]
            if n > self.max_seq:
                f = torch.outer(torch.arange(n).float(), self.inv)
                e = torch.cat([f, f], -1)
                self.cos = e.cos()
                self.sin = e.sin()
                self.max_seq = n
            return x * self.cos[:n] + x.flip(-1) * self.sin[:n]

    return M(), (t(3, 4),)


@equal
def levit():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.biases = nn.Parameter(torch.randn(2, 5))
            s.cache = {}
            s.register_buffer("idx", torch.randint(0, 5, (3, 3)), persistent=False)

        def get(self, device):
            if self.training:
                return self.biases[:, self.idx]
            k = str(device)
            if k not in self.cache:
                self.cache[k] = self.biases[:, self.idx]
            return self.cache[k]

        def forward(self, x):
            return x + self.get(x.device)

    return M().eval(), (t(2, 3, 3),)


@equal
def key_tuple():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s._tables = {}
            s.w = nn.Parameter(torch.randn(3))

        def forward(self, x):
            n = x.shape[0]
            k = (x.device, n, x.dtype)
            if k not in self._tables:
                self._tables[k] = torch.arange(n, device=x.device)[:, None] * self.w
            return x + self._tables[k]

    return M().eval(), (t(3, 3),)


@equal
def pyramid():
    class M(nn.Module):
        def forward(self, x):
            self.pyramid = [x]
            for _i in range(2):
                self.pyramid.append(self.pyramid[-1] * 2)
            return sum(self.pyramid)

    return M(), (t(3, 3),)


@equal
def pyramid2():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.pyramid = None

        def forward(self, x):
            self.pyramid = [x]
            for _i in range(2):
                self.pyramid.append(self.pyramid[-1] * 2)
            return self.pyramid[-1] + len(self.pyramid)

    return M(), (t(3, 3),)


@equal
def pyramid3():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.pyramid = []

        def forward(self, x):
            self.pyramid.clear()
            self.pyramid.append(x)
            for _i in range(2):
                self.pyramid.append(self.pyramid[-1] * 2)
            return self.pyramid[-1] + len(self.pyramid)

    return M(), (t(3, 3),)


@refused("new-state-tensor")
def random_kept():
    return Kept(lambda s, x: torch.rand(3, 3)), (t(3, 3),)


@refused("new-state-tensor")
def input_kept():
    return Kept(lambda s, x: x * 2), (t(3, 3),)


@equal
def cached_property():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.w = nn.Parameter(torch.randn(3))

        @functools.cached_property
        def table(self):
            return self.w.exp()

        def forward(self, x):
            return x * self.table

    return M(), (t(3, 3),)


@equal
def lru_method():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.w = nn.Parameter(torch.randn(3))

        @functools.lru_cache  # noqa: B019
        def table(self, n):
            return self.w.exp() * n

        def forward(self, x):
            return x * self.table(2)

    return M(), (t(3, 3),)


TABLES = {}


@equal
def global_table():
    TABLES.clear()
    w = torch.randn(3)

    def f(x):
        if "a" not in TABLES:
            TABLES["a"] = torch.arange(3.0) * w
        return x * TABLES["a"]

    return f, (t(3, 3),)
