"""Iterative solvers that stop when the residual is small."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from benchmarks.control_flow_programs.table import module, rand, spd

_SYSTEMS = [(spd(4, i), rand(4, seed=i + 9, scale=s)) for i, s in enumerate((1.0, 0.01, 30.0, 0.0))]
_MATRICES = [(spd(4, i),) for i in range(4)]


@module(*[(torch.tensor(v),) for v in (2.0, 100.0, 0.25, 1.0)])
class NewtonRoot(nn.Module):
    """Newton's square root"""

    def forward(self, a: Tensor) -> Tensor:
        x = a
        while (x * x - a).abs() > 1e-5 * a:
            x = 0.5 * (x + a / x)
        return x


@module(*[(torch.tensor(v), torch.tensor(w)) for v, w in ((3.0, 1.0), (0.1, 1.0), (10.0, -2.0), (0.0, 0.0))])
class NewtonAutogradFree(nn.Module):
    """Newton with a bound of steps, `for ... else`, and the number of steps"""

    def forward(self, x: Tensor, target: Tensor) -> tuple[Tensor, int, bool]:
        converged = False
        steps = 0
        for _ in range(20):
            f = x + x**3 - target
            if f.abs() < 1e-5:
                converged = True
                break
            x = x - f / (1 + 3 * x**2)
            steps += 1
        return x, steps, converged


@module(*_SYSTEMS)
class ConjugateGradient(nn.Module):
    """conjugate gradient"""

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        x = torch.zeros_like(b)
        r = b - a @ x
        p = r
        rs = r @ r
        k = 0
        while rs.sqrt() > 1e-5 and k < 20:
            ap = a @ p
            alpha = rs / (p @ ap)
            x = x + alpha * p
            r = r - alpha * ap
            new = r @ r
            p = r + (new / rs) * p
            rs = new
            k += 1
        return x


@module(*_SYSTEMS)
class Jacobi(nn.Module):
    """Jacobi with in-place updates"""

    def __init__(self) -> None:
        super().__init__()
        self.max_iter = 50

    def forward(self, a: Tensor, b: Tensor) -> tuple[Tensor, int]:
        d = a.diagonal()
        r = a - torch.diag(d)
        x = torch.zeros_like(b)
        for i in range(self.max_iter):
            new = (b - r @ x) / d
            if torch.allclose(new, x, atol=1e-5):
                return new, i
            x = new
        return x, self.max_iter


@module(*_SYSTEMS)
class GradientDescent(nn.Module):
    """steepest descent, x changed in place"""

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        x = torch.zeros_like(b)
        g = a @ x - b
        while g.norm() > 1e-3:
            step = (g @ g) / (g @ a @ g)
            x -= step * g
            g = a @ x - b
        return x


@module(*[(rand(4, 5, seed=i, scale=s),) for i, s in enumerate((1.0, 0.1, 3.0, 0.0))])
class Sinkhorn(nn.Module):
    """Sinkhorn in the log domain until the marginals fit"""

    def forward(self, cost: Tensor) -> Tensor:
        log_p = -cost
        for _ in range(100):
            log_p = log_p - log_p.logsumexp(1, keepdim=True)
            log_p = log_p - log_p.logsumexp(0, keepdim=True)
            if (log_p.exp().sum(1) - log_p.exp().sum(1).mean()).abs().max() < 1e-3:
                break
        return log_p.exp()


