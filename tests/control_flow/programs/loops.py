# ruff: noqa: B007  (written as people write it)
"""Loops on data."""

from __future__ import annotations

import torch
from torch import nn

from tests.control_flow.programs.table import MIX, NEG, POS, SIGNS, call, program


# -- while
@program(*SIGNS)
class while_simple(nn.Module):
    def forward(self, x):
        while x.sum() < 20:
            x = x + 1
        return x


@program(call(torch.tensor(2.0)), call(torch.tensor(100.0)), call(torch.tensor(0.5)))
class newton(nn.Module):
    def forward(self, a):
        r = a / 2 + 0.5
        err = torch.full((), 1.0)
        n = 0
        while err > 1e-4:
            new = 0.5 * (r + a / r)
            err = (new - r).abs()
            r = new
            n += 1
        return r, n


@program(*SIGNS, no_grad=True)
class while_linear(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(2, 2)
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))
        with torch.no_grad():
            self.l.weight.copy_(torch.eye(2) * 0.5)
            self.l.bias.zero_()

    def forward(self, x):
        while x.norm() > 0.3:
            x = self.l(x) * 0.5
            self.steps += 1
        return x


@program(*SIGNS)
class while_and(nn.Module):
    def forward(self, x):
        i = 0
        while x.sum() < 20 and x.max() < 5:
            x = x + 1
            i += 1
        return x, i


@program(*SIGNS)
class while_break(nn.Module):
    def forward(self, x):
        while x.sum() < 20:
            x = x + 1
            if x.max() > 4:
                break
            x = x * 1.5
        return x


@program(*SIGNS)
class while_true_break(nn.Module):
    def forward(self, x):
        n = 0
        while True:
            x = x + 1
            n = n + 1
            if x.sum() > 15:
                break
            x = x * 1.1
        return x, n


@program(*SIGNS)
class while_continue(nn.Module):
    def forward(self, x):
        while x.sum() < 20:
            x = x + 1
            if x.max() > 3:
                continue
            x = x * 1.5
        return x


@program(*SIGNS)
class while_if_inside(nn.Module):
    def forward(self, x):
        while x.sum() < 20:
            if x.max() > 3:
                x = x + 2
            else:
                x = x * 0.9 + 1
        return x


@program(*SIGNS)
class while_inplace(nn.Module):
    def forward(self, x):
        y = x.clone()
        while y.sum() < 20:
            y.add_(1)
            y[0] += 0.5
        return y


@program(*SIGNS)
class while_tuple_state(nn.Module):
    def forward(self, x):
        state = (x, x.sum())
        while state[1] < 20:
            state = (state[0] + 1, state[0].sum())
        return state


@program(*SIGNS)
class while_float(nn.Module):
    def forward(self, x):
        lr = 1.0
        while x.sum() < 20:
            x = x + lr
            lr = lr * 0.9 + 0.2
        return x


@program(*SIGNS)
class nested_while(nn.Module):
    def forward(self, x):
        while x.sum() < 20:
            y = x
            while y.max() < 3:
                y = y + 1
            x = x + y.abs() * 0.1 + 1
        return x


@program(call(torch.tensor(6)), call(torch.tensor(27)), call(torch.tensor(1)))
class collatz(nn.Module):
    def forward(self, n):
        steps = 0
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps += 1
        return steps + n


