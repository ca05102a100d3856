"""Caches of tables as users' libraries write them"""

from __future__ import annotations

import collections
import dataclasses
import functools
import math
import weakref

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

from tests.export.probe import Case, equal, refused, t


@equal
def swin_relative_position_bias_cached_in_eval():
    class Attention(nn.Module):
        def __init__(self, window=2, heads=2):
            super().__init__()
            self.table = nn.Parameter(torch.randn((2 * window - 1) ** 2, heads))
            coords = torch.stack(torch.meshgrid(torch.arange(window), torch.arange(window), indexing="ij")).flatten(1)
            relative = (coords[:, :, None] - coords[:, None, :]).permute(1, 2, 0) + window - 1
            self.register_buffer("index", relative[..., 0] * (2 * window - 1) + relative[..., 1], persistent=False)
            self.bias = None

        def get_bias(self):
            if self.training:
                return self.table[self.index.view(-1)].view(4, 4, -1).permute(2, 0, 1).contiguous()
            if self.bias is None:
                self.bias = self.table[self.index.view(-1)].view(4, 4, -1).permute(2, 0, 1).contiguous()
            return self.bias

        def forward(self, x):
            return (x @ x.transpose(-1, -2) + self.get_bias()).softmax(-1) @ x

    return Attention().eval(), (t(2, 4, 3),)


@equal
def swin_v2_mlp_bias_kept():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.mlp = nn.Sequential(nn.Linear(2, 4), nn.ReLU(inplace=True), nn.Linear(4, 2))
            self.register_buffer("coords", torch.randn(9, 2))
            self.bias = None

        def forward(self, x):
            if self.bias is None:
                self.bias = 16 * torch.sigmoid(self.mlp(self.coords)).view(3, 3, 2).permute(2, 0, 1)
            return x + self.bias

    return M().eval(), (t(2, 3, 3),)


@equal
def sinusoidal_table_grows_like_fairseq():
    class Sinusoidal(nn.Module):
        def __init__(self, dim=4, init=2):
            super().__init__()
            self.dim = dim
            self.weights = self.make(init, dim)
            self.register_buffer("_float_tensor", torch.zeros(1))

        @staticmethod
        def make(n, dim):
            half = dim // 2
            emb = torch.exp(torch.arange(half, dtype=torch.float) * -(math.log(10000) / (half - 1)))
            emb = torch.arange(n, dtype=torch.float).unsqueeze(1) * emb.unsqueeze(0)
            return torch.cat([torch.sin(emb), torch.cos(emb)], dim=1).view(n, -1)

        def forward(self, x):
            n = x.shape[1]
            if self.weights is None or n > self.weights.size(0):
                self.weights = self.make(n, self.dim)
            self.weights = self.weights.to(self._float_tensor)
            return x + self.weights[:n]

    return Sinusoidal(), (t(2, 5, 4),)


@equal
def rotary_freqs_cached_in_a_dict():
    class Rotary(nn.Module):
        def __init__(self, dim=4):
            super().__init__()
            self.freqs = nn.Parameter(1.0 / (10000 ** (torch.arange(0, dim, 2).float() / dim)), requires_grad=False)
            self.cache = {}

        def get(self, make, key=None):
            if key is not None and key in self.cache:
                return self.cache[key]
            if callable(make):
                make = make()
            freqs = torch.einsum("..., f -> ... f", make.type(self.freqs.dtype), self.freqs).repeat_interleave(2, -1)
            if key is not None:
                self.cache[key] = freqs
            return freqs

        def forward(self, x):
            freqs = self.get(lambda: torch.arange(x.shape[-2], device=x.device), key=f"freqs:{x.shape[-2]}|offset:0")
            return x * freqs.cos() + x.flip(-1) * freqs.sin()

    return Rotary(), (t(2, 3, 4),)


