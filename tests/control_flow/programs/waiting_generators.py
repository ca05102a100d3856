"""Generators that wait at a `yield` while a branch sends to them, throws into them, or closes them."""

from __future__ import annotations

import torch
from torch import nn

from tests.control_flow.programs.table import SIGNS, call, program


def doubled(first):
    sent = yield first
    while True:
        sent = yield sent * 2


@program(*SIGNS)
class sent_to_on_one_side(nn.Module):
    def forward(self, x):
        numbers = doubled(x)
        y = next(numbers) + 1
        if x.sum() > 0:
            y = numbers.send(x)
        return y


@program(*SIGNS)
class sent_to_on_both_sides(nn.Module):
    def forward(self, x):
        numbers = doubled(x)
        next(numbers)
        if x.sum() > 0:
            y = numbers.send(x)
        else:
            y = numbers.send(x * 5)
        return y


@program(*SIGNS)
class thrown_into_without_a_handler(nn.Module):
    def forward(self, x):
        numbers = doubled(x)
        y = next(numbers) * 1
        try:
            if x.sum() > 0:
                numbers.throw(KeyError())
        except KeyError:
            y = y * 7
        return y


@program(*SIGNS)
class state_of_a_waiting_one(nn.Module):
    def forward(self, x):
        numbers = doubled(x)
        next(numbers)
        if x.sum() > 0:
            return x * 2, numbers.gi_running, numbers.gi_suspended
        return x, numbers.gi_running, numbers.gi_suspended


@program(*SIGNS)
class thrown_into(nn.Module):
    def forward(self, x):
        def steps():
            try:
                yield x
            except ValueError:
                yield x * 2

        step = steps()
        y = next(step)
        if x.sum() > 0:
            y = step.throw(ValueError())
        return y * 1


@program(*SIGNS)
class closed_on_one_side(nn.Module):
    def forward(self, x):
        y = x.clone()

        def steps():
            try:
                yield 1
            finally:
                y.add_(1)

        step = steps()
        next(step)
        if x.sum() > 0:
            step.close()
        return y * 2


@program(*SIGNS)
class moved_into_a_block(nn.Module):
    def forward(self, x):
        y = x.clone()

        def steps():
            yield 1
            try:
                yield 2
            finally:
                y.add_(1)

        step = steps()
        next(step)
        if x.sum() > 0:
            next(step)
        else:
            next(step)
        return y * 2, next(step, 5)


@program(*SIGNS, refused="branch-unsupported")
class left_waiting_on_one_side(nn.Module):
    def forward(self, x):
        y = x.clone()

        def steps():
            try:
                yield 1
            finally:
                y.add_(1)

        if x.sum() > 0:
            step = steps()
            next(step)
        return y


UP, DOWN = torch.ones(3), -torch.ones(3)


@program(call(UP), call(DOWN), refused="branch-unsupported")
class counts_before_it_raises(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("failed", torch.zeros(()))

    def forward(self, x):
        if x.sum() < 0:
            self.failed += 1
            raise ValueError("negative")
        return x + self.failed


@program(call(UP), call(DOWN), refused="branch-unsupported")
class remembers_before_it_raises(nn.Module):
    def __init__(self):
        super().__init__()
        self.failed = 0

    def forward(self, x):
        if x.sum() < 0:
            self.failed = 1
            raise ValueError("negative")
        return x + 1
