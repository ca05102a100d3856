"""Modules, continued: torch's own layers, meta weights, overrides."""

# Programs as users write them, odd ones too.
# ruff: noqa: E501

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from ..probe import equal, ints, sound, t


class Two(nn.Module):
    """Two linear layers."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.b = nn.Linear(3, 3)

    def forward(self, x):
        return self.b(self.a(x).relu())


@equal
def gru_with_state():
    return nn.GRU(3, 4), (t(5, 2, 3), t(1, 2, 4))


@equal
def lstm_cell_loop():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.LSTMCell(3, 4)

        def forward(self, xs):
            state = None
            out = []
            for x in xs:
                state = self.cell(x, state)
                out.append(state[0])
            return torch.stack(out), state

    return M(), (t(3, 2, 3),)


@equal
def multi_head_attention_training():
    m = nn.MultiheadAttention(8, 2, batch_first=True)
    return m, (t(2, 3, 8), t(2, 3, 8), t(2, 3, 8))


@equal
def multi_head_attention_fast_path():
    m = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    x = t(2, 3, 8)
    return m, (x, x, x), {"need_weights": False}


@equal
def transformer_encoder_evaluation():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return nn.TransformerEncoder(layer, 2).eval(), (t(2, 3, 8),)


@equal
def transformer_encoder_training():
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)
    return nn.TransformerEncoder(layer, 2).train(), (t(2, 3, 8),)


@equal
def transformer_decoder_with_masks():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.dec = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, batch_first=True), 1)

        def forward(self, x, memory):
            mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
            return self.dec(x, memory, tgt_mask=mask, tgt_is_causal=True)

    return M().eval(), (t(2, 3, 8), t(2, 4, 8))


@equal
def embedding_bag_and_losses():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.bag = nn.EmbeddingBag(10, 3, mode="mean")

        def forward(self, ids, target):
            y = self.bag(ids)
            return F.cross_entropy(y, target), F.mse_loss(y, y * 2), F.one_hot(target, 3)

    return M(), (ints(2, 4), ints(2, high=3))


@equal
def convolutions_and_pooling():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.c = nn.Conv2d(3, 4, 3, padding="same", groups=1, padding_mode="circular")
            self.u = nn.ConvTranspose2d(4, 2, 2, stride=2)
            self.n = nn.GroupNorm(2, 2)

        def forward(self, x):
            x = F.max_pool2d(self.c(x), 2)
            x = self.n(self.u(x))
            x = F.interpolate(x, scale_factor=1.5, mode="bilinear")
            return F.adaptive_avg_pool2d(x, 2), F.pad(x, (1, 1, 1, 1), mode="reflect"), F.unfold(x, 2)

    return M(), (t(2, 3, 8, 8),)


@equal
def conv_norm_flatten_classifier():
    return nn.Sequential(
        nn.Conv1d(3, 4, 3), nn.InstanceNorm1d(4, affine=True, track_running_stats=True), nn.GELU(), nn.AdaptiveMaxPool1d(2),
        nn.Flatten(), nn.Linear(8, 2), nn.LogSoftmax(-1),
    ), (t(2, 3, 8),)  # fmt: skip


@equal
def einsum_and_scaled_dot_product():
    def forward(q, k, v):
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k)
        return scores @ v, F.scaled_dot_product_attention(q, k, v, is_causal=True)

    return forward, (t(1, 2, 4, 8), t(1, 2, 4, 8), t(1, 2, 4, 8))


@equal
def non_persistent_buffer():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("freqs", torch.arange(3.0), persistent=False)

        def forward(self, x):
            return torch.cat([(x * self.freqs).cos(), (x * self.freqs).sin()], -1)

    return M(), (t(2, 3),)


@equal
def meta_weights():
    with torch.device("meta"):
        m = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    return m, (torch.empty(2, 3, device="meta"),)


@equal
def loss_in_forward_with_optional_labels():
    class M(Two):
        def forward(self, x, labels=None):
            y = super().forward(x)
            loss = None if labels is None else F.cross_entropy(y, labels)
            return {"loss": loss, "logits": y}

    return M(), (t(2, 3),), {"labels": ints(2, high=3)}


@equal
def layer_norm_and_residuals_with_scales():
    class Block(nn.Module):
        def __init__(self, i):
            super().__init__()
            self.norm = nn.LayerNorm(4)
            self.scale = nn.Parameter(torch.full((4,), 0.1 * i))
            self.mix = nn.Sequential(nn.Linear(4, 8), nn.SiLU(), nn.Linear(8, 4))

        def forward(self, x):
            return x + self.scale * self.mix(self.norm(x))

    return nn.Sequential(*[Block(i) for i in range(3)]), (t(2, 4),)


@equal
def module_with_python_config_object():
    class Config(dict):
        __getattr__ = dict.__getitem__

    class M(Two):
        def __init__(self):
            super().__init__()
            self.config = Config(act="gelu", residual=True)

        def forward(self, x):
            act = {"gelu": F.gelu, "relu": F.relu}[self.config.act]
            y = act(self.a(x))
            return x + y if self.config.residual else y

    return M(), (t(2, 3),)


@equal
def lazy_module_after_its_first_call():
    m = nn.LazyLinear(4)
    m(torch.zeros(2, 3))
    return m, (t(2, 3),)


@sound()
def lazy_module_before_its_first_call():
    return nn.LazyLinear(4), (t(2, 3),)


@equal
def module_call_override():
    class M(nn.Linear):
        def __call__(self, x):
            return super().__call__(x) * 2

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = M(3, 3)

        def forward(self, x):
            return self.inner(x)

    return Outer(), (t(2, 3),)


@equal
def forward_replaced_on_the_instance():
    m = Two()
    old = m.a.forward
    m.a.forward = lambda x: old(x) * 2
    return m, (t(2, 3),)


@equal
def root_forward_replaced_on_the_instance():
    m = Two()
    m.forward = lambda x: m.a(x) * 5
    return m, (t(2, 3),)


@equal
def stochastic_depth_in_evaluation():
    class Drop(nn.Module):
        def forward(self, x):
            if not self.training:
                return x
            keep = x.new_empty(x.shape[0], 1).bernoulli_(0.5)
            return x * keep / 0.5

    return nn.Sequential(nn.Linear(3, 3), Drop()).eval(), (t(2, 3),)


@equal
def stochastic_depth_in_training():
    class Drop(nn.Module):
        def forward(self, x):
            keep = x.new_empty(x.shape[0], 1).bernoulli_(0.5)
            return x * keep / 0.5

    return nn.Sequential(nn.Linear(3, 3), Drop()).train(), (t(8, 3),)


@equal
def backward_hook_is_kept_out_of_the_way():
    m = Two()
    m.a.register_full_backward_hook(lambda mod, gin, gout: None)
    return m, (t(2, 3),)


@equal
def quantile_sort_and_topk():
    def forward(x):
        values, index = x.topk(2)
        ordered = torch.sort(x, descending=True)
        return values, index, ordered.values, ordered[1], x.max(-1).indices, x.cumsum(-1), x.argmax()

    return forward, (t(2, 5),)


@equal
def mixture_of_experts_dense():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(4, 3)
            self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

        def forward(self, x):
            weights = self.gate(x).softmax(-1)
            out = torch.zeros_like(x)
            for i, expert in enumerate(self.experts):
                out += expert(x) * weights[:, i : i + 1]
            return out

    return M(), (t(5, 4),)


@equal
def rotary_embedding_with_cache_of_buffers():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            inv = 1.0 / (10000 ** (torch.arange(0, 4, 2).float() / 4))
            angles = torch.outer(torch.arange(16).float(), inv)
            self.register_buffer("cos", angles.cos(), persistent=False)
            self.register_buffer("sin", angles.sin(), persistent=False)

        def forward(self, x):
            n = x.shape[1]
            a, b = x.chunk(2, -1)
            cos, sin = self.cos[:n], self.sin[:n]
            return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)

    return M(), (t(2, 5, 4),)


@equal
def complex_numbers_and_fft():
    def forward(x):
        f = torch.fft.rfft(x)
        z = torch.view_as_complex(x.reshape(-1, 2).contiguous())
        return torch.fft.irfft(f), f.abs(), torch.view_as_real(z * z.conj())

    return forward, (t(2, 4),)
