"""Branches and loops on data within an autograd.Function, powers of numbers of the data, caught errors."""

from __future__ import annotations

import torch
from torch import nn

from tests.control_flow.programs.table import SIGNS, program


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        if x.max() > 2:
            return x * 2
        return x + 1

    @staticmethod
    def backward(ctx, grad):
        return grad


class Kept(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2 if x.max() > 2 else x + 1

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad):
        return grad


@program(*SIGNS)
class function_with_a_branch_on_one_side(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return Doubled.apply(x)
        return x - 1


@program(*SIGNS)
class function_with_setup_context_on_both_sides(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return Kept.apply(x)
        return Kept.apply(x) - 1


@program(*SIGNS)
class function_with_a_branch_in_a_loop(nn.Module):
    def forward(self, x):
        while x.sum() < 10:
            x = Doubled.apply(x)
        return x


@program(*SIGNS)
class power_of_a_number_of_the_data_in_func_grad(nn.Module):
    def forward(self, x):
        k = int((x > 0).sum())
        return torch.func.grad(lambda v: (v**k).sum() + (v * v).pow(k + 1).sum())(x)


@program(*SIGNS)
class number_of_the_data_to_a_power_in_autograd_grad(nn.Module):
    def forward(self, x):
        k = int((x > 0).sum()) + 1
        x = x.detach().requires_grad_()
        return torch.autograd.grad((k**x + x**k).sum(), x)[0]


@program(*SIGNS)
class context_of_an_operators_error(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            x = x + 1
        try:
            torch.cat([x, x.new_zeros(3, 3)])
        except RuntimeError as error:
            told = error.__context__, error.__cause__, error.__suppress_context__
            return x * (2 if told == (None, None, False) else 3)
        return x


@program(*SIGNS)
class context_of_an_operators_error_in_a_handler(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            x = x + 1
        try:
            try:
                int("a")
            except ValueError:
                x.view(77)
        except RuntimeError as error:
            outer = error.__context__
            return x * (2 if isinstance(outer, ValueError) and outer.__context__ is None else 3)
        return x


@program(*SIGNS)
class module_made_by_add_module_in_each_call(nn.Module):
    def forward(self, x):
        self.add_module("act", nn.Sequential(nn.ReLU(), nn.Tanh()))
        if x.sum() > 0:
            return self.act(x)
        return x
