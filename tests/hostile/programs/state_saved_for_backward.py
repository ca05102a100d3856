"""What the program writes and eager does not (assigned buffers, the other side of a branch), and a backward needs"""

from __future__ import annotations

import torch
from torch import nn

from tests.export.probe import Case, equal, t, with_gradients


class Keeps(nn.Module):
    """Two buffers of ones, a layer, a cell; `body` is forward."""

    def __init__(self, body):
        super().__init__()
        self.layer, self.cell = nn.Linear(3, 3), nn.GRUCell(3, 3)
        self.register_buffer("mean", torch.ones(3))
        self.register_buffer("state", torch.ones(1, 3))
        self.body = body

    def forward(self, *args):
        return self.body(self, *args)


def keeps(body):
    return with_gradients(Keeps(body), t(4, 3))


def flagged(body):
    """A flag that is set in the example, and one that is not."""
    x = t(1, 3)
    return Case(Keeps(body), (x, torch.tensor(True)), also=[((x, torch.tensor(False)), {})], gradients=True)


@equal
def assigned_behind_a_product():
    def body(self, x):
        y = self.layer(x) * self.mean
        self.mean = y.detach().mean(0)
        return y

    return keeps(body)


@equal
def assigned_in_front_of_a_quotient():
    def body(self, x):
        y = self.layer(x)
        self.mean = 0.9 * self.mean + 0.1 * y.detach().var(0)
        return y / self.mean.sqrt()

    return keeps(body)


@equal
def assigned_twice():
    def body(self, x):
        self.mean = self.layer(x).mean(0) * self.mean
        y = self.layer(x) * self.mean
        self.mean = y.detach().mean(0)
        return y

    return keeps(body)


@equal
def state_of_a_cell():
    def body(self, x):
        outs = []
        for row in x:
            self.state = self.cell(row[None], self.state)
            outs.append(self.state)
        self.state = self.state.detach()
        return torch.cat(outs)

    return keeps(body)


@equal
def state_of_a_cell_that_a_flag_resets():
    def body(self, x, flag):
        if flag:
            self.state.zero_()
        self.state = self.cell(x, self.state)
        y = self.state
        self.state = self.state.detach()
        return y

    return flagged(body)


@equal
def state_of_a_cell_that_flags_reset_between():
    def body(self, x, flags):
        outs = []
        for row, flag in zip(x, flags):
            if flag:
                self.state.zero_()
            self.state = self.cell(row[None], self.state)
            outs.append(self.state)
        self.state = self.state.detach()
        return torch.cat(outs)

    return with_gradients(Keeps(body), t(3, 3), torch.tensor([False, True, False]))


@equal
def assigned_on_a_side():
    def body(self, x, flag):
        y = self.layer(x) / self.mean
        if flag:
            self.mean = y.detach()[0] + 2
        return y.exp() * self.mean

    return flagged(body)


@equal
def a_saved_result_that_no_side_taken_changes():
    def body(self, x):
        y = self.layer(x).exp()
        if y.sum() < 0:
            y.zero_()
        return y, y.view(-1) * 2

    return keeps(body)


@equal
def a_saved_operand_that_no_side_taken_changes():
    def body(self, x):
        y = self.layer(x)
        z = y * self.mean * y.detach()
        if z.sum() > 1e9:
            y.mul_(2)
        return z, y

    return keeps(body)


@equal
def a_saved_result_behind_a_choice():
    def body(self, x):
        a = self.layer(x).exp()
        b = a if a.sum() < 0 else x * 2
        b.add_(1)
        return a * 3

    return keeps(body)


SAVED = {
    "max": lambda y: y.max(0)[0],
    "cummax": lambda y: y.cummax(0)[0],
    "sort": lambda y: y.sort(0)[0],
    "std": lambda y: y.std(1, keepdim=True),
    "prod": lambda y: y.prod(1, keepdim=True),
    "pow": lambda y: 2**y,
    "inv": lambda y: torch.linalg.inv(y[:3] + 9 * torch.eye(3)),
    "qr": lambda y: torch.linalg.qr(y)[0],
    "cholesky": lambda y: torch.linalg.cholesky(y.T @ y + torch.eye(3)),
    "attention": lambda y: nn.functional.scaled_dot_product_attention(y, y, y),
    "in place": lambda y: nn.functional.leaky_relu_(y * 1),
    "foreach": lambda y: torch._foreach_exp([y, y * 2])[1],
    "linear": lambda y: nn.functional.linear(y, y),
}


@equal
def results_of_many_kinds_that_no_side_taken_changes():
    """Each derivative is made of the operator's result."""

    def body(self, x):
        results = [compute(self.layer(x)) for compute in SAVED.values()]
        if x.sum() > 1e9:
            for result in results:
                result.fill_(1)
        return [result * 2 for result in results]

    return keeps(body)


@equal
def an_operand_of_a_composite_operator():
    def body(self, x):
        y = self.layer(x)[:3] + 9 * torch.eye(3)
        z = torch.linalg.inv(y), nn.functional.logsigmoid(y), torch.linalg.norm(y)
        if x.sum() > 1e9:
            y.zero_()
        return z

    return keeps(body)
