"""Ten steps of training as people write them, small: models, losses, optimizers. Each is a module, made anew per call.

`STEPS`: name → (makes the step, makes the arguments of call number n). Random numbers come from the default generator.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Inputs = Callable[[int], tuple[Any, ...]]
STEPS: dict[str, tuple[Callable[[], nn.Module], Inputs]] = {}


def step(inputs: Inputs) -> Callable[[type[nn.Module]], type[nn.Module]]:
    def add(cls: type[nn.Module]) -> type[nn.Module]:
        STEPS[cls.__name__] = (cls, inputs)
        return cls

    return add


def _generator(call: int) -> torch.Generator:
    return torch.Generator().manual_seed(call)


def _tokens(call: int) -> tuple[Tensor]:
    return (torch.randint(0, 40, (2, 8), generator=_generator(call)),)


def _images(call: int) -> tuple[Tensor, Tensor]:
    labels = torch.randint(0, 4, (4,), generator=_generator(call))
    return torch.randn(4, 3, 8, 8, generator=_generator(call)), labels


@step(_tokens)
class GPT2(nn.Module):
    """A transformers model with its own loss, AdamW, and the norm of its gradients clipped."""

    def __init__(self) -> None:
        super().__init__()
        from transformers import GPT2Config, GPT2LMHeadModel

        dropouts = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
        config = GPT2Config(vocab_size=40, n_positions=16, n_embd=16, n_layer=2, n_head=2, use_cache=False, **dropouts)
        self.model = GPT2LMHeadModel(config)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, weight_decay=0.1)

    def forward(self, tokens: Tensor) -> Tensor:
        self.optimizer.zero_grad()
        loss: Tensor = self.model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss.detach()


class _LoRA(nn.Module):
    """A frozen linear layer and a trained update of low rank."""

    def __init__(self, layer: nn.Linear, rank: int = 2) -> None:
        super().__init__()
        self.layer = layer.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, layer.in_features) * 0.02)
        self.up = nn.Parameter(torch.zeros(layer.out_features, rank))

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.layer(x) + F.linear(F.linear(x, self.down), self.up) * 2.0
        return y


@step(_tokens)
class LlamaLoRA(nn.Module):
    """Llama with the projections of its attention adapted, the rest frozen."""

    def __init__(self) -> None:
        super().__init__()
        from transformers import LlamaConfig, LlamaForCausalLM

        config = LlamaConfig(
            vocab_size=40, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
            num_key_value_heads=1, max_position_embeddings=16, use_cache=False,
        )  # fmt: skip
        self.model = LlamaForCausalLM(config).requires_grad_(False)
        for layer in self.model.model.layers:
            layer.self_attn.q_proj = _LoRA(layer.self_attn.q_proj)
            layer.self_attn.v_proj = _LoRA(layer.self_attn.v_proj)
        trained = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        self.optimizer = torch.optim.Adam(trained, lr=1e-2)

    def forward(self, tokens: Tensor) -> Tensor:
        logits = self.model(input_ids=tokens).logits
        loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


@step(_images)
class ViT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        from transformers import ViTConfig, ViTForImageClassification

        config = ViTConfig(
            hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, image_size=8,
            patch_size=4, num_labels=4, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        )  # fmt: skip
        self.model = ViTForImageClassification(config)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9, nesterov=True)

    def forward(self, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        self.optimizer.zero_grad(set_to_none=True)
        logits = self.model(pixel_values=images).logits
        loss = F.cross_entropy(logits, labels, label_smoothing=0.1)
        loss.backward()
        self.optimizer.step()
        return loss.detach(), (logits.argmax(-1) == labels).float().mean()


@step(lambda call: (torch.randn(2, 3, 8, 8, generator=_generator(call)),))
class UNet(nn.Module):
    """Denoising: a time step and noise are drawn in each call."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.down = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.norm, self.time = nn.GroupNorm(4, 16), nn.Linear(8, 16)
        self.up, self.last = nn.ConvTranspose2d(16, 8, 2, stride=2), nn.Conv2d(16, 3, 3, padding=1)
        self.optimizer = torch.optim.AdamW(self.parameters(), lr=1e-3)
        self.register_buffer("kept", torch.linspace(0.99, 0.1, 10))

    def denoise(self, x: Tensor, t: Tensor) -> Tensor:
        angles = t[:, None] / 10.0 ** torch.arange(4)
        embedding = self.time(torch.cat([angles.sin(), angles.cos()], 1))
        high = F.silu(self.first(x))
        low = F.silu(self.norm(self.down(high)) + embedding[:, :, None, None])
        y: Tensor = self.last(torch.cat([self.up(low), high], 1))
        return y

    def forward(self, x: Tensor) -> Tensor:
        t, noise = torch.randint(0, 10, (x.shape[0],)), torch.randn_like(x)
        share = self.kept[t][:, None, None, None]
        self.optimizer.zero_grad()
        loss = F.mse_loss(self.denoise(share.sqrt() * x + (1 - share).sqrt() * noise, t), noise)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


