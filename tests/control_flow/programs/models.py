"""Models and algorithms whose Python decides by data, as such code is written."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from tests.control_flow.programs.table import MIX, NEG, POS, SIGNS, call, program

SPD = torch.tensor([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 5.0]])
TIME = {"dynamic_shapes": {"x": {0: torch.export.Dim.DYNAMIC}}}
LENGTHS = tuple(call(torch.randn(n, 2, 3, generator=torch.Generator().manual_seed(n))) for n in (5, 1, 8))


@program(*SIGNS)
class early_exit_network(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
        self.exits = nn.ModuleList([nn.Linear(2, 4) for _ in range(3)])

    def forward(self, x):
        for block, head in zip(self.blocks, self.exits):
            x = torch.relu(block(x))
            logits = head(x)
            if logits.softmax(-1).max() > 0.4:
                return logits
        return logits


@program(*SIGNS, no_grad=True)
class layer_skipping(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(4)])
        self.gates = nn.ModuleList([nn.Linear(2, 1) for _ in range(4)])

    def forward(self, x):
        used = 0
        for layer, gate in zip(self.layers, self.gates):
            if torch.sigmoid(gate(x.mean(0))) > 0.5:
                x = x + F.gelu(layer(x))
                used += 1
        return x, used


@program(call(torch.tensor(2.0)), call(torch.tensor(30.0)), call(torch.tensor(0.3)))
class newton_root(nn.Module):
    def forward(self, a):
        x = a.clone()
        for _ in range(50):
            step = (x * x - a) / (2 * x)
            x = x - step
            if step.abs() < 1e-6:
                break
        return x


@program(call(SPD), call(torch.eye(3)), call(SPD * 0.1))
class power_iteration(nn.Module):
    def forward(self, a):
        v = torch.ones(3) / 3**0.5
        value, last = v @ a @ v, torch.full((), -1.0)
        while (value - last).abs() > 1e-3:
            last = value
            v = a @ v
            v = v / v.norm()
            value = v @ a @ v
        return value, v


@program(call(SPD, torch.ones(3)), call(torch.eye(3), torch.arange(3.0)))
class jacobi_solver(nn.Module):
    def forward(self, a, b):
        d = torch.diagonal(a)
        r = a - torch.diag(d)
        x, steps = torch.zeros_like(b), 0
        while (a @ x - b).norm() > 1e-4:
            x = (b - r @ x) / d
            steps += 1
        return x, steps


@program(call(torch.tensor([0.5, 1.0, 3.0])), call(torch.tensor([10.0, 0.1, 2.0])))
class sinkhorn(nn.Module):
    def forward(self, w):
        k = torch.exp(-torch.outer(w, w))
        u = v = torch.ones(3)
        err = torch.ones(())
        while err > 1e-3:
            u = (torch.ones(3) / 3) / (k @ v)
            new = (torch.ones(3) / 3) / (k.t() @ u)
            err = (new - v).abs().max()
            v = new
        return u[:, None] * k * v


@program(*SIGNS)
class line_search(nn.Module):
    def forward(self, x):
        def f(z):
            return (z * z).sum() + z.sum()

        grad, t = 2 * x + 1, torch.ones(())
        while f(x - t * grad) > f(x) - 0.3 * t * (grad * grad).sum():
            t = t * 0.5
        return x - t * grad


@program(*SIGNS)
class ransac_like(nn.Module):
    def forward(self, points):
        best, model = points.new_full((), -1.0), points.new_zeros(2)
        for i in range(points.shape[0]):
            candidate = points[i]
            inliers = ((points - candidate).norm(dim=1) < 2.0).sum().float()
            if inliers > best:
                best, model = inliers, candidate
        return model, best


@program(*SIGNS)
class loss_that_checks_its_input(nn.Module):
    def forward(self, x):
        loss = (x * x).mean()
        if torch.isnan(loss) or torch.isinf(loss):
            loss = torch.zeros(())
        if loss > 2.0:
            loss = loss.log() + 1
        return loss


@program(*SIGNS)
class gradient_clipping(nn.Module):
    def forward(self, g):
        norm = g.norm()
        if norm > 1.0:
            g = g * (1.0 / norm)
        return g, norm


@program(call(MIX, torch.tensor(0)), call(POS, torch.tensor(1)), call(NEG, torch.tensor(2)))
class expert_by_number(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)])

    def forward(self, x, which):
        if which == 0:
            return self.experts[0](x)
        elif which == 1:
            return self.experts[1](x)
        return self.experts[2](x)


@program(*SIGNS)
class experts_that_are_used(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = nn.Linear(2, 2)
        self.experts = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])

    def forward(self, x):
        weights = self.router(x).softmax(-1)
        chosen, out = weights.argmax(-1), torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            mask = (chosen == number).unsqueeze(-1)
            if mask.any():
                out = out + torch.where(mask, expert(x) * weights[:, number : number + 1], torch.zeros(()))
        return out


@program(*SIGNS)
class running_maximum(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("largest", torch.zeros(()))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.calls += 1
        top = x.abs().max()
        if top > self.largest:
            self.largest.copy_(top)
        return x / self.largest.clamp(min=1e-3)


@program(*LENGTHS, kw=TIME)
class minimal_gated_unit(nn.Module):
    def __init__(self):
        super().__init__()
        self.f, self.h = nn.Linear(7, 4), nn.Linear(7, 4)

    def forward(self, x):
        h, outs = torch.zeros(x.shape[1], 4), []
        for xt in x.unbind(0):
            f = torch.sigmoid(self.f(torch.cat([xt, h], -1)))
            h = (1 - f) * h + f * torch.tanh(self.h(torch.cat([xt, f * h], -1)))
            outs.append(h)
        return torch.stack(outs)


@program(*LENGTHS, kw=TIME)
class lstm_cell_layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells = nn.ModuleList([nn.LSTMCell(3, 4), nn.LSTMCell(4, 4)])

    def forward(self, x):
        state = [(torch.zeros(x.shape[1], 4), torch.zeros(x.shape[1], 4)) for _ in self.cells]
        outs = []
        for t in range(x.size(0)):
            y = x[t]
            for i, cell in enumerate(self.cells):
                state[i] = cell(y, state[i])
                y = state[i][0]
            outs.append(y)
        return torch.stack(outs)


@program(*LENGTHS, kw=TIME)
class linear_recurrence(nn.Module):
    def __init__(self):
        super().__init__()
        self.decay = nn.Parameter(torch.tensor([0.9, 0.5, 0.1]))

    def forward(self, x):
        h = torch.zeros_like(x[0])
        ys = []
        for t in range(x.shape[0]):
            h = h * self.decay + x[t]
            ys.append(h)
        return torch.stack(ys, dim=0)


@program(LENGTHS[0], LENGTHS[2], kw=TIME)
class exponential_average(nn.Module):
    def forward(self, x):
        mean, outs = x[0], [x[0]]
        for row in x[1:]:
            mean = 0.9 * mean + 0.1 * row
            outs.append(mean)
        return torch.stack(outs)


@program(*LENGTHS, kw=TIME, no_grad=True)
class viterbi_scores(nn.Module):
    def __init__(self):
        super().__init__()
        self.transitions = nn.Parameter(torch.randn(3, 3))

    def forward(self, x):
        score = x[0]
        for t in range(1, x.shape[0]):
            best = score.unsqueeze(2) + self.transitions
            score = best.max(1).values + x[t]
        return score


@program(*LENGTHS, kw=TIME, no_grad=True)
class viterbi_with_back_pointers(nn.Module):
    """torch's scan has no gradient beside a stacked output of integers."""

    def __init__(self):
        super().__init__()
        self.transitions = nn.Parameter(torch.randn(3, 3))

    def forward(self, x):
        score, back = x[0], []
        for row in x:
            score, index = (score.unsqueeze(2) + self.transitions).max(1)
            score = score + row
            back.append(index)
        return score, torch.stack(back)


@program(*LENGTHS, kw=TIME, no_grad=True)
class attention_over_steps(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.cell = nn.Linear(4, 3), nn.GRUCell(3, 4)

    def forward(self, x):
        h = torch.zeros(x.shape[1], 4)
        outs = []
        for _ in range(x.shape[0]):
            weights = (x * self.query(h)).sum(-1).softmax(0)
            h = self.cell((x * weights.unsqueeze(-1)).sum(0), h)
            outs.append(h)
        return torch.stack(outs), h
