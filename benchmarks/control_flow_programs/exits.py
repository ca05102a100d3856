"""Networks that compute as much as the input asks for: early exits, adaptive computation, pruning, routing."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.control_flow_programs.table import module, rand

_ROWS = [(rand(3, 8, seed=i, scale=s),) for i, s in enumerate((1.0, 0.1, 4.0, 20.0, -3.0))]


@module(*_ROWS)
class BranchyNet(nn.Module):
    """early exits by the entropy of each head (BranchyNet)"""

    def __init__(self) -> None:
        super().__init__()
        self.stages = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))
        self.heads = nn.ModuleList(nn.Linear(8, 4) for _ in range(3))
        self.limit = 1.2

    def forward(self, x: Tensor) -> Tensor:
        for stage, head in zip(self.stages, self.heads):
            x = torch.relu(stage(x)) + x
            logits = head(x)
            p = logits.softmax(-1)
            entropy = -(p * p.clamp_min(1e-9).log()).sum(-1).mean()
            if entropy < self.limit:
                return logits
        return logits


@module(*_ROWS)
class ExitAtLayer(nn.Module):
    """early exit that also says at which layer it left"""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))
        self.head = nn.Linear(8, 3)

    def forward(self, x: Tensor) -> tuple[Tensor, int]:
        for i, layer in enumerate(self.layers):
            x = torch.tanh(layer(x))
            confidence = self.head(x).softmax(-1).max(-1).values.min()
            if confidence.item() > 0.4:
                return self.head(x), i
        return self.head(x), len(self.layers)


@module(*_ROWS)
class PatienceExit(nn.Module):
    """PABEE: leave when consecutive heads agree"""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))
        self.heads = nn.ModuleList(nn.Linear(8, 3) for _ in range(4))
        self.patience = 2

    def forward(self, x: Tensor) -> Tensor:
        counter = 0
        last = None
        for layer, head in zip(self.layers, self.heads):
            x = torch.relu(layer(x))
            logits = head(x)
            labels = logits.argmax(-1)
            if last is not None and torch.equal(labels, last):
                counter += 1
            else:
                counter = 0
            last = labels
            if counter == self.patience:
                break
        return logits


@module(*_ROWS)
class AdaptiveComputationTime(nn.Module):
    """ACT (Graves): ponder until each row has halted"""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(8, 8)
        self.halt = nn.Linear(8, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = torch.zeros_like(x)
        out = torch.zeros_like(x)
        total = torch.zeros(x.shape[0])
        steps = 0
        while bool((total < 0.99).any()) and steps < 10:
            h = self.cell(x, h)
            p = torch.sigmoid(self.halt(h)).squeeze(-1)
            p = torch.minimum(p, 1 - total)
            out = out + p.unsqueeze(-1) * h
            total = total + p
            steps += 1
        return out, total


@module(*_ROWS)
class PonderNet(nn.Module):
    """PonderNet at inference: stop when the probability that remains is small"""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(8, 8)
        self.lam = nn.Linear(8, 1)
        self.max_steps = 12

    def forward(self, x: Tensor) -> Tensor:
        h = x.new_zeros(x.shape)
        remain = torch.ones(x.shape[0])
        y = torch.zeros_like(h)
        for _ in range(self.max_steps):
            h = self.cell(x, h)
            lam = torch.sigmoid(self.lam(h))[:, 0]
            y = y + (remain * lam)[:, None] * h
            remain = remain * (1 - lam)
            if remain.max() < 0.05:
                break
        return y


@module(*[(rand(2, 6, 8, seed=i, scale=s),) for i, s in enumerate((1.0, 3.0, 0.3, 8.0))])
class TokenPruning(nn.Module):
    """keep the tokens of high score, all if too few pass"""

    def __init__(self) -> None:
        super().__init__()
        self.score = nn.Linear(8, 1)
        self.mix = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        score = self.score(x).squeeze(-1).mean(0)
        keep = score > 0.1
        if keep.sum() < 2:
            return self.mix(x).mean(1)
        x = x[:, keep]
        return self.mix(x).mean(1)


@module(*[(rand(1, 6, 8, seed=i, scale=s),) for i, s in enumerate((1.0, 3.0, 0.3, 8.0))])
class TokenMerging(nn.Module):
    """drop tokens layer by layer as long as the scores say so"""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = x + torch.tanh(layer(x))
            norms = x.norm(dim=-1)[0]
            if norms.min() < 0.5 * norms.mean():
                x = x[:, norms >= 0.5 * norms.mean()]
        return x.mean(1)


@module(*[(rand(5, 8, seed=i, scale=s),) for i, s in enumerate((1.0, 3.0, 0.3, 8.0))])
class HostRoutedMoE(nn.Module):
    """mixture of experts that skips the experts without tokens"""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(8, 4)
        self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        choice = self.gate(x).argmax(-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            mask = choice == i
            if mask.any():
                out[mask] = expert(x[mask])
        return out


@module(*[(rand(5, 8, seed=i, scale=s),) for i, s in enumerate((1.0, 3.0, 0.3, 8.0))])
class MixtralRouting(nn.Module):
    """top-2 routing with index_add_ per expert"""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(8, 4)
        self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        weights, chosen = self.gate(x).softmax(-1).topk(2, dim=-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            rows, slot = torch.where(chosen == i)
            if rows.numel() == 0:
                continue
            out.index_add_(0, rows, expert(x[rows]) * weights[rows, slot, None])
        return out


@module(*_ROWS)
class SwitchOneExpert(nn.Module):
    """one expert for the whole batch, chosen on the host"""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(8, 2)
        self.small = nn.Linear(8, 8)
        self.large = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 8))

    def forward(self, x: Tensor) -> Tensor:
        g = self.gate(x.mean(0))
        expert = self.small if g[0] > g[1] else self.large
        return expert(x)


@module(*_ROWS)
class ExpertByIndex(nn.Module):
    """the expert by a number of the data: self.experts[i]"""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(8, 3)
        self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        i = int(self.gate(x.mean(0)).argmax())
        return self.experts[i](x)


@module(*_ROWS)
class SkipNet(nn.Module):
    """residual blocks that a gate skips"""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(8, 8), nn.ReLU()) for _ in range(4))
        self.gates = nn.ModuleList(nn.Linear(8, 1) for _ in range(4))

    def forward(self, x: Tensor) -> tuple[Tensor, int]:
        used = 0
        for block, gate in zip(self.blocks, self.gates):
            if torch.sigmoid(gate(x)).mean() > 0.5:
                x = x + block(x)
                used += 1
        return x, used


@module(*_ROWS)
class Cascade(nn.Module):
    """a small model first, the large one where it is unsure"""

    def __init__(self) -> None:
        super().__init__()
        self.small = nn.Linear(8, 3)
        self.large = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3))

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        p = self.small(x).softmax(-1)
        unsure = p.max(-1).values < 0.45
        if unsure.any():
            p = torch.where(unsure[:, None], F.softmax(self.large(x), -1), p)
        return {"p": p, "unsure": unsure}