@step(lambda call: (torch.rand(4, 12, generator=_generator(call)),))
class VAE(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Linear(12, 8), nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 12))
        self.optimizer = torch.optim.Adam(self.parameters(), lr=1e-2, amsgrad=True)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        self.optimizer.zero_grad()
        mean, log_var = self.encoder(x).chunk(2, -1)
        z = mean + torch.randn_like(mean) * (0.5 * log_var).exp()
        rebuilt = F.binary_cross_entropy_with_logits(self.decoder(z), x, reduction="sum")
        divergence = -0.5 * (1 + log_var - mean.pow(2) - log_var.exp()).sum()
        (rebuilt + divergence).backward()
        self.optimizer.step()
        return rebuilt.detach(), divergence.detach()


@step(lambda call: (torch.randn(3, 6, 5, generator=_generator(call)), torch.randint(0, 3, (3,))))
class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn, self.out = nn.LSTM(5, 8, num_layers=2, batch_first=True), nn.Linear(8, 3)
        self.optimizer = torch.optim.RMSprop(self.parameters(), lr=1e-2, momentum=0.9, centered=True)

    def forward(self, x: Tensor, labels: Tensor) -> Tensor:
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.out(self.rnn(x)[0][:, -1]), labels)
        loss.backward()
        nn.utils.clip_grad_value_(self.parameters(), 0.5)
        self.optimizer.step()
        return loss.detach()


@step(lambda call: (torch.randn(6, 4, generator=_generator(call)), torch.randint(0, 6, (2, 12)), torch.randn(6, 2)))
class Graph(nn.Module):
    """Messages along edges, added up at their ends, and normalised by degree."""

    def __init__(self) -> None:
        super().__init__()
        self.message, self.update, self.out = nn.Linear(8, 8), nn.GRUCell(8, 4), nn.Linear(4, 2)
        self.optimizer = torch.optim.Adagrad(self.parameters(), lr=0.05)

    def forward(self, x: Tensor, edges: Tensor, target: Tensor) -> Tensor:
        self.optimizer.zero_grad()
        start, end = edges
        for _ in range(2):
            messages = F.relu(self.message(torch.cat([x[start], x[end]], -1)))
            total = torch.zeros(x.shape[0], 8).index_add(0, end, messages)
            degree = torch.zeros(x.shape[0]).index_add(0, end, torch.ones(end.shape[0]))
            x = self.update(total / degree.clamp(min=1)[:, None], x)
        loss = F.mse_loss(self.out(x), target)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


@step(lambda call: (*torch.randn(2, 12, 6, generator=_generator(call)),))
class MixtureOfExperts(nn.Module):
    """The two best experts of each row, dense, with a loss that balances them."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(6, 4, bias=False)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Linear(12, 6)) for _ in range(4))
        groups = [{"params": self.gate.parameters(), "lr": 1e-2}, {"params": self.experts.parameters()}]
        self.optimizer = torch.optim.AdamW(groups, lr=3e-3)

    def forward(self, x: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        self.optimizer.zero_grad()
        shares = self.gate(x).softmax(-1)
        best, chosen = shares.topk(2, -1)
        weights = torch.zeros_like(shares).scatter(-1, chosen, best / best.sum(-1, keepdim=True))
        mixed = sum(weights[:, i, None] * expert(x) for i, expert in enumerate(self.experts))
        balance = 4 * ((weights > 0).float().mean(0) * shares.mean(0)).sum()
        loss = F.mse_loss(mixed, target)
        (loss + 0.01 * balance).backward()
        self.optimizer.step()
        return loss.detach(), balance.detach()


@step(_images)
class BatchNormed(nn.Module):
    """Batch norm in train mode, two micro-batches a step, and an average of the weights."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
            nn.Linear(8, 4),
        )  # fmt: skip
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3)
        self.averages = [parameter.detach().clone() for parameter in self.net.parameters()]

    def forward(self, images: Tensor, labels: Tensor) -> Tensor:
        self.optimizer.zero_grad()
        total = torch.zeros(())
        for part, their_labels in zip(images.chunk(2), labels.chunk(2)):
            loss = F.cross_entropy(self.net(part), their_labels) / 2
            loss.backward()
            total += loss.detach()
        self.optimizer.step()
        with torch.no_grad():
            for average, parameter in zip(self.averages, self.net.parameters()):
                average.lerp_(parameter, 0.1)
        return total


@step(lambda call: (torch.randn(6, 10, generator=_generator(call)), torch.randn(6, 7, generator=_generator(call + 7))))
class Contrastive(nn.Module):
    """Two encoders, a learned temperature, and the symmetric loss of CLIP."""

    def __init__(self) -> None:
        super().__init__()
        self.image, self.text = nn.Linear(10, 5), nn.Sequential(nn.Linear(7, 9), nn.Tanh(), nn.Linear(9, 5))
        self.scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))
        self.optimizer = torch.optim.NAdam(self.parameters(), lr=1e-3)

    def forward(self, images: Tensor, texts: Tensor) -> Tensor:
        self.optimizer.zero_grad()
        left, right = F.normalize(self.image(images), dim=-1), F.normalize(self.text(texts), dim=-1)
        logits = self.scale.exp() * left @ right.t()
        labels = torch.arange(images.shape[0])
        loss = (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2
        loss.backward()
        self.optimizer.step()
        with torch.no_grad():
            self.scale.clamp_(0, math.log(100))
        return loss.detach()