@refused("python-state")
def rotary_with_registered_caches_like_rotary_embedding_torch():
    class Rotary(nn.Module):
        def __init__(self, dim=4, top=8):
            super().__init__()
            self.freqs = nn.Parameter(1.0 / (10000 ** (torch.arange(0, dim, 2).float() / dim)))
            self.register_buffer("cached_freqs", torch.zeros(top, dim), persistent=False)
            self.cached_freqs_seq_len = 0
            self.top = top

        def rot(self, n):
            if n <= self.cached_freqs_seq_len:
                return self.cached_freqs[:n].detach()
            freqs = torch.outer(torch.arange(n).float(), self.freqs).repeat_interleave(2, -1)
            self.cached_freqs[:n] = freqs.detach()
            self.cached_freqs_seq_len = n
            return freqs

        def forward(self, x):
            f = self.rot(x.shape[-2])
            return x * f.cos() + x.flip(-1) * f.sin()

    return Rotary(), (t(2, 3, 4),)


@equal
def rotary_set_cos_sin_cache_in_buffers():
    class Rotary(nn.Module):
        def __init__(self, dim=4, top=2):
            super().__init__()
            self.register_buffer("inv_freq", 1.0 / (10000 ** (torch.arange(0, dim, 2).float() / dim)), persistent=False)
            self.build(top)

        def build(self, n, dtype=torch.float32):
            self.max_seq_len_cached = n
            freqs = torch.outer(torch.arange(n, dtype=self.inv_freq.dtype), self.inv_freq)
            emb = torch.cat((freqs, freqs), dim=-1)
            self.register_buffer("cos_cached", emb.cos().to(dtype), persistent=False)
            self.register_buffer("sin_cached", emb.sin().to(dtype), persistent=False)

        def forward(self, x):
            n = x.shape[-2]
            if n > self.max_seq_len_cached:
                self.build(n, x.dtype)
            return x * self.cos_cached[:n].to(x.dtype) + x.flip(-1) * self.sin_cached[:n].to(x.dtype)

    return Rotary(), (t(2, 3, 4),)


