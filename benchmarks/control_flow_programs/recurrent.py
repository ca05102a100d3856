"""Recurrent cells and recursions whose Python loop runs over a dynamic length."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from benchmarks.control_flow_programs.table import ids, module, rand

Dim = torch.export.Dim
_TIME = ({1: Dim("time", min=2, max=64)},)
_SEQUENCES = [(rand(2, t, 4, seed=t),) for t in (5, 2, 9, 17)]
_SCORES = [(rand(t, 4, seed=t),) for t in (5, 2, 9, 17)]
_LENGTH = ({0: Dim("time", min=2, max=64)},)


@module(*_SEQUENCES, shapes=_TIME, grad=True)
class LSTMByHand(nn.Module):
    """LSTM written with chunk"""

    def __init__(self) -> None:
        super().__init__()
        self.x2h, self.h2h = nn.Linear(4, 24), nn.Linear(6, 24)

    def forward(self, x: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        h = c = x.new_zeros(x.size(0), 6)
        outs = []
        for t in range(x.size(1)):
            i, f, g, o = (self.x2h(x[:, t]) + self.h2h(h)).chunk(4, 1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            outs.append(h)
        return torch.stack(outs, 1), (h, c)


@module(*_SEQUENCES, shapes=_TIME, grad=True)
class LSTMCellLoop(nn.Module):
    """nn.LSTMCell over unbind"""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(4, 6)

    def forward(self, x: Tensor) -> Tensor:
        state = (torch.zeros(x.shape[0], 6), torch.zeros(x.shape[0], 6))
        for step in x.unbind(1):
            state = self.cell(step, state)
        return state[0]


@module(*_SEQUENCES, shapes=_TIME, grad=True)
class GRUCellLoop(nn.Module):
    """nn.GRUCell with outputs in a list"""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(4, 6)
        self.head = nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.zeros(x.shape[0], 6)
        outs = []
        for t in range(x.shape[1]):
            h = self.cell(x[:, t, :], h)
            outs.append(self.head(h).unsqueeze(1))
        return torch.cat(outs, dim=1)


@module(*_SEQUENCES, shapes=_TIME, grad=True)
class StackedRNN(nn.Module):
    """two layers of custom cells, one loop each"""

    def __init__(self) -> None:
        super().__init__()
        self.cells = nn.ModuleList([nn.RNNCell(4, 6), nn.RNNCell(6, 6)])

    def forward(self, x: Tensor) -> Tensor:
        for cell in self.cells:
            h = torch.zeros(x.shape[0], 6)
            outs = []
            for t in range(x.shape[1]):
                h = cell(x[:, t], h)
                outs.append(h)
            x = torch.stack(outs, dim=1)
        return x


@module(*_SEQUENCES, shapes=_TIME, grad=True)
class Bidirectional(nn.Module):
    """forward and backward in time"""

    def __init__(self) -> None:
        super().__init__()
        self.fwd, self.bwd = nn.GRUCell(4, 5), nn.GRUCell(4, 5)

    def forward(self, x: Tensor) -> Tensor:
        h = g = torch.zeros(x.shape[0], 5)
        left, right = [], []
        for t in range(x.shape[1]):
            h = self.fwd(x[:, t], h)
            left.append(h)
        for t in reversed(range(x.shape[1])):
            g = self.bwd(x[:, t], g)
            right.append(g)
        return torch.cat([torch.stack(left, 1), torch.stack(right[::-1], 1)], -1)


@module(*_SEQUENCES, shapes=_TIME)
class BidirectionalInference(Bidirectional):
    """the same under torch.no_grad()"""


@module(*_SEQUENCES, shapes=_TIME, grad=True)
class MinGRU(nn.Module):
    """minGRU in sequential form"""

    def __init__(self) -> None:
        super().__init__()
        self.z, self.h = nn.Linear(4, 6), nn.Linear(4, 6)

    def forward(self, x: Tensor) -> Tensor:
        z, candidate = torch.sigmoid(self.z(x)), self.h(x)
        h = torch.zeros(x.shape[0], 6)
        outs = []
        for t in range(x.shape[1]):
            h = (1 - z[:, t]) * h + z[:, t] * candidate[:, t]
            outs.append(h)
        return torch.stack(outs, dim=1)


@module(*_SEQUENCES, shapes=_TIME, grad=True)
class LinearAttention(nn.Module):
    """causal linear attention, the state as an outer product"""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(4, 12)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(x).chunk(3, -1)
        q, k = q.relu() + 1e-3, k.relu() + 1e-3
        state = x.new_zeros(x.shape[0], 4, 4)
        norm = x.new_zeros(x.shape[0], 4)
        out = []
        for t in range(x.shape[1]):
            state = state + k[:, t, :, None] * v[:, t, None, :]
            norm = norm + k[:, t]
            y = torch.einsum("bd,bde->be", q[:, t], state)
            out.append(y / (q[:, t] * norm).sum(-1, keepdim=True))
        return torch.stack(out, 1)


@module(*_SEQUENCES, shapes=_TIME, grad=True)
class MambaScan(nn.Module):
    """selective scan of the reference implementation of Mamba"""

    def __init__(self) -> None:
        super().__init__()
        self.log_a = nn.Parameter(torch.arange(1, 4).float().log().repeat(4, 1))
        self.dt, self.bc = nn.Linear(4, 4), nn.Linear(4, 6)
        self.d = nn.Parameter(torch.ones(4))

    def forward(self, u: Tensor) -> Tensor:
        delta = nn.functional.softplus(self.dt(u))
        b, c = self.bc(u).split([3, 3], -1)
        delta_a = torch.exp(torch.einsum("bld,dn->bldn", delta, -self.log_a.exp()))
        delta_bu = torch.einsum("bld,bln,bld->bldn", delta, b, u)
        x = torch.zeros(u.shape[0], 4, 3)
        ys = []
        for i in range(u.shape[1]):
            x = delta_a[:, i] * x + delta_bu[:, i]
            ys.append(torch.einsum("bdn,bn->bd", x, c[:, i]))
        return torch.stack(ys, dim=1) + u * self.d


@module(*_SCORES, shapes=_LENGTH, grad=True)
class CRFPartition(nn.Module):
    """forward algorithm of a CRF"""

    def __init__(self) -> None:
        super().__init__()
        self.start = nn.Parameter(torch.zeros(4))
        self.transitions = nn.Parameter(torch.arange(16.0).view(4, 4) / 10)

    def forward(self, emissions: Tensor) -> Tensor:
        score = self.start + emissions[0]
        for t in range(1, emissions.shape[0]):
            score = torch.logsumexp(score.unsqueeze(1) + self.transitions, 0) + emissions[t]
        return score.logsumexp(0)


@module(*_SCORES, shapes=_LENGTH)
class CRFPartitionInference(CRFPartition):
    """the same under torch.no_grad()"""


@module(*_SCORES, shapes=_LENGTH)
class HMMForward(nn.Module):
    """forward algorithm of an HMM, one row of the input at a time"""

    transition: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("transition", torch.softmax(torch.arange(16.0).view(4, 4) / 5, -1))

    def forward(self, likelihood: Tensor) -> Tensor:
        alpha = torch.full((4,), 0.25)
        log = torch.zeros(())
        for row in likelihood.softmax(-1):
            alpha = (alpha @ self.transition) * row
            total = alpha.sum()
            log = log + total.log()
            alpha = alpha / total
        return log


@module(*[(rand(t, 4, seed=t),) for t in (5, 3, 9, 17)], shapes=({0: Dim("time", min=3, max=64)},))
class Viterbi(nn.Module):
    """Viterbi with back pointers in a list and the path walked back"""

    transitions: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("transitions", torch.arange(16.0).view(4, 4).sin())

    def forward(self, emissions: Tensor) -> Tensor:
        score = emissions[0]
        history = []
        for t in range(1, emissions.shape[0]):
            score, best = (score.unsqueeze(1) + self.transitions).max(0)
            score = score + emissions[t]
            history.append(best)
        tag = score.argmax()
        path = [tag]
        for pointers in history[::-1]:
            tag = pointers[tag]
            path.append(tag)
        return torch.stack(path[::-1])


@module(*[(rand(t, 6, seed=t), ids(3, below=5, seed=t) + 1) for t in (8, 4, 11, 20)],
        shapes=({0: Dim("time", min=4, max=64)}, None), grad=True)  # fmt: skip
class CTCAlpha(nn.Module):
    """alpha recursion of the CTC loss"""

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        log_p = logits.log_softmax(-1)
        labels = torch.zeros(2 * target.shape[0] + 1, dtype=torch.long)
        labels[1::2] = target
        skip = torch.zeros(labels.shape[0], dtype=torch.bool)
        skip[2:] = (labels[2:] != 0) & (labels[2:] != labels[:-2])
        alpha = torch.full((labels.shape[0],), -1e9)
        alpha[:2] = log_p[0, labels[:2]]
        for t in range(1, log_p.shape[0]):
            one = torch.cat([torch.full((1,), -1e9), alpha[:-1]])
            two = torch.cat([torch.full((2,), -1e9), alpha[:-2]]).masked_fill(~skip, -1e9)
            alpha = torch.stack([alpha, one, two]).logsumexp(0) + log_p[t, labels]
        return -alpha[-2:].logsumexp(0)


@module(*[(rand(2, 9, 4, seed=n), torch.tensor(n)) for n in (5, 1, 9, 3)])
class RunToLength(nn.Module):
    """a cell that runs as many steps as a tensor says"""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.RNNCell(4, 6)

    def forward(self, x: Tensor, n: Tensor) -> Tensor:
        h = torch.zeros(2, 6)
        for t in range(n.item()):  # type: ignore
            h = self.cell(x[:, t], h)
        return h


@module(*[(rand(2, 9, 4, seed=n), torch.tensor(lengths)) for n, lengths in enumerate(([9, 4], [1, 2], [3, 9], [5, 5]))])
class PaddedBatch(nn.Module):
    """steps up to the longest sequence, finished rows held by a mask"""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(4, 6)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        h = torch.zeros(x.shape[0], 6)
        t = 0
        while t < lengths.max().item():
            new = self.cell(x[:, t], h)
            h = torch.where((t < lengths).unsqueeze(1), new, h)
            t += 1
        return h


@module(*_SEQUENCES, shapes=_TIME)
class ExponentialSmoothing(nn.Module):
    """running mean with a reset at jumps: a branch in a loop over time"""

    def forward(self, x: Tensor) -> Tensor:
        level = x[:, 0]
        for t in range(1, x.shape[1]):
            if (x[:, t] - level).abs().max() > 2:
                level = x[:, t]
            else:
                level = 0.9 * level + 0.1 * x[:, t]
        return level
