"""Batches whose lengths are data: packed sequences, ragged rows, graphs, worklists."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from benchmarks.control_flow_programs.table import rand
from benchmarks.whole_program_modules.table import whole

_LENGTHS = ((3, 5, 2), (1, 1, 1), (5, 4, 5), (2, 1, 4))
_BATCHES = [(rand(3, 5, 4, seed=seed), torch.tensor(lengths)) for seed, lengths in enumerate(_LENGTHS)]
_FLAT = [(rand(10, 4, seed=seed), torch.tensor(lengths)) for seed, lengths in
         enumerate(((3, 5, 2), (1, 1, 8), (4, 4, 2), (9, 0, 1)))]  # fmt: skip
_MASK = "padding and a mask of the lengths"


@whole(*_BATCHES, rewrite="a loop over time with a mask")
class PackedLSTM(nn.Module):
    """an LSTM over a packed sequence, in both directions"""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 6, num_layers=2, bidirectional=True, batch_first=True)

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        out, (h, _) = self.lstm(packed)
        return pad_packed_sequence(out, batch_first=True, total_length=x.shape[1])[0], h


@whole(*_BATCHES, rewrite=_MASK)
class MeanOfEachRow(nn.Module):
    """the mean of each row up to its length"""

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        return torch.stack([x[i, :n].mean(0) for i, n in enumerate(lengths.tolist())])


@whole(*_FLAT, rewrite=_MASK)
class SplitAndPadded(nn.Module):
    """a flat batch split by its lengths, each part normalised, and padded"""

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        parts = [part - part.sum(0) for part in x.split(lengths.tolist())]
        return pad_sequence(parts, batch_first=True)


@whole(*_FLAT, rewrite="one attention over all tokens with a block mask")
class AttentionOfSegments(nn.Module):
    """attention within the segments that cu_seqlens gives (Qwen2-VL)"""

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        ends = F.pad(lengths.cumsum(0), (1, 0))
        mask = torch.full((x.shape[0], x.shape[0]), float("-inf"))
        for i in range(1, len(ends)):
            mask[ends[i - 1] : ends[i], ends[i - 1] : ends[i]] = 0
        return F.scaled_dot_product_attention(x[None], x[None], x[None], attn_mask=mask)


@whole(*_FLAT, rewrite="one attention over all tokens with a block mask")
class SegmentsInTurn(nn.Module):
    """the same, one segment after the other"""

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        outs, start = [], 0
        for n in lengths.tolist():
            part = x[start : start + n][None]
            outs.append(F.scaled_dot_product_attention(part, part, part)[0])
            start += n
        return torch.cat(outs)


@whole(
    *((rand(9, 4, seed=seed), torch.tensor(graph)) for seed, graph in
      enumerate(([0, 0, 1, 1, 1, 2, 2, 2, 2], [0] * 9, [0, 1, 2, 3, 4, 4, 4, 4, 4], [0, 0, 0, 0, 1, 1, 1, 1, 1]))),
    rewrite="scatter operators with a fixed number of graphs",
)  # fmt: skip
class PooledGraphs(nn.Module):
    """the greatest features of each graph of a batch: `for g in range(batch.max() + 1)`"""

    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        outs = []
        for g in range(int(batch.max()) + 1):
            outs.append(x[batch == g].amax(0))
        return torch.stack(outs)


@whole(
    *(((torch.rand(6, 6, generator=torch.Generator().manual_seed(seed)) > level).long(),) for seed, level in
      enumerate((0.7, 0.9, 0.3, 0.8))),
    rewrite="as many rounds as there are nodes, with a mask",
)  # fmt: skip
class Reached(nn.Module):
    """distances from a node: a front of nodes, until it is empty"""

    def forward(self, edges: Tensor) -> tuple[Tensor, int]:
        front, steps = torch.tensor([0]), 0
        distance = torch.full((edges.shape[0],), -1)
        while front.numel() > 0:
            distance[front] = steps
            steps += 1
            front = ((edges[front].sum(0) > 0) & (distance < 0)).nonzero().squeeze(1)
        return distance, steps


@whole(
    *((rand(2, 6, 4, seed=seed), torch.tensor(rows)) for seed, rows in
      enumerate(([[1, 1, 0, 1, 0, 1], [1, 0, 0, 0, 0, 0]], [[1] * 6, [1] * 6], [[0, 1] * 3, [1, 0] * 3],
                 [[1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1]]))),
    rewrite=_MASK,
)  # fmt: skip
class SelectedTokens(nn.Module):
    """per sample the tokens that a mask keeps, through a layer, put back in place"""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, list[int]]:
        out, counts = torch.zeros_like(x), []
        for b in range(x.shape[0]):
            chosen = mask[b].nonzero().squeeze(1)
            out[b, chosen] = self.layer(x[b, chosen])
            counts.append(chosen.numel())
        return out, counts
