"""Outputs that require grad through a leaf that forward makes"""

from __future__ import annotations

import copy

import torch
from torch import nn

from tests.export.probe import Case, equal, refused, t


class Net(nn.Module):
    def __init__(self, body):
        super().__init__()
        self.layer, self.weight = nn.Linear(4, 4), nn.Parameter(t(4))
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
        self.body = body

    def forward(self, x):
        return self.body(self, x)


class Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        return grad


def net(body, **options):
    return Case(Net(body), (t(3, 4),), gradients=True, **options)


@equal
def copied_layer():
    return net(lambda self, x: copy.deepcopy(self.layer)(x), also=[((t(3, 4).requires_grad_(),), {})])


@equal
def copied_layers_beside_their_own():
    return net(lambda self, x: [layer(x) for layer in (*copy.deepcopy(self.layers), self.layer)])


@equal
def copied_parameter():
    return net(lambda self, x: (copy.deepcopy(self.weight) * x).t())


@equal
def frozen_copy():
    return net(lambda self, x: copy.deepcopy(self.layer).requires_grad_(False)(x))


@equal
def stacked_modules():
    def body(self, x):
        parameters, buffers = torch.func.stack_module_state(list(self.layers))

        def call(parameters, buffers, x):
            return torch.func.functional_call(self.layers[0], (parameters, buffers), (x,))

        return torch.vmap(call, in_dims=(0, 0, None))(parameters, buffers, x).mean(0)

    return net(body)


@equal
def made_parameter_and_flag():
    def body(self, x):
        flagged = (x * 2).detach().requires_grad_()
        return nn.Parameter(torch.ones(4)) * x, flagged * 3, torch.ones(4, requires_grad=True) * 2

    return net(body)


@equal
def gradient_with_a_graph():
    def body(self, x):
        factor = torch.zeros(4, requires_grad=True)
        total = (x * factor + x).sum()
        (gradient,) = torch.autograd.grad(total, factor, create_graph=True)
        return gradient * x, total

    return net(body)


@refused("made-leaf")
def leaf_itself():
    return net(lambda self, x: torch.ones(4, requires_grad=True))


@refused("made-leaf")
def views_of_one_leaf():
    def body(self, x):
        leaf = (x * 2).detach().requires_grad_()
        return leaf.view(-1), leaf.t()

    return net(body)


@equal
def beside_a_custom_function():
    return net(lambda self, x: copy.deepcopy(self.layer)(x) + Step.apply(self.layer(x)))


@equal
def operators_without_gradients_at_the_end():
    def body(self, x):
        y = copy.deepcopy(self.layer)(x)
        with torch.no_grad():
            y[0].mul_(3)
        return y

    return net(body)
