"""Parameters and modules that forward assigns."""

from __future__ import annotations

import torch
from torch import nn

from tests.export.probe import Case, equal, ints, refused, t


@equal
def params_assigned_tie():
    class T(nn.Module):
        def __init__(s):
            super().__init__()
            s.embed = nn.Embedding(5, 3)
            s.head = nn.Linear(3, 5, bias=False)

        def forward(s, i):
            s.head.weight = s.embed.weight
            return s.head(s.embed(i))

    return T(), (ints(4, high=5),)


@equal
def params_assigned_tie_rev():
    class T(nn.Module):
        def __init__(s):
            super().__init__()
            s.head = nn.Linear(3, 5, bias=False)
            s.embed = nn.Embedding(5, 3)

        def forward(s, i):
            s.head.weight = s.embed.weight
            return s.head(s.embed(i))

    return T(), (ints(4, high=5),)


@equal
def params_already_tied():
    class T(nn.Module):
        def __init__(s):
            super().__init__()
            s.head = nn.Linear(3, 5, bias=False)
            s.embed = nn.Embedding(5, 3)
            s.head.weight = s.embed.weight

        def forward(s, i):
            s.head.weight = s.embed.weight
            return s.head(s.embed(i))

    return T(), (ints(4, high=5),)


@refused("parameter-assigned")
def params_swapped():
    class T(nn.Module):
        def __init__(s):
            super().__init__()
            s.p = nn.Parameter(torch.zeros(3))
            s.q = nn.Parameter(torch.ones(3))

        def forward(s, x):
            s.p, s.q = s.q, s.p
            return x + s.p * 2

    return T(), (t(3),)


@refused("python-state")
def params_swapped_once():
    class T(nn.Module):
        def __init__(s):
            super().__init__()
            s.p = nn.Parameter(torch.zeros(3))
            s.q = nn.Parameter(torch.ones(3))
            s.k = False

        def forward(s, x):
            y = x + s.p
            if not s.k:
                s.p, s.q = s.q, s.p
                s.k = True
            return y

    return T(), (t(3),)


@refused("parameter-assigned")
def params_untied_used_before():
    class T(nn.Module):
        def __init__(s):
            super().__init__()
            s.p = nn.Parameter(torch.zeros(3))
            s.q = nn.Parameter(torch.ones(3))

        def forward(s, x):
            y = x + s.p
            s.p = s.q
            return y

    return T(), (t(3),)


@equal
def act_chosen():
    class T(nn.Module):
        def __init__(s):
            super().__init__()
            s.acts = nn.ModuleList([nn.ReLU(), nn.Tanh()])
            s.act = nn.Sigmoid()

        def forward(s, x):
            s.act = s.acts[1]
            return s.act(x)

    return T(), (t(3),)


@equal
def layers_moved():
    class T(nn.Module):
        def __init__(s):
            super().__init__()
            s.layers = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])

        def forward(s, x):
            s.layers[0] = s.layers[1]
            return s.layers[0](x)

    return Case(T(), (t(3),), kept=("layers.0.weight", "layers.0.bias"))


@refused("python-state")
def layers_swapped():
    class T(nn.Module):
        def __init__(s):
            super().__init__()
            s.layers = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])

        def forward(s, x):
            s.layers[0], s.layers[1] = s.layers[1], s.layers[0]
            return s.layers[0](x)

    return T(), (t(3),)


@equal
def module_added():
    class T(nn.Module):
        def __init__(s):
            super().__init__()

        def forward(s, x):
            s.act = nn.Tanh()
            return s.act(x)

    return T(), (t(3),)


@equal
def module_added_lazily():
    class T(nn.Module):
        def __init__(s):
            super().__init__()
            s.norm = None

        def forward(s, x):
            if s.norm is None:
                s.norm = nn.LayerNorm(x.shape[-1], elementwise_affine=False)
            return s.norm(x)

    return T(), (t(3),)


@refused("python-state")
def module_added_with_params():
    class T(nn.Module):
        def __init__(s):
            super().__init__()
            s.norm = None

        def forward(s, x):
            if s.norm is None:
                s.norm = nn.LayerNorm(x.shape[-1])
            return s.norm(x)

    return T(), (t(3),)


@refused("new-state-tensor")
def module_added_random():
    class T(nn.Module):
        def __init__(s):
            super().__init__()
            s.lin = None

        def forward(s, x):
            if s.lin is None:
                s.lin = nn.Linear(3, 3)
            return s.lin(x)

    return T(), (t(3),)


@refused("new-state-tensor")
def module_added_mean():
    class T(nn.Module):
        def __init__(s):
            super().__init__()
            s.m = nn.Module()

        def forward(s, x):
            if not hasattr(s.m, "mean"):
                s.m.register_buffer("mean", x.mean(0, keepdim=True))
            return x - s.m.mean

    return T(), (t(3),)
