"""Tensors that each iteration of a loop makes longer, and what a side that leaves a loop need not give."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from tests.control_flow.programs.table import call, program


def _seeded(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _ids(seed, batch=1, length=4):
    return torch.randint(0, 11, (batch, length), generator=torch.Generator().manual_seed(seed))


_X = (call(_seeded(0, 4, 3)), call(_seeded(1, 4, 3)), call(_seeded(2, 4, 3) * 0.1), call(-_seeded(3, 4, 3).abs()))
_IDS = tuple(call(_ids(seed)) for seed in range(5))
_BATCHES = tuple(call(_ids(seed, batch)) for seed, batch in ((0, 2), (1, 5), (2, 3)))
_BATCH = {"dynamic_shapes": ({0: torch.export.Dim("batch", min=2, max=20)},)}
_ROWS = tuple(call(_seeded(n, n, 3)) for n in (7, 4, 2))
_LENGTH = {"dynamic_shapes": ({0: torch.export.Dim("n", min=2, max=30)},)}


class _Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.Embedding(11, 8), nn.Linear(8, 11)
        self.q, self.k, self.v = (nn.Linear(8, 8) for _ in range(3))
        self.position = nn.Embedding(16, 8)

    def attend(self, q, k, v, is_causal=False):
        return F.scaled_dot_product_attention(q[:, None], k[:, None], v[:, None], is_causal=is_causal)[:, 0]

    def forward(self, ids):
        x = self.embed(ids)
        return self.out(self.attend(self.q(x), self.k(x), self.v(x), is_causal=True))

    def at_positions(self, ids):
        assert ids.shape[1] <= 16, f"a sequence of {ids.shape[1]}"
        x = self.embed(ids) + self.position(torch.arange(ids.shape[1]))
        return self.out(self.attend(self.q(x), self.k(x), self.v(x), is_causal=True)[:, [-1]])

    def step(self, token, cache):
        x = self.embed(token)
        k, v = self.k(x), self.v(x)
        if cache is not None:
            k, v = torch.cat([cache[0], k], 1), torch.cat([cache[1], v], 1)
        return self.out(self.attend(self.q(x), k, v)), (k, v)


@program(*_IDS, no_grad=True)
class generate(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = _Attention()

    def forward(self, ids):
        for _ in range(20):
            new = self.model(ids)[:, -1].argmax(-1, keepdim=True)
            ids = torch.cat((ids, new), dim=1)
            if new.item() == 3:
                break
        return ids


@program(*_BATCHES, no_grad=True, kw=_BATCH)
class generate_for_a_dynamic_batch(generate):
    def forward(self, ids):
        done = torch.zeros(ids.shape[0], dtype=torch.bool)
        for _ in range(20):
            new = self.model(ids)[:, -1].argmax(-1, keepdim=True)
            ids = torch.cat((ids, new), dim=1)
            done = done | (new[:, 0] == 3)
            if done.all():
                break
        return ids, done


@program(*_IDS)
class generate_with_gradients_on(generate):
    """What the loop gives are integers: no gradient is lost."""


@program(*_IDS, no_grad=True)
class generate_within_a_window(generate):
    def forward(self, ids):
        for _ in range(30):
            seen = ids if ids.size(1) <= 16 else ids[:, -16:]
            logits = self.model.at_positions(seen)[:, -1, :] / 0.8
            best, _ = torch.topk(logits, min(5, logits.size(-1)))
            logits[logits < best[:, [-1]]] = -float("Inf")
            new = logits.softmax(-1).argmax(-1, keepdim=True)
            ids = torch.cat((ids, new), dim=1)
            if (new == 3).any():
                break
        return ids


@program(*_IDS, no_grad=True)
class generate_with_a_cache(generate):
    """The cache is returned: it has one row less where the loop was left within the iteration."""

    def forward(self, ids):
        logits, cache = self.model.step(ids, None)
        out = []
        for _ in range(20):
            new = logits[:, -1:].argmax(-1)
            out.append(new)
            if (new == 3).all():
                break
            logits, cache = self.model.step(new, cache)
        return torch.cat(out, 1), cache


class _Cache:
    def __init__(self):
        self.keys, self.values = [], []

    def update(self, k, v, layer):
        if len(self.keys) <= layer:
            self.keys.append(k)
            self.values.append(v)
        else:
            self.keys[layer] = torch.cat([self.keys[layer], k], 1)
            self.values[layer] = torch.cat([self.values[layer], v], 1)
        return self.keys[layer], self.values[layer]


@program(*_IDS, no_grad=True)
class generate_with_a_cache_object(nn.Module):
    """Neither the cache nor the logits are used behind the loop; the first iteration changes their shapes."""

    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.Embedding(11, 8), nn.Linear(8, 11)
        self.layers = nn.ModuleList(nn.Linear(8, 16) for _ in range(2))

    def step(self, token, cache):
        x = self.embed(token)
        for index, layer in enumerate(self.layers):
            k, v = cache.update(*layer(x).chunk(2, -1), index)
            x = x + F.scaled_dot_product_attention(x[:, None], k[:, None], v[:, None])[:, 0]
        return self.out(x)

    def forward(self, ids):
        cache = _Cache()
        logits = self.step(ids, cache)
        for _ in range(16):
            new = logits[:, -1:].argmax(-1)
            ids = torch.cat([ids, new], 1)
            if (new == 3).all():
                break
            logits = self.step(new, cache)
        return ids


@program(*_X)
class grows_by_two(nn.Module):
    def forward(self, x):
        rows = x[:1]
        for _ in range(15):
            x = x * 0.7
            rows = torch.cat([rows, x[:1], x[1:2]])
            if x.norm() < 0.5:
                break
        return rows, rows.mean(0)


@program(*_X)
class grows_at_the_front(nn.Module):
    def forward(self, x):
        rows = x[:1]
        for _ in range(15):
            x = x * 0.7
            rows = torch.cat([x[:1], rows])
            if x.norm() < 0.5:
                break
        return rows.flatten(), x


@program(*_X)
class two_grow_from_one(nn.Module):
    def forward(self, x):
        a = b = x
        for i in range(12):  # noqa: B007
            a = torch.cat([a, a[-1:] * 0.9])
            b = torch.cat([b[:1], b[:1] * 2, b[1:]])
            if a[-1].norm() < 1:
                break
        return a, b, i


@program(*_X)
class grows_and_is_changed_in_place(nn.Module):
    def forward(self, x):
        a = x.clone()
        for _ in range(12):
            a[0] += 1
            a = torch.cat([a, a[-1:] * 0.9])
            a[-1] *= 0.5
            if a[-1].norm() < 0.2:
                break
        return a


@program(*_X)
class an_input_grows_and_is_changed_in_place(nn.Module):
    def forward(self, x):
        a = x
        for _ in range(12):
            a.mul_(0.9)
            if a.norm() < 1:
                break
            a = torch.cat([a, a[-1:]])
        return a


@program(*_X)
class grows_along_the_last_dimension(nn.Module):
    def forward(self, x):
        h = x
        for i in range(5, 20):
            h = torch.cat([h, h[:, :1] + i, h[:, -1:]], dim=-1)
            if h[:, -1].sum() < i - 6:
                return h.mean(1), i
        return h.sum(1), -1


@program(*_X)
class grows_in_some_iterations(nn.Module):
    def forward(self, x):
        h = x[:1]
        for _ in range(20):
            x = x * 0.8
            if x[0, 0] > 0.3:
                h = torch.cat([h, x[:1]])
            if x.norm() < 0.3:
                break
        return h, h.shape[0]


@program(*_X)
class grows_from_nothing(nn.Module):
    def forward(self, x):
        out, previous = torch.zeros(0, 3), x[0]
        for i in range(12):
            previous = previous * 0.5 + x[i % 4]
            out = torch.cat([out, previous[None]], 0)
            if previous.sum() > 1:
                return out, True
        return out, False


@program(*_ROWS, kw=_LENGTH)
class grows_over_a_dynamic_length(nn.Module):
    def forward(self, x):
        h = torch.zeros(1, 3)
        for t in range(x.shape[0]):
            h = torch.cat([h, (h.mean(0) + x[t])[None]])
        return h


@program(*_ROWS, kw=_LENGTH)
class grows_over_a_dynamic_length_that_data_end(nn.Module):
    def forward(self, x):
        h = x[:1]
        for t in range(1, x.shape[0]):
            h = torch.cat([h, (h.mean(0) + x[t])[None]])
            if h[-1].sum() > 1:
                break
        return h, t


@program(*_X)
class grows_in_a_dict(nn.Module):
    def forward(self, x):
        state = {"h": x[:1], "n": 0}
        for _ in range(12):
            state["h"] = torch.cat([state["h"], state["h"][-1:] * 0.7])
            state["n"] += 1
            if state["h"][-1].norm() < 0.5:
                break
        return state["h"], state["n"]


@program(*_X)
class grows_with_a_gradient(nn.Module):
    """Unrolled: torch's while_loop has no right gradient."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        h = x[:1]
        for _ in range(10):
            h = torch.cat([h, self.linear(h[-1:])])
            if h[-1].norm() < 0.5:
                break
        return h


