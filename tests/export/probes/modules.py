"""nn.Module in all its forms: containers, ties, hooks, parametrizations, torch's own layers, meta and fake weights."""

# Programs as users write them, odd ones too.

from __future__ import annotations

import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize, prune, weight_norm

from ..probe import equal, ints, refused, sound, t

HELD = []


class Two(nn.Module):
    """Two linear layers."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.b = nn.Linear(3, 3)

    def forward(self, x):
        return self.b(self.a(x).relu())


@equal
def sequential_slices_and_indexing():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.seq = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3))

        def forward(self, x):
            return self.seq[0](x) + self.seq[1:](x) + len(self.seq) + self.seq(x)

    return M(), (t(2, 3),)


@equal
def module_list_and_dict():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.xs = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])
            self.by = nn.ModuleDict({"relu": nn.ReLU(), "tanh": nn.Tanh()})

        def forward(self, x, name="tanh"):
            for layer in self.xs[1:]:
                x = layer(x)
            for key, act in self.by.items():
                x = act(x) if key in self.by else x
            return self.by[name](self.xs[0](x))

    return M(), (t(2, 3),)


@equal
def parameter_list_and_dict():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.ws = nn.ParameterList([torch.ones(3), torch.zeros(3)])
            self.named = nn.ParameterDict({"scale": torch.full((3,), 2.0)})

        def forward(self, x):
            for w in self.ws:
                x = x + w
            return x * self.named["scale"]

    return M(), (t(3),)


@equal
def tied_weights():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(10, 4)
            self.head = nn.Linear(4, 10, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, ids):
            return self.head(self.embed(ids))

    return M(), (ints(2, 5),)


@equal
def module_used_twice():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(3, 3)
            self.again = self.lin

        def forward(self, x):
            return self.again(self.lin(self.lin(x)))

    return M(), (t(2, 3),)


@equal
def plain_list_of_modules():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden = [nn.Linear(3, 3).requires_grad_(False), nn.Linear(3, 3).requires_grad_(False)]

        def forward(self, x):
            for layer in self.hidden:
                x = layer(x)
            return x

    return M(), (t(2, 3),)


@equal
def module_in_a_closure_and_global():
    lin = nn.Linear(3, 3).requires_grad_(False)

    def forward(x):
        return lin(x) * 2

    return forward, (t(2, 3),)


@sound()
def plain_list_of_modules_with_grad():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden = [nn.Linear(3, 3)]

        def forward(self, x):
            return self.hidden[0](x)

    return M(), (t(2, 3),)


@equal
def module_calls_forward_and_methods_directly():
    class M(Two):
        def forward(self, x):
            return self.a.forward(x) + nn.Linear.forward(self.b, x) + super().forward(x)

    return M(), (t(2, 3),)


@equal
def iterate_over_parameters_and_modules():
    class M(Two):
        def forward(self, x):
            total = sum(p.sum() for p in self.parameters())
            names = [n for n, _ in self.named_parameters()]
            kinds = [type(m).__name__ for m in self.children()]
            return x * total, names, kinds, len(self.state_dict()), self.get_submodule("a") is self.a

    return M(), (t(2, 3),)


@equal
def module_getattr_override():
    class M(Two):
        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                return super().__getattr__(name[:1])

        def forward(self, x):
            return self.alpha(x) + self.beta(x)

    return M(), (t(2, 3),)


@equal
def forward_hook():
    m = Two()
    m.a.register_forward_hook(lambda mod, args, out: out * 2)
    return m, (t(2, 3),)


@equal
def forward_pre_hook_with_kwargs():
    class M(nn.Module):
        def forward(self, x, scale=1.0):
            return x * scale

    m = M()
    m.register_forward_pre_hook(lambda mod, args, kwargs: ((args[0] + 1,), {"scale": 3.0}), with_kwargs=True)
    m.register_forward_hook(lambda mod, args, kwargs, out: out - kwargs["scale"], with_kwargs=True)
    return m, (t(2, 3),)


@refused("python-state", "new-state-tensor")
def forward_hook_collects_activations():
    seen = []
    m = Two()
    m.a.register_forward_hook(lambda mod, args, out: seen.append(out))
    return m, (t(2, 3),)


@equal
def hook_added_and_removed_in_forward():
    class M(Two):
        def forward(self, x):
            got = []
            handle = self.a.register_forward_hook(lambda mod, args, out: got.append(out))
            y = super().forward(x)
            handle.remove()
            return y + got[0]

    return M(), (t(2, 3),)


@equal
def parametrization():
    class Symmetric(nn.Module):
        def forward(self, w):
            return w.triu() + w.triu(1).transpose(-1, -2)

    m = nn.Linear(3, 3)
    parametrize.register_parametrization(m, "weight", Symmetric())
    return m, (t(2, 3),)


@equal
def parametrization_cached():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = parametrizations.orthogonal(nn.Linear(3, 3))

        def forward(self, x):
            with parametrize.cached():
                return self.lin(x) + self.lin(x + 1)

    return M().eval(), (t(2, 3),)


@refused("python-state", "new-state-tensor")
def parametrization_cache_that_is_held_elsewhere():
    HELD[:] = [parametrize._cache]

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = parametrizations.orthogonal(nn.Linear(3, 3))

        def forward(self, x):
            seen = len(HELD[0])
            with parametrize.cached():
                return self.lin(x) * (1 + seen)

    return M().eval(), (t(2, 3),)


@equal
def weight_norm_old_and_new():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = weight_norm(nn.Linear(3, 3))
            self.b = parametrizations.weight_norm(nn.Linear(3, 3))

        def forward(self, x):
            return self.b(self.a(x))

    return M(), (t(2, 3),)


@equal
def spectral_norm_training():
    return parametrizations.spectral_norm(nn.Linear(3, 4)).train(), (t(2, 3),)


@equal
def pruned_module():
    m = nn.Linear(3, 3)
    prune.l1_unstructured(m, "weight", amount=0.3)
    return m, (t(2, 3),)


@equal
def batch_norm_training():
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).train(), (t(2, 3, 6, 6),)


@equal
def batch_norm_evaluation():
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)).eval(), (t(2, 3, 6, 6),)


@equal
def batch_norm_with_cumulative_average():
    return nn.BatchNorm1d(3, momentum=0.3).train(), (t(4, 3),)


@sound("data-dependent-value")
def batch_norm_with_momentum_none():
    return nn.BatchNorm1d(3, momentum=None).train(), (t(4, 3),)


@equal
def dropout_training():
    return nn.Sequential(nn.Linear(3, 50), nn.Dropout(0.5)).train(), (t(2, 3),)


@equal
def dropout_evaluation():
    return nn.Sequential(nn.Linear(3, 5), nn.Dropout(0.5), nn.AlphaDropout(0.2)).eval(), (t(2, 3),)


@equal
def mixed_training_flags():
    m = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.5), nn.Linear(3, 3)).train()
    m[0].eval()
    return m, (t(4, 3),)


@equal
def lstm():
    return nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True), (t(2, 5, 3),)