@equal
def no_grad_build_with_decorator_and_device_check():
    class Rotary(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("inv_freq", 1.0 / (10000 ** (torch.arange(0, 4, 2).float() / 4)), persistent=False)
            self._cos = self._sin = None
            self._n = 0

        @torch.no_grad()
        def update(self, n, device, dtype):
            if (
                n > self._n
                or self._cos is None
                or self._cos.device != device
                or self._cos.dtype != dtype
                or (self.training and self._cos.is_inference())
            ):
                self._n = n
                pos = torch.arange(n, device=device, dtype=torch.float32)
                freqs = torch.outer(pos, self.inv_freq.to(torch.float32))
                self._cos = torch.cos(freqs).to(dtype)
                self._sin = torch.sin(freqs).to(dtype)

        def forward(self, x):
            self.update(x.shape[1], x.device, x.dtype)
            c = torch.cat([self._cos, self._cos], -1)[: x.shape[1]]
            s = torch.cat([self._sin, self._sin], -1)[: x.shape[1]]
            return x * c + x.flip(-1) * s

    return Rotary(), (t(2, 3, 4),)


@equal
def alibi_slopes_registered_when_long_enough():
    class Alibi(nn.Module):
        def __init__(self):
            super().__init__()
            self.slopes = nn.Parameter(torch.randn(2, 1, 1))
            self.register_buffer("bias", None, persistent=False)

        def forward(self, x):
            i, j = x.shape[-2:]
            if self.bias is not None and self.bias.shape[-1] >= j and self.bias.shape[-2] >= i:
                return x + self.bias[..., -i:, -j:]
            bias = -(torch.arange(j)[None] - torch.arange(i)[:, None]).abs() * self.slopes
            self.register_buffer("bias", bias, persistent=False)
            return x + self.bias[..., -i:, -j:]

    return Alibi(), (t(2, 3, 3),)


@equal
def alibi_bias_detached():
    class Alibi(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("slopes", torch.randn(2, 1, 1))
            self.register_buffer("bias", None, persistent=False)

        def forward(self, x):
            i, j = x.shape[-2:]
            if self.bias is None or self.bias.shape[-1] < j:
                self.register_buffer(
                    "bias", -(torch.arange(j)[None] - torch.arange(i)[:, None]).abs() * self.slopes, persistent=False
                )
            return x + self.bias

    return Alibi(), (t(2, 3, 3),)


@equal
def causal_mask_grows_with_torch_full():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self._mask = torch.empty(0)

        def forward(self, x):
            n = x.shape[0]
            if self._mask.device != x.device or self._mask.size(0) < n:
                self._mask = torch.triu(torch.full((n, n), float("-inf")), 1)
            self._mask = self._mask.to(x)
            return (x @ x.t() + self._mask[:n, :n]).softmax(-1)

    return M(), (t(3, 3),)


@equal
def longformer_style_lists_made_again():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.lins = nn.ModuleList(nn.Linear(3, 3) for _ in range(3))
            self.hidden = []

        def forward(self, x):
            self.hidden = []
            for lin in self.lins:
                x = lin(x)
                self.hidden.append(x)
            return torch.stack(self.hidden).mean(0)

    return M(), (t(2, 3),)


@equal
def fpn_pyramid():
    class M(nn.Module):
        def forward(self, x):
            self.pyramid = [x]
            while len(self.pyramid) < 3:
                self.pyramid.append(F.avg_pool1d(self.pyramid[-1], 2))
            return self.pyramid[-1].sum() + self.pyramid[0].mean()

    return M(), (t(1, 2, 8),)


@equal
def anchors_by_grid_like_yolo():
    class Detect(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("anchors", torch.randn(2, 2))
            self.grid = [torch.empty(0), torch.empty(0)]
            self.shape = None

        def make(self, n):
            return (
                torch.stack(torch.meshgrid(torch.arange(n), torch.arange(n), indexing="ij"), -1).float()
                * self.anchors[0]
            )

        def forward(self, xs):
            outs = []
            for i, x in enumerate(xs):
                if self.grid[i].shape[:2] != x.shape[-2:]:
                    self.grid[i] = self.make(x.shape[-1])
                outs.append(x + self.grid[i][..., 0])
            return outs

    return Detect(), ([t(2, 2), t(3, 3)],)


@equal
def anchors_strides_made_when_shape_changes():
    class Detect(nn.Module):
        def __init__(self):
            super().__init__()
            self.shape = None
            self.anchors = torch.empty(0)

        def forward(self, x):
            if self.shape != x.shape:
                self.anchors, self.strides = (
                    v.transpose(0, 0) for v in (torch.arange(x.shape[-1]).float(), torch.ones(x.shape[-1]))
                )
                self.shape = x.shape
            return x * self.anchors + self.strides

    return Detect(), (t(2, 3),)


@equal
def anchors_dynamic_batch():
    class Detect(nn.Module):
        def __init__(self):
            super().__init__()
            self.shape = None
            self.anchors = torch.empty(0)

        def forward(self, x):
            if self.shape != x.shape:
                self.anchors = torch.arange(x.shape[-1]).float()
                self.shape = x.shape
            return x * self.anchors

    return Case(Detect(), (t(4, 3),), also=[((t(2, 3),), {}), ((t(7, 3),), {})], dynamic_shapes=({0: Dim("b")},))


@equal
def weight_norm_kept_in_eval():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.v = nn.Parameter(torch.randn(3, 3))
            self.g = nn.Parameter(torch.randn(3, 1))
            self._w = None

        @property
        def weight(self):
            if self.training:
                return self.v / self.v.norm(dim=1, keepdim=True) * self.g
            if self._w is None:
                self._w = (self.v / self.v.norm(dim=1, keepdim=True) * self.g).detach()
            return self._w

        def forward(self, x):
            return F.linear(x, self.weight)

    return M().eval(), (t(2, 3),)


@refused("python-state")
def merged_lora_weight_on_first_call():
    class M(nn.Linear):
        def __init__(self):
            super().__init__(3, 3)
            self.a = nn.Parameter(torch.randn(1, 3))
            self.b = nn.Parameter(torch.randn(3, 1))
            self.merged = False

        def forward(self, x):
            if not self.merged:
                self.weight.data += self.b @ self.a
                self.merged = True
            return F.linear(x, self.weight, self.bias)

    return M(), (t(2, 3),)


@refused("new-state-tensor")
def spectral_norm_power_iteration():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(3, 3))
            self.register_buffer("u", torch.randn(3))
            self.s = None

        def forward(self, x):
            if self.s is None:
                with torch.no_grad():
                    v = F.normalize(self.w.t() @ self.u, dim=0)
                    self.u.copy_(F.normalize(self.w @ v, dim=0))
                    self.s = self.u @ self.w @ v
            return x / self.s

    return M(), (t(3),)


@equal
def window_function_by_length():
    WINDOWS = {}

    def stft_like(x, n):
        key = (n, x.dtype, str(x.device))
        if key not in WINDOWS:
            WINDOWS[key] = torch.hann_window(n, dtype=x.dtype)
        return x.unfold(-1, n, n) * WINDOWS[key]

    return lambda x: stft_like(x, 4), (t(8),)


@equal
def mel_filters_kept_per_module_attribute_tuple():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.filters = (None, None)

        def forward(self, x):
            if self.filters[0] is None:
                self.filters = (torch.linspace(0, 1, 4), torch.hann_window(4))
            return x * self.filters[0] + self.filters[1]

    return M(), (t(4),)


@equal
def class_level_cache():
    class M(nn.Module):
        tables = {}

        def forward(self, x):
            t_ = self.tables.get(3)
            if t_ is None:
                t_ = self.tables[3] = torch.arange(3.0)
            return x * t_

    return M(), (t(3),)


@equal
def function_attribute_cache():
    def f(x):
        if not hasattr(f, "table"):
            f.table = torch.arange(3.0)
        return x * f.table

    return f, (t(3),)


@equal
def default_argument_cache():
    def f(x, cache=None):
        if cache is None:
            cache = {}
        if "t" not in cache:
            cache["t"] = torch.arange(3.0)
        return x * cache["t"]

    m = nn.Module()
    m.forward = lambda x: f(x)
    return m, (t(3),)


@equal
def setdefault_cache():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.c = {}
            s.w = nn.Parameter(torch.randn(3))

        def forward(s, x):
            return x * s.c.setdefault("k", s.w * 2)

    return M(), (t(3),)


@equal
def defaultdict_cache():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.c = collections.defaultdict(list)

        def forward(s, x):
            if not s.c["k"]:
                s.c["k"].append(torch.arange(3.0))
            return x * s.c["k"][0]

    return M(), (t(3),)


@equal
def ordered_lru_of_tensors_evicts():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.c = collections.OrderedDict()

        def forward(s, x):
            k = x.shape[0]
            if k in s.c:
                s.c.move_to_end(k)
            else:
                s.c[k] = torch.arange(k).float()
                if len(s.c) > 2:
                    s.c.popitem(last=False)
            return x * s.c[k]

    return M(), (t(3),)


@equal
def weak_cache_by_module():
    C = weakref.WeakKeyDictionary()

    class M(nn.Module):
        def forward(s, x):
            if s not in C:
                C[s] = torch.arange(3.0)
            return x * C[s]

    return M(), (t(3),)


@equal
def dataclass_cache():
    @dataclasses.dataclass
    class Cache:
        cos: object = None
        n: int = 0

    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.c = Cache()

        def forward(s, x):
            if s.c.n < x.shape[0]:
                s.c.cos = torch.arange(x.shape[0]).cos()
                s.c.n = x.shape[0]
            return x * s.c.cos[: x.shape[0]]

    return M(), (t(3),)


@equal
def memo_decorator():
    def memo(fn):
        store = {}

        @functools.wraps(fn)
        def inner(self, *args):
            if args not in store:
                store[args] = fn(self, *args)
            return store[args]

        return inner

    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.w = nn.Parameter(torch.randn(3))

        @memo
        def table(s, n):
            return s.w.exp() + n

        def forward(s, x):
            return x * s.table(2) + s.table(3)

    return M(), (t(3),)