@program(*_X)
class grows_and_is_laid_out_otherwise(nn.Module):
    """A later iteration sees another layout than the first: unrolled."""

    def forward(self, x):
        h = x.t().contiguous()
        for _ in range(11):
            x = x * (0.9 if h.is_contiguous() else 0.7)
            h = torch.cat([h.t(), x[:1]]).t()
            if x.norm() < 1:
                break
        return h, x


@program(*_X)
class a_longer_part_of_a_buffer(nn.Module):
    """It is a view of the buffer in each iteration."""

    def forward(self, x):
        buffer = torch.zeros(14, 3)
        part = buffer[:1]
        for i in range(12):
            x = x * 0.8
            buffer[i] = x[0]
            part = buffer[: i + 2]
            if x.norm() < 1:
                break
        return part.sum(0), buffer


@program(*_X)
class doubles_in_each_round(nn.Module):
    def forward(self, x):
        h = x[:1]
        for i in range(12):
            h = torch.cat([h, h])
            if h.sum() > 20:
                break
            if i > 2:
                break
        return h


# -- what is not used where a side leaves the loop ---------------------------------------------------------------------


@program(*_X)
class another_shape_that_is_not_used_behind(nn.Module):
    def forward(self, x):
        v = x
        for i in range(12):
            x = x * 0.8
            if x.norm() < 1:
                break
            v = x[:2] if i == 0 else x[:2] + v
        return x, i


