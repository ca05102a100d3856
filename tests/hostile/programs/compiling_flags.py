"""torch's own branches on "is this being compiled or exported?\""""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from tests.export.probe import Case, Probe, equal, raises, t

CAUSAL = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
PADDED = torch.tensor([[False] * 5, [False] * 4 + [True]])
PADDED_LEFT = torch.tensor([[True] + [False] * 4, [False, True, False, False, False]])
EMPTY_SEQUENCE = torch.tensor([[False] * 5, [True] * 5])
EMPTY_ROW = CAUSAL.clone().index_fill(0, torch.tensor([2]), True)


class Attention(nn.Module):
    def __init__(self, options: dict[str, Any], call: dict[str, Any], frozen: bool) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, **{"batch_first": True, **options})
        self.call = call
        self.eval().requires_grad_(not frozen)

    def forward(self, x: torch.Tensor) -> Any:
        return self.attention(x, x, x, **self.call)


def _attention(name: str, frozen: bool, options: dict[str, Any], **call: Any) -> Probe:
    def build() -> Case:
        return Case(Attention(options, call, frozen), (t(2, 5, 8),))

    build.__name__ = f"attention_{name}_{'frozen' if frozen else 'learning'}"
    return equal(build)


ATTENTIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({}, {}),
    "without_weights": ({}, {"need_weights": False}),
    "weights_of_each_head": ({}, {"average_attn_weights": False}),
    "padded": ({}, {"key_padding_mask": PADDED}),
    "empty_sequence": ({}, {"key_padding_mask": EMPTY_SEQUENCE}),
    "empty_row": ({}, {"attn_mask": EMPTY_ROW}),
    "both_masks": ({}, {"attn_mask": CAUSAL, "key_padding_mask": PADDED}),
    "causal": ({}, {"attn_mask": CAUSAL, "is_causal": True, "need_weights": False}),
    "float_mask": ({}, {"attn_mask": torch.zeros(5, 5)}),
    "sequence_first": ({"batch_first": False}, {}),
    "without_bias": ({"bias": False}, {}),
    "bias_of_keys": ({"add_bias_kv": True}, {}),
    "zero_attention": ({"add_zero_attn": True}, {"attn_mask": EMPTY_ROW}),
}
globals().update(
    {
        f"attention_{name}_{frozen}": _attention(name, frozen, options, **call)
        for name, (options, call) in ATTENTIONS.items()
        for frozen in (False, True)
    }
)


@equal
def attention_without_gradients():
    class M(Attention):
        def forward(self, x):
            with torch.no_grad():
                return super().forward(x)

    return M({}, {"key_padding_mask": PADDED}, frozen=False), (t(2, 5, 8),)


@equal
def attention_in_training():
    return Attention({}, {}, frozen=True).train(), (t(2, 5, 8),)


@equal
def attention_row_without_keys_where_weights_require_grad():
    return Attention({}, {"attn_mask": EMPTY_ROW, "need_weights": False}, frozen=False), (t(2, 5, 8),)


class Encoder(nn.Module):
    def __init__(self, encoder: nn.Module, call: dict[str, Any]) -> None:
        super().__init__()
        self.encoder = encoder
        self.call = call

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.encoder(x, **self.call)


def _encoder(layer: dict[str, Any], call: dict[str, Any], frozen: bool, **options: Any) -> Case:
    """Masks are the program's own: other data would make others of them."""
    layers = nn.TransformerEncoderLayer(8, 2, 16, **{"batch_first": True, **layer})
    module = nn.TransformerEncoder(layers, 2, **options).eval().requires_grad_(not frozen)
    return Case(Encoder(module, call), (t(2, 5, 8),))


@equal
def encoder():
    return _encoder({}, {}, frozen=False)


@equal
def encoder_frozen():
    return _encoder({}, {}, frozen=True)


@equal
def encoder_padded():
    return _encoder({}, {"src_key_padding_mask": PADDED}, frozen=False)


@equal
def encoder_empty_sequence():
    return _encoder({}, {"src_key_padding_mask": EMPTY_SEQUENCE}, frozen=False)


