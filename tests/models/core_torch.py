"""Models of torch.nn alone: the shapes of network that everything else is made of."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .inputs import floats, inputs, ints
from .registry import Case, model


class CausalAttention(nn.Module):
    """Multi-head self-attention that looks back only; x is (batch, length, width)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).split(width, dim=2)
        q, k, v = (t.view(batch, length, self.heads, width // self.heads).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).contiguous().view(batch, length, width))


class Block(nn.Module):
    """A pre-norm transformer block."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = CausalAttention(width, heads)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width), nn.Dropout(0.1)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    """A GPT of any depth, from token ids (batch, length) to logits (batch, length, vocabulary).

    The output layer shares the token embedding's weight.
    """

    def __init__(
        self, layers: int = 12, width: int = 64, heads: int = 4, vocabulary: int = 128, length: int = 64
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def gpt(layers: int) -> Case:
    """The GPT of the scaling benchmark, `layers` deep."""
    return Case(GPT(layers).eval(), inputs(ints(128, 2, 16)))


@model("gpt_12")
def _gpt_12() -> Case:
    return gpt(12)


class Residual(nn.Module):
    """conv-bn-relu twice with a shortcut, which is a 1x1 convolution where the shape changes."""

    def __init__(self, channels_in: int, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut: nn.Module | None = None
        if stride != 1 or channels_in != channels:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels_in, channels, 1, stride, bias=False), nn.BatchNorm2d(channels)
            )

    def forward(self, x: Tensor) -> Tensor:
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        y += x if self.shortcut is None else self.shortcut(x)
        return self.relu(y)


class ConvNet(nn.Module):
    """A small ResNet: images (batch, 3, height, width) to class scores."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 1, 1), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2))
        self.stages = nn.Sequential(
            *(Residual(a, b, s) for a, b, s in ((8, 8, 1), (8, 16, 2), (16, 16, 1), (16, 32, 2)))
        )
        self.classify = nn.Linear(32, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.classify(F.adaptive_avg_pool2d(self.stages(self.stem(x)), 1).flatten(1))


@model("convnet_eval")
def _convnet_eval() -> Case:
    return Case(ConvNet().eval(), inputs(floats(2, 3, 32, 32)))


@model("convnet_train")
def _convnet_train() -> Case:
    return Case(ConvNet().train(), inputs(floats(2, 3, 32, 32)))


class Tagger(nn.Module):
    """A two-layer bidirectional LSTM over token ids; returns scores and the last state."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.lstm = nn.LSTM(16, 24, num_layers=2, batch_first=True, bidirectional=True)
        self.score = nn.Linear(48, 7)

    def forward(self, ids: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        states, last = self.lstm(self.embed(ids))
        return self.score(states), last


@model("lstm")
def _lstm() -> Case:
    return Case(Tagger().eval(), inputs(ints(50, 2, 11)))


@model("gru")
def _gru() -> Case:
    return Case(nn.GRU(8, 12, num_layers=2).eval(), inputs(floats(5, 3, 8), floats(2, 3, 12)))


@model("nn_transformer")
def _nn_transformer() -> Case:
    module = nn.Transformer(32, 4, num_encoder_layers=2, num_decoder_layers=2, dim_feedforward=64, batch_first=True)
    return Case(module.eval(), inputs(floats(2, 9, 32), floats(2, 7, 32)))


@model("nn_transformer_train")
def _nn_transformer_train() -> Case:
    module = nn.Transformer(32, 4, num_encoder_layers=1, num_decoder_layers=1, dim_feedforward=64, batch_first=True)
    return Case(module.train(), inputs(floats(2, 9, 32), floats(2, 7, 32)))


@model("mlp_train")
def _mlp_train() -> Case:
    hidden = (nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.5))
    return Case(nn.Sequential(*hidden, nn.Linear(32, 4)).train(), inputs(floats(8, 16)))


class UNet(nn.Module):
    """Down and up again with skip connections; the transposed convolution is sized from its skip."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList([nn.Conv2d(1, 4, 3, 2, 1), nn.Conv2d(4, 8, 3, 2, 1)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(8, 4, 2, 2), nn.ConvTranspose2d(8, 1, 2, 2)])

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        skips: list[Tensor] = []
        for layer in self.down:
            x = F.silu(layer(x))
            skips.append(x)
        first = F.silu(self.up[0](skips.pop()))
        mask = self.up[1](torch.cat([first, skips.pop()], dim=1))
        return {"mask": mask.sigmoid(), "area": mask.gt(0).float().mean(dim=(1, 2, 3))}


@model("unet")
def _unet() -> Case:
    return Case(UNet().eval(), inputs(floats(2, 1, 32, 32)))


class Embedder(nn.Module):
    """weight_norm, spectral buffers kept out of the state dict, and a bag of embeddings."""

    def __init__(self) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(30, 12, mode="mean")
        self.project = nn.utils.parametrizations.weight_norm(nn.Linear(12, 6))
        self.register_buffer("scale", torch.tensor(0.5), persistent=False)

    def forward(self, ids: Tensor, *, normalize: bool = True) -> Tensor:
        x = self.project(self.bag(ids)) * self.scale
        return F.normalize(x, dim=-1) if normalize else x


@model("embedder")
def _embedder() -> Case:
    return Case(Embedder().eval(), inputs(ints(30, 4, 5)))