@program(*_X)
class used_behind_one_way_out_only(nn.Module):
    def forward(self, x):
        v = x
        for i in range(12):  # noqa: B007
            x = x * 0.8
            if x.norm() < 1:
                break
            v = torch.cat([v, x])
        else:
            return v, -1
        return x, i


@program(*_X)
class an_object_that_is_not_used_behind(nn.Module):
    def forward(self, x):
        held = {"k": x[:1]}
        for _ in range(12):
            x = x * 0.8
            if x.norm() < 1:
                return x
            held["k"] = torch.cat([held["k"], x[:1]])
            x = x + held["k"].mean() * 0.1
        return x + held["k"].sum()


@program(call(torch.tensor([[1, 2]])), call(torch.tensor([[3, 0]])), call(torch.tensor([[5, 5]])))
class while_it_is_shorter(nn.Module):
    """The test on the length ends it in any case: there is room for so many iterations."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(11, 4)

    def forward(self, ids):
        while ids.shape[1] < 40:
            new = (self.table(ids).sum(1) @ self.table.weight.t()).argmax(-1, keepdim=True)
            ids = torch.cat([ids, (new * 7 + ids.shape[1]) % 11], 1)
            if (new == 4).all():
                break
        return ids


@program(*(call(torch.full((3,), value)) for value in (4.0, 0.5, 3000.0)))
class rows_while_fewer(nn.Module):
    def forward(self, x):
        rows = x[None]
        while len(rows) < 35 and x.norm() > 1:
            x = x * 0.5
            rows = torch.cat([rows, x[None]])
        return rows


@program(*(call(torch.randn(6, 2, generator=torch.Generator().manual_seed(seed))) for seed in range(4)))
class gets_shorter(nn.Module):
    def forward(self, x):
        total, rows = x.new_zeros(2), x
        while rows.shape[0] > 0:
            total = total * 0.5 + rows.sum(0)
            rows = rows[rows[:, 0] > rows[:, 0].mean()]
        return total, rows


@program(*(call(torch.randn(n, 2, generator=torch.Generator().manual_seed(n))) for n in (6, 9, 3, 1)),
         kw={"dynamic_shapes": ({0: torch.export.Dim("n", min=1, max=20)},)})  # fmt: skip
class candidates_of_a_dynamic_number(nn.Module):
    def forward(self, x):
        keep, order = [], x[:, 0].argsort()
        while len(order) > 0:
            first = order[0]
            keep.append(first)
            order = order[(x[order] - x[first]).abs().sum(-1) > 1]
        return torch.stack(keep)


@program(*(call(torch.full((3,), value)) for value in (4.0, 0.5, 3000.0)))
class rows_while_a_counter_is_small(nn.Module):
    def forward(self, x):
        rows, i = x[None], 2
        while x.norm() > 1 and i < 40:
            x = x * 0.5
            rows = torch.cat([rows, x[None]])
            i += 2
        return rows, i
