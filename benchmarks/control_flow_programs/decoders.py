"""Decoders, and text, audio and detection models with paths that depend on lengths and values."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.control_flow_programs.table import ids, module, rand

_HIDDEN = [(rand(1, 8, seed=i, scale=s),) for i, s in enumerate((1.0, 3.0, 0.2, 6.0))]


class _Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.cell = nn.GRUCell(8, 8)
        self.head = nn.Linear(8, 11)
        self.eos, self.max_len = 2, 12


@module(*_HIDDEN)
class GreedyDecoder(_Decoder):
    """greedy decoding into a buffer of fixed length until the end token"""

    def forward(self, h: Tensor) -> tuple[Tensor, int]:
        tokens = torch.zeros(self.max_len, dtype=torch.long)
        token = torch.ones(1, dtype=torch.long)
        n = 0
        while n < self.max_len:
            h = self.cell(self.embed(token), h)
            token = self.head(h).argmax(-1)
            tokens[n] = token[0]
            n += 1
            if token.item() == self.eos:
                break
        return tokens, n


@module(*_HIDDEN)
class GreedyDecoderList(_Decoder):
    """greedy decoding into a list that grows"""

    def forward(self, h: Tensor) -> Tensor:
        tokens = [torch.ones(1, dtype=torch.long)]
        for _ in range(self.max_len):
            h = self.cell(self.embed(tokens[-1]), h)
            token = self.head(h).argmax(-1)
            tokens.append(token)
            if token.item() == self.eos:
                break
        return torch.cat(tokens)


@module(*[(rand(3, 8, seed=i, scale=s),) for i, s in enumerate((1.0, 3.0, 0.2, 6.0))])
class BatchedGreedy(_Decoder):
    """batched greedy decoding: stop when all rows have ended"""

    def forward(self, h: Tensor) -> Tensor:
        token = torch.ones(h.shape[0], dtype=torch.long)
        done = torch.zeros(h.shape[0], dtype=torch.bool)
        out = torch.full((h.shape[0], self.max_len), self.eos)
        for i in range(self.max_len):
            h = self.cell(self.embed(token), h)
            token = self.head(h).argmax(-1).masked_fill(done, self.eos)
            out[:, i] = token
            done = done | (token == self.eos)
            if done.all():
                break
        return out


@module(*_HIDDEN)
class BeamSearch(_Decoder):
    """beam search of fixed width, stopped when all beams have ended"""

    def forward(self, h: Tensor) -> tuple[Tensor, Tensor]:
        width = 3
        h = h.expand(width, -1)
        scores = torch.tensor([0.0, -1e9, -1e9])
        sequences = torch.ones(width, self.max_len + 1, dtype=torch.long)
        done = torch.zeros(width, dtype=torch.bool)
        step = 0
        while step < self.max_len and not done.all():
            h = self.cell(self.embed(sequences[:, step]), h)
            log_p = self.head(h).log_softmax(-1).masked_fill(done[:, None], -1e9)
            log_p[:, self.eos] = log_p[:, self.eos].masked_fill(done, 0.0)
            scores, flat = (scores[:, None] + log_p).view(-1).topk(width)
            beam, token = flat // 11, flat % 11
            sequences = sequences[beam]
            sequences[:, step + 1] = token
            h, done = h[beam], done[beam] | (token == self.eos)
            step += 1
        return sequences, scores


@module(*[(rand(1, 8, seed=i, scale=s), torch.tensor(draft)) for i, (s, draft) in
          enumerate(((1.0, [8, 8, 8, 0]), (3.0, [5, 5, 5, 5]), (0.2, [8, 8, 8, 8]), (6.0, [0, 1, 2, 3])))])  # fmt: skip
class SpeculativeDecoding(_Decoder):
    """speculative decoding: accept the draft as far as it agrees"""

    def forward(self, h: Tensor, draft: Tensor) -> tuple[Tensor, int]:
        accepted = 0
        token = torch.ones(1, dtype=torch.long)
        for guess in draft:
            h = self.cell(self.embed(token), h)
            token = self.head(h).argmax(-1)
            if token[0] != guess:
                break
            accepted += 1
        return token, accepted


@module(*[(rand(6, 4, seed=i, scale=2.0),) for i in range(4)])
class CTCGreedy(nn.Module):
    """CTC decoding: repeated tokens and blanks left out"""

    def forward(self, logits: Tensor) -> tuple[Tensor, int]:
        best = logits.argmax(-1)
        out = torch.zeros_like(best)
        n = 0
        last: float = -1
        for token in best:
            t = token.item()
            if t != last and t != 0:
                out[n] = token
                n += 1
            last = t
        return out, n


@module(*[(rand(1, t, seed=t),) for t in (5, 40, 16, 100)], shapes=({1: torch.export.Dim("samples", min=2, max=400)},))
class AudioPad(nn.Module):
    """audio front end: short signals are padded, long ones cut"""

    def forward(self, wave: Tensor) -> Tensor:
        if wave.shape[1] < 16:
            wave = F.pad(wave, (0, 16 - wave.shape[1]))
        elif wave.shape[1] > 64:
            wave = wave[:, :64]
        return wave.abs().mean() + wave.std()


@module(*[(rand(1, 40, scale=s, shift=c),) for s, c in ((1.0, 0.0), (0.001, 0.0), (5.0, 0.0), (0.0, 0.0))])
class AudioNormalise(nn.Module):
    """voice activity, gain, and clipping by the level of the signal"""

    def forward(self, wave: Tensor) -> Tensor:
        level = wave.pow(2).mean().sqrt()
        if level < 1e-6:
            return torch.zeros_like(wave)
        if level < 0.01:
            wave = wave * (0.1 / level)
        peak = wave.abs().max()
        if peak > 1.0:
            wave = wave / peak
        return wave


@module(*[(torch.tensor([m]),) for m in ([1, 1, 1, 0], [1, 1, 1, 1], [1, 0, 0, 0], [0, 0, 0, 0])])
class MaskShortcut(nn.Module):
    """transformers: no mask where nothing is padded"""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(4, 8)

    def forward(self, mask: Tensor) -> Tensor:
        x = self.embed(torch.arange(4)).unsqueeze(0)
        bias = None
        if not mask.all():
            bias = (1.0 - mask[:, None, None, :].float()) * -10000.0
        q = x.view(1, 4, 2, 4).transpose(1, 2)
        return F.scaled_dot_product_attention(q, q, q, attn_mask=bias)


@module(*[(rand(5, 2, seed=i).abs(), rand(5, seed=i + 9)) for i in range(4)])
class NMS(nn.Module):
    """greedy NMS: a loop over boxes, suppressed ones skipped"""

    def forward(self, corner: Tensor, score: Tensor) -> Tensor:
        order = score.argsort(descending=True)
        keep = torch.ones(5, dtype=torch.bool)
        for i in range(5):
            a = order[i]
            if not keep[a]:
                continue
            for j in range(i + 1, 5):
                b = order[j]
                if (corner[a] - corner[b]).abs().max() < 0.5:
                    keep[b] = False
        return keep


@module(*[(rand(5, 4, seed=i), rand(5, seed=i + 9)) for i in range(4)])
class NMSWhile(nn.Module):
    """NMS that shrinks the list of candidates"""

    def forward(self, boxes: Tensor, score: Tensor) -> Tensor:
        order = score.argsort(descending=True)
        keep = []
        while order.numel() > 0:
            first = order[0]
            keep.append(first)
            far = (boxes[order] - boxes[first]).abs().max(-1).values > 1.0
            order = order[far]
        return torch.stack(keep)


@module(*[(ids(1, 6, seed=i), torch.tensor(i % 3 == 0)) for i in range(4)])
class RetrievalGate(nn.Module):
    """a lookup only where the query has a rare token"""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.memory = nn.Parameter(torch.linspace(-1, 1, 40).view(5, 8))

    def forward(self, tokens: Tensor, allowed: Tensor) -> Tensor:
        x = self.embed(tokens)
        if allowed and (tokens > 7).any():
            x = x + (x @ self.memory.T).softmax(-1) @ self.memory
        return x.mean(1)