@program(
    call(torch.tensor(48), torch.tensor(18)),
    call(torch.tensor(17), torch.tensor(5)),
    call(torch.tensor(5), torch.tensor(0)),
)
class gcd_items(nn.Module):
    def forward(self, a, b):
        a, b = a.item(), b.item()
        while b != 0:
            a, b = b, a - (a // b) * b
        return torch.full((2,), a)


@program(*SIGNS)
class while_append(nn.Module):
    def forward(self, x):
        out = []
        while x.sum() < 20:
            x = x + 1
            out.append(x)
        return torch.stack(out)


@program(*SIGNS, refused="branch-differs")
class while_grows(nn.Module):
    def forward(self, x):
        while x.sum() < 20:
            x = torch.cat([x, x + 3])
        return x


@program(*SIGNS)
class while_return(nn.Module):
    def forward(self, x):
        while x.sum() < 20:
            x = x + 1
            if x.max() > 4:
                return x * 100
        return x


@program(*SIGNS)
class if_then_while(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            while x.sum() < 20:
                x = x + 1
        else:
            x = x * 2
        return x


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRUCell(2, 4)
        self.halt = nn.Linear(4, 1)

    def forward(self, x):
        h = torch.zeros(x.shape[0], 4)
        halting = torch.zeros(())
        steps = torch.zeros((), dtype=torch.int64)
        while halting < 0.99 and steps < 8:
            h = self.gru(x, h)
            halting = halting + self.halt(h).sigmoid().mean() * 0.3
            steps = steps + 1
        return h, steps


@program(*SIGNS, no_grad=True)
class adaptive_computation_time(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = Cell()

    def forward(self, x):
        return self.c(x)


@program(
    call(torch.eye(3), torch.tensor([1.0, 2.0, 3.0])),
    call(torch.tensor([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 5.0]]), torch.tensor([1.0, 2.0, 3.0])),
)
class conjugate_gradient(nn.Module):
    def forward(self, a, b):
        x = torch.zeros_like(b)
        r = b - a @ x
        p = r
        rs = r @ r
        while rs.sqrt() > 1e-5:
            ap = a @ p
            alpha = rs / (p @ ap)
            x = x + alpha * p
            r = r - alpha * ap
            new = r @ r
            p = r + new / rs * p
            rs = new
        return x


# -- for over range(item)
@program(call(POS, torch.tensor(4)), call(MIX, torch.tensor(0)), call(NEG, torch.tensor(7)))
class for_range_item(nn.Module):
    def forward(self, x, n):
        for i in range(n.item()):
            x = x * 1.5 + i
        return x


@program(
    call(torch.arange(10.0).reshape(5, 2), torch.tensor(4)),
    call(torch.arange(10.0).reshape(5, 2), torch.tensor(0)),
    call(torch.arange(10.0).reshape(5, 2), torch.tensor(5)),
)
class for_range_index(nn.Module):
    def forward(self, x, n):
        total = torch.zeros(2)
        for i in range(int(n)):
            total = total + x[i]
        return total


@program(call(POS, torch.tensor(4)), call(MIX, torch.tensor(0)), call(NEG, torch.tensor(7)))
class for_range_break(nn.Module):
    def forward(self, x, n):
        for i in range(n.item()):
            x = x + 1
            if x.sum() > 10:
                break
        return x


@program(call(POS, torch.tensor(4)), call(MIX, torch.tensor(0)), call(NEG, torch.tensor(7)))
class for_range_nested_if(nn.Module):
    def forward(self, x, n):
        s = torch.zeros(())
        for i in range(n.item()):
            if i > 2:
                s = s + x.sum()
            else:
                s = s - 1
        return s


@program(
    call(torch.randn(6, 2), torch.tensor(4)),
    call(torch.randn(6, 2), torch.tensor(0)),
    call(torch.randn(6, 2), torch.tensor(6)),
    no_grad=True,
)
class rnn_to_length(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(2, 3)

    def forward(self, x, length):
        h = torch.zeros(1, 3)
        for t in range(length.item()):
            h = self.cell(x[t].unsqueeze(0), h)
        return h


@program(call(torch.tensor([3, 1, 2]), torch.tensor(4)), call(torch.tensor([0, 0, 0]), torch.tensor(2)), no_grad=True)
class greedy_decode(nn.Module):
    """Until a token 0, or the longest length: a buffer of tokens that is written in place."""

    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(5, 8)
        self.o = nn.Linear(8, 5)

    def forward(self, prompt, longest):
        tokens = torch.zeros(8, dtype=torch.int64)
        tokens[:3] = prompt
        n = 3
        last = prompt[-1]
        while last != 0 and n < 8:
            h = self.e(tokens).sum(0)
            last = self.o(h).argmax()
            tokens[n] = last
            n += 1
        return tokens, n


# -- randomness, dynamic sizes
@program(*SIGNS, kw={"dynamic_shapes": {"x": {0: torch.export.Dim("n", min=1, max=64)}}})
class dynamic_batch(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            y = torch.cat([x, x])[: x.shape[0]]
        else:
            y = x * x.shape[0]
        while y.sum() < 20:
            y = y + 1
        return y


@program(*SIGNS, refused="branch-unsupported")
class while_and_raise(nn.Module):
    def forward(self, x):
        if x.max() < -5:
            while x.sum() < 20:
                x = x + 1
            raise ValueError("reached")
        return x


@program(*[call(torch.tensor([[n, 2, 5], [4, n + 1, 1]])) for n in (1, 3, 5, 0)])
class tokens_joined_to_a_tensor(nn.Module):
    """No while_loop, since the tensor grows; the program knows where the loop ends: it is unrolled."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.linspace(-1, 1, 88).view(11, 8).sin(), requires_grad=False)

    def forward(self, ids):
        n = ids.shape[1]
        while n < 8:
            following = (self.table[ids].cumsum(1)[:, -1] @ self.table.T).argmax(-1)
            ids = torch.cat([ids, following[:, None]], 1)
            n += 1
            if (following == 7).any():
                break
        return ids


@program(*SIGNS, refused="branch-differs")
class grows_for_as_long_as_data_say(nn.Module):
    def forward(self, x):
        while x.sum().abs() < 100:
            x = torch.cat([x, x + 1])
        return x
