"""Carried tensors that lie otherwise before the loop than behind each of its iterations, against eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import dynamo_lite
from dynamo_lite.errors import GraphBreak
from tests.control_flow.harness import same


def rows_of_transposed(x: Tensor) -> Tensor:
    y = x.t()
    while y.norm() > 1:
        y = torch.stack([row * 0.5 for row in y])
    return y


def one_element(x: Tensor) -> Tensor:
    y = x[:1, :1]
    while y.norm() > 1:
        y = torch.stack([row * 0.5 for row in y])
    return y


def swapped(x: Tensor) -> tuple[Tensor, Tensor]:
    y, z = x.t(), x * 2
    while (y + z).norm() > 1:
        y, z = z * 0.5, y * 0.5
    return y, z


def later_only(x: Tensor) -> tuple[Tensor, Tensor]:
    y, z = x * 1, x * 2
    while (y + z).norm() > 1:  # y is transposed from the second round on
        y, z = z * 0.5, torch.stack([row * 0.5 for row in z]).t()
    return y, z


def scanned(x: Tensor) -> tuple[Tensor, Tensor]:
    y, outs = x.t(), []
    for row in x:
        y = torch.stack([part * 0.5 for part in y]) + row
        outs.append(y)
    return y, torch.stack(outs)


@pytest.mark.parametrize("fn", [rows_of_transposed, one_element, swapped, later_only])
@pytest.mark.parametrize("grad", [False, True])
def test_they_are_carried_contiguous(fn: Callable[..., Any], grad: bool) -> None:
    with torch.set_grad_enabled(grad):
        program = dynamo_lite.export(fn, (torch.randn(4, 4) * 5,))
    assert len([node for node in program.graph.nodes if node.name == "while_loop"]) == 1
    for seed, scale in enumerate((0.01, 1, 9)):
        torch.manual_seed(seed)
        x = torch.randn(4, 4) * scale
        assert same(program.module()(x), fn(x))


def test_of_a_scan_with_its_gradient() -> None:
    rows = torch.export.Dim("rows", min=2)
    model, other = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)
    other.load_state_dict(model.state_dict())

    class Scanned(nn.Module):
        def __init__(self, layer: nn.Module) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: Tensor) -> Any:
            y = self.layer.weight.t()
            for row in x:
                y = torch.stack([part * 0.5 for part in y]) + row
            return y

    program = dynamo_lite.export(Scanned(model), (torch.randn(3, 4),), dynamic_shapes=({0: rows},))
    ours = program.module()
    x = torch.randn(5, 4)
    want, got = Scanned(other)(x), ours(x)
    assert same(want, got)
    want.sin().sum().backward()
    got.sin().sum().backward()
    assert torch.allclose(dict(ours.named_parameters())["layer.weight"].grad, other.weight.grad)


def test_asking_a_round_for_the_strides_is_refused() -> None:
    def fn(x: Tensor) -> Tensor:
        y = x.t()
        while y.norm() > 1:
            y = torch.stack([row * (0.5 if y.is_contiguous() else 0.25) for row in y])
        return y

    with pytest.raises(GraphBreak, match="strides of a tensor are asked for"):
        dynamo_lite.export(fn, (torch.randn(4, 4),))


class Decoder(nn.Module):
    """A prompt, and then one token an iteration, with keys and values in tensors of a fixed length."""

    def __init__(self, rounds: int) -> None:
        super().__init__()
        self.rounds, length = rounds, rounds + 8
        self.table, self.places = nn.Embedding(20, 8), nn.Embedding(length, 8)
        self.q, self.kv, self.head = nn.Linear(8, 8), nn.Linear(8, 16), nn.Linear(8, 20)
        self.register_buffer("k", torch.zeros(1, length, 8))
        self.register_buffer("v", torch.zeros(1, length, 8))

    def step(self, ids: Tensor, at: Tensor) -> Tensor:
        x = self.table(ids) + self.places(at)
        k, v = self.kv(x).chunk(2, -1)
        self.k.index_copy_(1, at, k)
        self.v.index_copy_(1, at, v)
        seen = torch.arange(self.k.shape[1]) <= at[:, None]
        x = x + nn.functional.scaled_dot_product_attention(self.q(x), self.k, self.v, attn_mask=seen)
        return self.head(x)[:, -1]

    def forward(self, ids: Tensor) -> tuple[Tensor, int]:
        length, n = ids.shape[1], 0
        out = torch.zeros(1, self.rounds, dtype=torch.long)
        logits = self.step(ids, torch.arange(length))
        done = torch.zeros(1, dtype=torch.bool)
        while n < self.rounds and not done.all():
            new = logits.argmax(-1)
            out[:, n] = new
            done = done | (new == 3)
            logits = self.step(new[:, None], torch.tensor([length + n]))
            n += 1
        return out, n


def test_greedy_decoding_with_a_cache_of_fixed_length_is_one_loop() -> None:
    counts = []
    for rounds in (4, 64):
        torch.manual_seed(0)
        model = Decoder(rounds).eval()
        ids = torch.randint(0, 20, (1, 4))
        with torch.no_grad():
            program = dynamo_lite.export(model, (ids,))
            counts.append(sum(len(m.graph.nodes) for m in program.graph_module.modules() if hasattr(m, "graph")))
            assert len([node for node in program.graph.nodes if node.name == "while_loop"]) == 1
            for _ in range(4):
                ids = torch.randint(0, 20, (1, 4))
                assert same(program.module()(ids), model(ids))
    assert counts[0] == counts[1]
