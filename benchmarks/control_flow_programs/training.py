"""Losses that check their input, clipping, thresholds, anomaly checks, and flags kept in buffers."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.control_flow_programs.table import ids, module, rand

NAN = float("nan")
_ROWS = [(rand(3, 4, seed=i, scale=s),) for i, s in enumerate((1.0, 0.1, 6.0, 0.0))]


@module(*[(rand(3, 5, seed=i), torch.tensor(t)) for i, t in enumerate(([0, 1, 2], [4, 4, 4], [0, 5, 1], [-1, 0, 0]))],
        grad=True)  # fmt: skip
class CheckedLoss(nn.Module):
    """a loss that raises on labels out of range"""

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        if labels.min() < 0 or labels.max() >= logits.shape[1]:
            raise ValueError("label out of range")
        return F.cross_entropy(logits, labels)


@module(*[(rand(3, 5, seed=i), torch.tensor(t)) for i, t in
          enumerate(([0, 1, -100], [4, 4, 4], [-100, -100, -100], [-100, 0, 0]))], grad=True)  # fmt: skip
class MaskedLoss(nn.Module):
    """a loss that is zero where all labels are ignored"""

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        valid = labels != -100
        if valid.sum() == 0:
            return logits.sum() * 0.0
        return F.cross_entropy(logits[valid], labels[valid])


@module(*[(rand(4, 6, seed=i), torch.tensor(t)) for i, t in
          enumerate(([0, 1, 0, 1], [0, 0, 0, 0], [0, 1, 2, 3], [1, 1, 2, 2]))], grad=True)  # fmt: skip
class TripletLoss(nn.Module):
    """batch-hard triplets: anchors without a positive are left out"""

    def forward(self, x: Tensor, label: Tensor) -> Tensor:
        distance = (x[:, None] - x[None]).pow(2).sum(-1)
        total, count = torch.zeros(()), 0
        for i in range(x.shape[0]):
            same = label == label[i]
            if same.sum() > 1 and (~same).any():
                hard = distance[i].masked_fill(~same, 0.0).max()
                near = distance[i].masked_fill(same, 1e9).min()
                total = total + F.relu(hard - near + 0.5)
                count += 1
        return total / max(count, 1)


@module(*_ROWS)
class ClipByNorm(nn.Module):
    """gradient clipping by the norm"""

    def forward(self, g: Tensor) -> Tensor:
        norm = g.norm()
        if norm > 1.0:
            g = g * (1.0 / (norm + 1e-6))
        return g


@module(*_ROWS)
class ClipInPlace(nn.Module):
    """clipping in place of several gradients, with the total norm"""

    def forward(self, g: Tensor) -> tuple[list[Tensor], float]:
        grads = [g * 2, g + 1, g.sin()]
        total = torch.norm(torch.stack([p.norm() for p in grads]))
        coef = 1.0 / (total.item() + 1e-6)
        if coef < 1:
            for p in grads:
                p.mul_(coef)
        return grads, total.item()


@module(*[(torch.tensor(v),) for v in ([1.0, 2.0], [NAN, 1.0], [float("inf"), 0.0], [0.0, 0.0])])
class AnomalyCheck(nn.Module):
    """values that are not finite are repaired and counted in a buffer"""

    bad: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("bad", torch.zeros((), dtype=torch.long))

    def forward(self, x: Tensor) -> Tensor:
        if torch.isnan(x).any() or torch.isinf(x).any():
            x = torch.nan_to_num(x, 0.0, 1.0, -1.0)
            self.bad += 1
        return x


@module(*[(torch.tensor(v),) for v in ([1.0, 2.0], [NAN, 1.0], [-4.0, 9.0], [float("inf"), 0.0])])
class FiniteOrRaise(nn.Module):
    """assert that the activations are finite"""

    def forward(self, x: Tensor) -> Tensor:
        y = x * 2
        assert torch.isfinite(y).all(), "not finite"
        return y.sqrt().nan_to_num(0.0)


@module(*_ROWS, grad=True)
class LearnedThreshold(nn.Module):
    """a parameter as the threshold of a branch"""

    def __init__(self) -> None:
        super().__init__()
        self.threshold = nn.Parameter(torch.tensor(0.3))
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        if x.abs().mean() > self.threshold:
            return self.a(x)
        return self.b(x) * self.threshold


@module(*_ROWS)
class QuantileClamp(nn.Module):
    """dynamic thresholding of Imagen: clamp by a quantile"""

    def forward(self, x: Tensor) -> Tensor:
        s = torch.quantile(x.abs().flatten(), 0.9)
        if s > 1:
            x = x.clamp(-s, s) / s
        else:
            x = x.clamp(-1, 1)
        return x


@module(*_ROWS)
class Curriculum(nn.Module):
    """a stage in a buffer that moves on with the loss"""

    stage: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("stage", torch.tensor(0))
        self.easy, self.hard = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        y = self.easy(x) if self.stage == 0 else self.hard(x)
        if y.pow(2).mean() < 0.5:
            self.stage.fill_(1)
        return y


@module(*_ROWS)
class CacheWarmUp(nn.Module):
    """statistics that are made at the first call"""

    ready: Tensor
    mean: Tensor
    count: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("ready", torch.tensor(False))
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("count", torch.tensor(0))

    def forward(self, x: Tensor) -> Tensor:
        if not self.ready:
            self.mean.copy_(x.mean(0))
            self.ready.fill_(True)
        else:
            self.mean.lerp_(x.mean(0), 0.1)
        self.count += 1
        return x - self.mean


@module(*[(rand(2, 4, seed=i), torch.tensor(i)) for i in range(4)])
class KVCache(nn.Module):
    """a cache that is emptied at position 0 and then filled"""

    keys: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.ones(6, 4))

    def forward(self, k: Tensor, position: Tensor) -> Tensor:
        if position == 0:
            self.keys.zero_()
        p = position.item()
        self.keys[p : p + 2] = k
        return self.keys.sum(0)


@module(*_ROWS)
class ObserverRange(nn.Module):
    """fake quantisation: the range is widened where the data leave it"""

    low: Tensor
    high: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("low", torch.tensor(-0.5))
        self.register_buffer("high", torch.tensor(0.5))

    def forward(self, x: Tensor) -> Tensor:
        if x.min() < self.low:
            self.low.copy_(x.min())
        if x.max() > self.high:
            self.high.copy_(x.max())
        scale = (self.high - self.low) / 255
        return (x / scale).round().clamp(-128, 127) * scale


@module(*_ROWS)
class SpectralNormUntil(nn.Module):
    """power iteration on a weight until it settles, u kept in a buffer"""

    u: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.arange(16.0).view(4, 4).cos())
        self.register_buffer("u", torch.full((4,), 0.5))

    def forward(self, x: Tensor) -> Tensor:
        sigma = torch.zeros(())
        for _ in range(30):
            v = F.normalize(self.weight.T @ self.u, dim=0)
            self.u.copy_(F.normalize(self.weight @ v, dim=0))
            new = self.u @ self.weight @ v
            if (new - sigma).abs() < 1e-4:
                break
            sigma = new
        return x @ self.weight.T / new


@module(*[(ids(6, below=5, seed=i), rand(6, seed=i)) for i in range(4)])
class PerClassMean(nn.Module):
    """metrics per class, absent classes left out by continue"""

    def forward(self, label: Tensor, value: Tensor) -> Tensor:
        total, classes = torch.zeros(()), 0
        for c in range(5):
            mask = label == c
            if not mask.any():
                continue
            total = total + value[mask].mean()
            classes += 1
        return total / classes
