"""Steps whose loss is computed under torch.autocast: the casts are operators of the program, as autograd sees them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import dynamo_lite

from .harness import Step, compare, mlp, rows


class Tied(nn.Module):
    """A weight that is cast once in eager: its gradients are added in the lower dtype."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.layer(self.layer(x).tanh())
        return y


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(3, 12), nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(x)[:, None].chunk(3, -1)
        y: Tensor = self.out(F.scaled_dot_product_attention(q, k, v)[:, 0])
        return y


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.norm = nn.Conv1d(1, 4, 3, padding=1), nn.BatchNorm1d(4)
        self.out = nn.Linear(12, 2)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.out(F.relu(self.norm(self.convolution(x[:, None]))).flatten(1))
        return y


MODELS: dict[str, Callable[[], nn.Module]] = {
    "mlp": mlp,
    "normalised": lambda: nn.Sequential(nn.Linear(3, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 2), nn.Softmax(-1)),
    "rounded": lambda: nn.Sequential(nn.Linear(3, 8), nn.SiLU(), nn.Dropout(0.3), nn.Linear(8, 2)),
    "tied": Tied,
    "attention": Attention,
    "convolutions": Convolutions,
}


class Cast(Step):
    """`inside`: backward() is called within the region."""

    def __init__(self, net: nn.Module, *, cache: bool = True, inside: bool = False) -> None:
        super().__init__(net, lambda parameters: torch.optim.AdamW(parameters, lr=0.01))
        self.cache, self.inside = cache, inside

    def forward(self, x: Tensor) -> Any:
        self.optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, cache_enabled=self.cache):
            loss = self.loss(x)
            if self.inside:
                loss.backward()
        if not self.inside:
            loss.backward()
        self.optimizer.step()
        return loss.detach()


@pytest.mark.parametrize("cache", [True, False])
@pytest.mark.parametrize("name", MODELS)
def test_twenty_steps_equal_eager(name: str, cache: bool) -> None:
    program = compare(lambda: Cast(MODELS[name](), cache=cache))
    used = {str(node.target) for node in program.graph.nodes}
    assert any(("to" in name and "copy" in name) or name.endswith("to.dtype") for name in used)


@pytest.mark.parametrize("name", ["mlp", "tied"])
def test_backward_within_the_region(name: str) -> None:
    compare(lambda: Cast(MODELS[name](), inside=True))


def test_a_gradient_penalty_under_autocast() -> None:
    class Penalty(Cast):
        def loss(self, x: Tensor) -> Tensor:
            x = x.detach().requires_grad_()
            y = self.net(x).float()
            (gradient,) = torch.autograd.grad(y.sum(), x, create_graph=True)
            return y.pow(2).mean() + gradient.pow(2).sum()

    compare(lambda: Penalty(mlp()))


def test_a_region_within_a_region() -> None:
    class Nested(Cast):
        def loss(self, x: Tensor) -> Tensor:
            y = self.net(x)
            with torch.autocast("cpu", enabled=False):
                y = self.net(y.float()[:, :3])
            return y.pow(2).mean()

    compare(lambda: Nested(mlp()))


def test_without_a_backward_the_regions_are_kept() -> None:
    class Plain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = mlp()

        def forward(self, x: Tensor) -> Tensor:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                y: Tensor = self.net(x)
            return y

    program = dynamo_lite.export(Plain(), rows(0))
    assert any(node.target is torch.ops.higher_order.wrap_with_autocast for node in program.graph.nodes)