@equal
def encoder_padded_on_the_left_frozen():
    return _encoder({}, {"src_key_padding_mask": PADDED_LEFT}, frozen=True)


@equal
def encoder_padded_without_nested_tensors():
    return _encoder({}, {"src_key_padding_mask": PADDED}, frozen=True, enable_nested_tensor=False)


@equal
def encoder_norm_first_padded_frozen():
    return _encoder({"norm_first": True, "activation": "gelu"}, {"src_key_padding_mask": PADDED}, frozen=True)


@equal
def encoder_other_activation():
    return _encoder({"activation": F.silu}, {"src_key_padding_mask": PADDED}, frozen=True)


@equal
def encoder_in_training():
    case = _encoder({"dropout": 0.0}, {"src_key_padding_mask": PADDED}, frozen=False)
    case.program.train()
    return case


@equal
def encoder_causal():
    return _encoder({}, {"mask": CAUSAL, "is_causal": True}, frozen=True)


@equal
def encoder_with_a_final_norm():
    return _encoder({}, {}, frozen=True, norm=nn.LayerNorm(8))


class Hooked(nn.Module):
    """A layer whose forward hook counts calls in a buffer, and which fails where `fails`."""

    def __init__(self, always: bool, fails: bool) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))
        self.inner = nn.Linear(4, 4) if not fails else nn.Linear(5, 4)
        self.inner.register_forward_hook(self.count, always_call=always)

    def count(self, module: nn.Module, args: Any, output: Any) -> None:
        self.calls.add_(1)

    def forward(self, x: torch.Tensor) -> Any:
        try:
            y = self.inner(x)
        except RuntimeError:
            y = x * 2
        return y + self.calls


@equal
def hook_that_is_always_called_after_an_exception():
    return Hooked(always=True, fails=True), (t(2, 4),)


@equal
def hook_that_is_not_called_after_an_exception():
    return Hooked(always=False, fails=True), (t(2, 4),)


@equal
def hook_that_is_always_called():
    return Hooked(always=True, fails=False), (t(2, 4),)


@equal
def global_hook_that_is_always_called():
    class M(Hooked):
        def forward(self, x):
            handle = nn.modules.module.register_module_forward_hook(self.count, always_call=True)
            try:
                return super().forward(x)
            finally:
                handle.remove()

    return M(always=True, fails=True), (t(2, 4),)


@raises
def what_only_a_compiler_may_call():
    def f(x):
        torch.autograd.graph.region_activation_memory_budget(0.5)
        return x + 1

    return f, (t(3),)


@equal
def a_flag_of_jit():
    def f(x):
        jit = torch.jit.is_scripting() or torch.jit.is_tracing() or torch._C._get_tracing_state() is not None
        return x + 1 if jit else x - 1

    return f, (t(3),)


def _masked(*args: Any, **options: Any) -> Case:
    def f(q: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(q, q, q, *args, **options)

    return Case(f, (t(2, 2, 5, 4),))


@equal
def attention_operator_with_an_empty_row():
    return _masked(~EMPTY_ROW)


@equal
def attention_operator_with_infinities():
    return _masked(torch.zeros(5, 5).masked_fill(EMPTY_ROW, -torch.inf))


@equal
def attention_operator_causal():
    return _masked(is_causal=True, scale=0.5)


@equal
def checkpoint_of_a_layer():
    layer = nn.Linear(4, 4)

    def f(x):
        return torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)

    return f, (t(2, 4),)


@equal
def weight_norm():
    return nn.utils.parametrizations.weight_norm(nn.Linear(4, 4)), (t(2, 4),)


@equal
def spectral_norm_in_training():
    return nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4)), (t(2, 4),)


@equal
def embedding_bag():
    bag = nn.EmbeddingBag(10, 4, mode="sum", padding_idx=0)

    def f(x, offsets):
        return bag(x, offsets)

    return f, (torch.randint(0, 10, (6,)), torch.tensor([0, 2, 4]))


@equal
def lstm_of_a_batch():
    return nn.LSTM(4, 3, 2, bidirectional=True, batch_first=True), (t(2, 5, 4),)
