"""Decoders: greedy, by beams, by samples, speculative, transducers."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from benchmarks.control_flow_programs.table import ids, rand
from benchmarks.whole_program_modules.table import whole

_WORDS, _WIDTH, _LIMIT = 11, 8, 64
_PROMPTS = [(ids(2, 3, below=_WORDS, seed=seed),) for seed in range(4)]
_HOST_LOOP = "the loop on the host: one exported step, called for each token"


class _Transformer(nn.Module):
    """One layer of attention with a static cache."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(_WORDS, _WIDTH), nn.Linear(_WIDTH, _WORDS)
        self.q, self.k, self.v = (nn.Linear(_WIDTH, _WIDTH) for _ in range(3))
        self.end = 4

    def step(self, token: Tensor, keys: Tensor, values: Tensor, position: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        h = self.embed(token)
        keys = keys.index_copy(1, position, self.k(h)[:, None])
        values = values.index_copy(1, position, self.v(h)[:, None])
        seen = torch.arange(keys.shape[1]) <= position
        scores = (keys @ self.q(h)[:, :, None]).squeeze(-1).masked_fill(~seen, float("-inf"))
        h = h + (scores.softmax(-1)[:, None] @ values).squeeze(1)
        return self.head(h), keys, values


@whole(*_PROMPTS, rewrite=_HOST_LOOP)
class GreedyStaticCache(_Transformer):
    """greedy decoding of at most 64 tokens: `while n < limit and not done.all()`"""

    def forward(self, prompt: Tensor) -> tuple[Tensor, int]:
        batch = prompt.shape[0]
        keys = torch.zeros(batch, _LIMIT + 4, _WIDTH)
        values = torch.zeros(batch, _LIMIT + 4, _WIDTH)
        for i in range(prompt.shape[1]):
            logits, keys, values = self.step(prompt[:, i], keys, values, torch.tensor([i]))
        out = torch.full((batch, _LIMIT), self.end)
        done = torch.zeros(batch, dtype=torch.bool)
        n = 0
        while n < _LIMIT and not done.all():
            token = logits.argmax(-1).masked_fill(done, self.end)
            out[:, n] = token
            done = done | (token == self.end)
            logits, keys, values = self.step(token, keys, values, torch.tensor([n + prompt.shape[1]]))
            n += 1
        return out, n


@whole(*_PROMPTS, rewrite=_HOST_LOOP)
class GreedyInPlaceCache(_Transformer):
    """the same with a cache in buffers that each step writes to"""

    keys: Tensor
    values: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.zeros(2, _LIMIT + 4, _WIDTH))
        self.register_buffer("values", torch.zeros(2, _LIMIT + 4, _WIDTH))

    def forward(self, prompt: Tensor) -> Tensor:
        self.keys.zero_()
        self.values.zero_()
        tokens = [prompt[:, i] for i in range(prompt.shape[1])]
        position, done = 0, torch.zeros(prompt.shape[0], dtype=torch.bool)
        token = tokens[0]
        while position < _LIMIT:
            h = self.embed(token)
            self.keys[:, position] = self.k(h)
            self.values[:, position] = self.v(h)
            seen = torch.arange(_LIMIT + 4) <= position
            scores = (self.keys @ self.q(h)[:, :, None]).squeeze(-1).masked_fill(~seen, float("-inf"))
            h = h + (scores.softmax(-1)[:, None] @ self.values).squeeze(1)
            position += 1
            if position < len(tokens):
                token = prompt[:, position]
            else:
                token = self.head(h).argmax(-1)
                tokens.append(token)
                done = done | (token == self.end)
                if done.all():
                    break
        return torch.stack(tokens, 1)


@whole(*_PROMPTS, rewrite=_HOST_LOOP)
class GreedyGrowing(nn.Module):
    """greedy decoding without a cache: the ids grow until all rows have ended"""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(_WORDS, _WIDTH), nn.Linear(_WIDTH, _WORDS)
        self.attention = nn.MultiheadAttention(_WIDTH, 2, batch_first=True)

    def forward(self, input_ids: Tensor) -> Tensor:
        unfinished = torch.ones(input_ids.shape[0], dtype=torch.long)
        while input_ids.shape[1] < 24:
            h = self.embed(input_ids)
            h = h + self.attention(h, h, h, need_weights=False)[0]
            token = self.head(h[:, -1]).argmax(-1)
            token = token * unfinished + 4 * (1 - unfinished)
            input_ids = torch.cat([input_ids, token[:, None]], dim=-1)
            unfinished = unfinished.mul((token != 4).long())
            if unfinished.max() == 0:
                break
        return input_ids


@whole(*((rand(1, _WIDTH, seed=seed, scale=scale),) for seed, scale in enumerate((1.0, 4.0, 0.2, 8.0))),
       rewrite=_HOST_LOOP + "; finished beams in padded tensors")  # fmt: skip