@module(*[(rand(3, 6, seed=i, scale=s),) for i, s in enumerate((1.0, 0.1, 3.0, 0.0))])
class DeepEquilibrium(nn.Module):
    """DEQ: fixed point of a layer"""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Linear(6, 6)
        self.u = nn.Linear(6, 6)
        with torch.no_grad():
            self.w.weight.mul_(0.3)

    def forward(self, x: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        z = torch.zeros_like(x)
        u = self.u(x)
        residual = torch.tensor(float("inf"))
        n = 0
        while residual > 1e-4 and n < 50:
            new = torch.tanh(self.w(z) + u)
            residual = (new - z).norm() / (new.norm() + 1e-8)
            z = new
            n += 1
        return z, {"residual": residual}


@module(*[(rand(3, 6, seed=i, scale=s),) for i, s in enumerate((1.0, 0.1, 3.0, 0.0))], grad=True)
class DeepEquilibriumTrained(nn.Module):
    """the DEQ with gradients through the loop"""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        z = torch.zeros_like(x)
        while True:
            new = torch.tanh(0.3 * self.w(z) + x)
            if (new - z).abs().max() < 1e-4:
                return new
            z = new


@module(*_MATRICES)
class PowerIteration(nn.Module):
    """power iteration"""

    def forward(self, a: Tensor) -> tuple[Tensor, Tensor]:
        v = torch.ones(a.shape[0]) / a.shape[0] ** 0.5
        value = torch.zeros(())
        while True:
            w = a @ v
            new = v @ w
            v = w / w.norm()
            if torch.abs(new - value) < 1e-6:
                break
            value = new
        return new, v


@module(*_MATRICES)
class QRIterations(nn.Module):
    """eigenvalues by QR iterations"""

    def forward(self, a: Tensor) -> Tensor:
        for _ in range(200):
            q, r = torch.linalg.qr(a)
            a = r @ q
            off = a.tril(-1).abs().sum()
            if off < 1e-2:
                break
        return a.diagonal()


@module(*[(rand(4, 3, seed=i, scale=s),) for i, s in enumerate((1.0, 0.1, 3.0, 10.0))])
class NewtonSchulz(nn.Module):
    """polar factor by Newton-Schulz, error checked on the host"""

    def forward(self, g: Tensor) -> Tensor:
        x = g / g.norm()
        eye = torch.eye(g.shape[1])
        error = float("inf")
        count = 0
        while error > 1e-2 and count < 30:
            x = 1.5 * x - 0.5 * x @ x.T @ x
            error = (x.T @ x - eye).norm().item()
            count += 1
        return x


@module(*[(torch.tensor(lo), torch.tensor(hi)) for lo, hi in ((0.0, 3.0), (-4.0, 9.0), (1.0, 2.0), (2.0, 2.0))])
class Bisection(nn.Module):
    """bisection: branch in a loop"""

    def forward(self, lo: Tensor, hi: Tensor) -> Tensor:
        while hi - lo > 1e-4:
            mid = (lo + hi) / 2
            if mid**3 - mid - 2 > 0:
                hi = mid
            else:
                lo = mid
        return (lo + hi) / 2


@module(*[(rand(6, seed=i, scale=s),) for i, s in enumerate((1.0, 5.0, 30.0, 0.0))])
class BacktrackingLineSearch(nn.Module):
    """Armijo line search"""

    def objective(self, x: Tensor) -> Tensor:
        return (x**4).sum() + (x**2).sum()

    def forward(self, x: Tensor) -> tuple[Tensor, float]:
        g = 4 * x**3 + 2 * x
        f = self.objective(x)
        t = 1.0
        while self.objective(x - t * g) > f - 0.5 * t * (g @ g):
            t *= 0.5
        return x - t * g, t


@module(*[(rand(12, 2, seed=i), ) for i in range(4)])
class Ransac(nn.Module):
    """RANSAC over fixed hypotheses: keep the best, stop when it is good enough"""

    pairs: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("pairs", torch.tensor([[0, 1], [2, 5], [3, 7], [4, 9], [6, 11], [8, 10]]))

    def forward(self, points: Tensor) -> tuple[Tensor, Tensor]:
        best = torch.zeros(2)
        best_count = torch.tensor(0)
        for pair in self.pairs:
            (x0, y0), (x1, y1) = points[pair]
            if (x1 - x0).abs() < 1e-6:
                continue
            slope = (y1 - y0) / (x1 - x0)
            model = torch.stack([slope, y0 - slope * x0])
            count = ((points[:, 1] - points[:, 0] * model[0] - model[1]).abs() < 0.4).sum()
            if count > best_count:
                best, best_count = model, count
            if best_count > 6:
                break
        return best, best_count


@module(*[(rand(10, 2, seed=i, scale=2.0), ) for i in range(4)])
class KMeans(nn.Module):
    """Lloyd's k-means until the labels stay"""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        centres = x[:3]
        labels = torch.full((x.shape[0],), -1)
        while True:
            new = torch.cdist(x, centres).argmin(1)
            if (new == labels).all():
                break
            labels = new
            one = torch.nn.functional.one_hot(labels, 3).to(x.dtype)
            centres = (one.T @ x) / one.sum(0).clamp_min(1).unsqueeze(1)
        return centres, labels
