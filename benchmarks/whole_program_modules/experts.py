"""Mixtures of experts in their loop forms, and modules that a number of the data chooses."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.control_flow_programs.table import rand
from benchmarks.whole_program_modules.table import whole

_TOKENS = [(rand(16, 8, seed=seed, scale=scale),) for seed, scale in enumerate((1.0, 3.0, 0.1, 1.0))]
_ALL_EXPERTS = "each expert computes all tokens, or a grouped matmul; weights that are zero for the others"


class _Routed(nn.Module):
    def __init__(self, experts: int = 64, top: int = 2) -> None:
        super().__init__()
        self.count, self.top = experts, top
        self.gate = nn.Linear(8, experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(8, 12), nn.SiLU(), nn.Linear(12, 8)) for _ in range(experts)
        )

    def routes(self, x: Tensor) -> tuple[Tensor, Tensor]:
        weights, chosen = self.gate(x).softmax(-1).topk(self.top, -1)
        return weights / weights.sum(-1, keepdim=True), chosen


@whole(*_TOKENS, rewrite=_ALL_EXPERTS)
class ExpertsThatAreHit(_Routed):
    """64 experts, those that a token has chosen: `for e in hit.tolist()` (Mixtral)"""

    def forward(self, x: Tensor) -> Tensor:
        weights, chosen = self.routes(x)
        out = torch.zeros_like(x)
        mask = F.one_hot(chosen, self.count).permute(2, 1, 0)
        hit = mask.sum((-1, -2)).nonzero().squeeze(-1)
        for e in hit.tolist():
            position, token = torch.where(mask[e])
            out.index_add_(0, token, self.experts[e](x[token]) * weights[token, position, None])
        return out


@whole(*_TOKENS, grad=True, rewrite=_ALL_EXPERTS)
class ExpertsThatAreTrained(_Routed):
    """the same with gradients: 8 experts, those without tokens have none"""

    def __init__(self) -> None:
        super().__init__(8)

    def forward(self, x: Tensor) -> Tensor:
        weights, chosen = self.routes(x)
        out = torch.zeros_like(x)
        mask = F.one_hot(chosen, self.count).permute(2, 1, 0)
        hit = mask.sum((-1, -2)).nonzero().squeeze(-1)
        for e in hit.tolist():
            position, token = torch.where(mask[e])
            out.index_add_(0, token, self.experts[e](x[token]) * weights[token, position, None])
        return out


@whole(*_TOKENS, rewrite=_ALL_EXPERTS)
class FusedExperts(nn.Module):
    """64 experts in one parameter each for two projections, indexed by the experts that are hit (Qwen3-MoE, OLMoE)"""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(8, 64)
        self.up = nn.Parameter(torch.randn(64, 16, 8) * 0.3)
        self.down = nn.Parameter(torch.randn(64, 8, 8) * 0.3)

    def forward(self, x: Tensor) -> Tensor:
        weights, chosen = self.gate(x).softmax(-1).topk(2, -1)
        out = torch.zeros_like(x)
        with torch.no_grad():
            mask = F.one_hot(chosen, num_classes=65).permute(2, 1, 0)
            hit = torch.greater(mask.sum(dim=(-1, -2)), 0).nonzero()
        for e in hit:
            e = e[0]
            if e == 64:
                continue
            position, token = torch.where(mask[e])
            gate, up = F.linear(x[token], self.up[e]).chunk(2, dim=-1)
            new = F.linear(F.silu(gate) * up, self.down[e]) * weights[token, position, None]
            out.index_add_(0, token, new.to(out.dtype))
        return out


@whole(*_TOKENS, rewrite=_ALL_EXPERTS)
class GroupedTokens(_Routed):
    """tokens sorted by expert, groups by `bincount().cumsum().tolist()`, empty ones left out (DeepSeek)"""

    def __init__(self) -> None:
        super().__init__(16)

    def forward(self, x: Tensor) -> Tensor:
        weights, chosen = self.routes(x)
        order = chosen.view(-1).argsort()
        ends = chosen.view(-1).bincount(minlength=self.count).cumsum(0)
        tokens = order // self.top
        out = torch.zeros_like(x)
        for e, end in enumerate(ends.tolist()):
            start = 0 if e == 0 else ends[e - 1]
            if start == end:
                continue
            mine = tokens[start:end]
            new = self.experts[e](x[mine]) * weights.view(-1)[order[start:end], None]
            out.scatter_add_(0, mine[:, None].expand(-1, 8), new)
        return out


@whole(*_TOKENS, rewrite=_ALL_EXPERTS)
class SplitTokens(_Routed):
    """sorted tokens split by the counts of the experts, each computed, and put together"""

    def __init__(self) -> None:
        super().__init__(16)

    def forward(self, x: Tensor) -> Tensor:
        weights, chosen = self.routes(x)
        order = chosen.view(-1).argsort()
        counts = chosen.view(-1).bincount(minlength=self.count).tolist()
        pieces = x[order // self.top].split(counts)
        new = torch.cat([expert(piece) for expert, piece in zip(self.experts, pieces)])
        back = torch.zeros_like(new).index_copy_(0, order, new)
        return (back.view(x.shape[0], self.top, -1) * weights[..., None]).sum(1)


@whole(*_TOKENS, rewrite=_ALL_EXPERTS)
class GroupsOfOutputs(_Routed):
    """groups of tokens by running ends, empty experts skipped, outputs in a list (DeepSeek-V2's moe_infer)"""

    def __init__(self) -> None:
        super().__init__(16)

    def forward(self, x: Tensor) -> Tensor:
        weights, chosen = self.routes(x)
        counts = chosen.new_zeros((chosen.shape[0], self.count))
        counts.scatter_(1, chosen, 1)
        order = chosen.view(-1).argsort()
        sorted_tokens = x[order // chosen.shape[1]]
        outputs, start = [], 0
        for i, count in enumerate(counts.sum(dim=0).tolist()):
            end = start + count
            if count == 0:
                continue
            outputs.append(self.experts[i](sorted_tokens[start:end]))
            start = end
        outs = torch.cat(outputs, dim=0) if len(outputs) else sorted_tokens.new_empty(0)
        new = torch.empty_like(outs)
        new[order] = outs
        return (new.view(*chosen.shape, -1) * weights.unsqueeze(-1)).sum(dim=1)


@whole(*[(x[0][:4],) for x in _TOKENS], rewrite=_ALL_EXPERTS)
class ExpertOfEachToken(_Routed):
    """64 experts, chosen token by token: `self.experts[chosen[t, k]](x[t])`"""

    def forward(self, x: Tensor) -> Tensor:
        weights, chosen = self.routes(x)
        rows = []
        for t in range(x.shape[0]):
            row = torch.zeros_like(x[t])
            for k in range(self.top):
                row = row + weights[t, k] * self.experts[int(chosen[t, k])](x[t])
            rows.append(row)
        return torch.stack(rows)


@whole(*_TOKENS, rewrite=_ALL_EXPERTS)
class MaskPerExpert(_Routed):
    """all 64 experts in turn, those without tokens left out: `if mask.any()`"""

    def forward(self, x: Tensor) -> Tensor:
        weights, chosen = self.routes(x)
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            mine = chosen == e
            if mine.any():
                token, position = mine.nonzero(as_tuple=True)
                out[token] += expert(x[token]) * weights[token, position].unsqueeze(-1)
        return out


@whole(
    *((rand(3, 8, seed=seed), torch.tensor(task)) for seed, task in enumerate((0, 2, 1, 3))),
    rewrite="all adapters on all inputs, and a sum weighted by a one-hot vector",
)
class AdaptersByKey(nn.Module):
    """an adapter from a dict of modules, whose key is made of a number of the data"""

    def __init__(self) -> None:
        super().__init__()
        self.adapters = nn.ModuleDict({name: nn.Linear(8, 4) for name in ("text", "image", "audio", "video")})
        self.names = ["text", "image", "audio", "video"]

    def forward(self, x: Tensor, task: Tensor) -> Tensor:
        return self.adapters[self.names[int(task)]](x)


@whole(
    *((rand(3, 8, seed=seed), torch.tensor(depth)) for seed, depth in enumerate((3, 0, 6, 1))),
    rewrite="all layers, and torch.where behind each",
)
class FirstLayers(nn.Module):
    """as many of the layers as the data say: `for layer in self.layers[:n]`"""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(6))

    def forward(self, x: Tensor, depth: Tensor) -> Tensor:
        n = int(depth)
        for i, layer in enumerate(self.layers):
            if i >= n:
                break
            x = layer(x).relu()
        return x