class BeamsWithHypotheses(nn.Module):
    """beam search with a list of finished hypotheses, the best of which is returned"""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.cell, self.head = (
            nn.Embedding(_WORDS, _WIDTH),
            nn.GRUCell(_WIDTH, _WIDTH),
            nn.Linear(_WIDTH, _WORDS),
        )
        self.beams, self.limit, self.end = 3, 6, 2

    def forward(self, h: Tensor) -> tuple[Tensor, Tensor]:
        h = h.expand(self.beams, -1)
        scores = torch.tensor([0.0, -1e9, -1e9])
        sequences = torch.ones(self.beams, self.limit + 1, dtype=torch.long)
        best, best_score = sequences[0], torch.tensor(-1e9)
        finished = 0
        for step in range(self.limit):
            h = self.cell(self.embed(sequences[:, step]), h)
            ahead = scores[:, None] + self.head(h).log_softmax(-1)
            top, flat = ahead.view(-1).topk(2 * self.beams)
            beams, tokens = flat // _WORDS, flat % _WORDS
            ended = tokens == self.end
            for j in range(2 * self.beams):
                if ended[j] and j < self.beams:
                    finished += 1
                    if top[j] / (step + 1) > best_score:
                        best_score = top[j] / (step + 1)
                        best = sequences[beams[j]].clone()
            left = torch.where(~ended)[0][: self.beams]
            scores, beams, tokens = top[left], beams[left], tokens[left]
            sequences = sequences[beams]
            sequences[:, step + 1] = tokens
            h = h[beams]
            if finished >= self.beams:
                break
        return best, best_score


@whole(*_PROMPTS, rewrite=_HOST_LOOP)
class NucleusSampling(nn.Module):
    """sampling from the tokens whose probability sums up to p, until the end token"""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(_WORDS, _WIDTH), nn.Linear(_WIDTH, _WORDS)

    def forward(self, prompt: Tensor) -> Tensor:
        token, out = prompt[:1, -1], torch.zeros(12, dtype=torch.long)
        for i in range(12):
            logits = self.head(self.embed(token))
            values, order = logits.sort(descending=True)
            keep = values.softmax(-1).cumsum(-1) - values.softmax(-1) < 0.4
            probabilities = torch.where(keep, values, float("-inf")).softmax(-1)
            token = order.gather(1, probabilities.argmax(-1, keepdim=True))[:, 0]
            out[i] = token[0]
            if token.item() == 4:
                break
        return out


@whole(*_PROMPTS, rewrite=_HOST_LOOP)
class Speculative(nn.Module):
    """a draft model proposes four tokens, the model accepts as many as agree, until 24 tokens are there"""

    def __init__(self) -> None:
        super().__init__()
        self.draft = nn.Sequential(nn.Embedding(_WORDS, _WIDTH), nn.Linear(_WIDTH, _WORDS))
        self.model = nn.Sequential(
            nn.Embedding(_WORDS, _WIDTH), nn.Linear(_WIDTH, _WIDTH), nn.Tanh(), nn.Linear(_WIDTH, _WORDS)
        )

    def forward(self, prompt: Tensor) -> tuple[Tensor, int, int]:
        out = torch.zeros(32, dtype=torch.long)
        out[:3] = prompt[0]
        n, calls = 3, 0
        while n < 24:
            token, guesses = out[n - 1], []
            for _ in range(4):
                token = self.draft(token).argmax(-1)
                guesses.append(token)
            proposed = torch.stack(guesses)
            wanted = self.model(torch.cat([out[n - 1].view(1), proposed])).argmax(-1)
            agree = int((proposed == wanted[:4]).long().cumprod(0).sum())
            for j in range(agree):
                out[n + j] = proposed[j]
            out[n + agree] = wanted[agree]
            n += agree + 1
            calls += 1
        return out, n, calls


@whole(
    *((rand(7, _WIDTH, seed=seed, scale=scale),) for seed, scale in enumerate((1.0, 4.0, 0.2, 8.0))), rewrite=_HOST_LOOP
)
class Transducer(nn.Module):
    """RNN-T: up to three symbols for each frame, until the blank"""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.cell = nn.Embedding(_WORDS, _WIDTH), nn.GRUCell(_WIDTH, _WIDTH)
        self.joint = nn.Linear(2 * _WIDTH, _WORDS)

    def forward(self, frames: Tensor) -> Tensor:
        h, token, hypothesis = torch.zeros(1, _WIDTH), torch.zeros(1, dtype=torch.long), []
        g = self.cell(self.embed(token), h)
        for t in range(frames.shape[0]):
            symbols, not_blank = 0, True
            while not_blank and symbols < 3:
                k = self.joint(torch.cat([frames[t : t + 1], g], 1)).argmax(-1)
                if k.item() == 0:
                    not_blank = False
                else:
                    hypothesis.append(k.item())
                    g = self.cell(self.embed(k), g)
                symbols += 1
        return torch.tensor(hypothesis, dtype=torch.long)


@whole(
    *((rand(9, 5, seed=seed, scale=2.0),) for seed in range(4)),
    rewrite="a mask of what is kept, and the caller's selection",
)
class CollapsedCTC(nn.Module):
    """CTC: repeated tokens and blanks left out, the rest in a list of the data's length"""

    def forward(self, logits: Tensor) -> Tensor:
        out, last = [], -1
        for token in logits.argmax(-1).tolist():
            if token != last and token != 0:
                out.append(token)
            last = token
        return torch.tensor(out, dtype=torch.long)
