"""Random numbers of a torch.Generator that forward makes with a seed of its own"""

from __future__ import annotations

import torch
from torch import nn

from tests.export.probe import equal, refused, t


def seeded(seed=3):
    return torch.Generator().manual_seed(seed)


def of(body):
    return body, (t(3, 4),)


@equal
def factories():
    def body(x):
        generator = torch.Generator(device=x.device)
        generator.manual_seed(5)
        a = torch.randn(x.shape, generator=generator, device=x.device, dtype=x.dtype)
        b = torch.randint(3, (4,), generator=generator, dtype=torch.int32)
        c = torch.rand(4, generator=generator, dtype=torch.float64)
        return x + a * c + b + torch.randperm(4, generator=generator)

    return of(body)


@equal
def written_into():
    def body(x):
        generator = seeded()
        view = torch.zeros(4, 3)
        view.t().normal_(generator=generator)
        made = torch.empty(3, 4).uniform_(-1, 1, generator=generator) + torch.empty(4).exponential_(generator=generator)
        return x.normal_(generator=generator) * 2 + made + view.t(), nn.init.xavier_uniform_(view, generator=generator)

    return of(body)


@equal
def changed_afterwards():
    return of(lambda x: torch.randn(3, 4, generator=seeded()).add_(x))


@equal
def drawn_from_constants():
    def body(x):
        rows = torch.multinomial(torch.ones(3), 2, generator=seeded())
        return x[rows] * torch.bernoulli(torch.full((4,), 0.5), generator=seeded())

    return of(body)


@equal
def seed_of_the_module_or_none():
    class Noise(nn.Module):
        def __init__(self):
            super().__init__()
            self.seed = 7

        def forward(self, x):
            first = torch.Generator()
            noise = [torch.rand(4, generator=seeded(self.seed)) for _ in range(2)]
            return x + sum(noise) + torch.rand(4, generator=first) * first.initial_seed()

    return Noise(), (t(3, 4),)


@equal
def state_put_back():
    def body(x):
        generator = seeded()
        state = generator.get_state()
        first = torch.randn(4, generator=generator)
        generator.set_state(state)
        return x + first - torch.randn(4, generator=generator)

    return of(body)


@equal
def requires_grad():
    class Noisy(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x):
            return self.layer(x) * torch.randn(4, generator=seeded())

    return Noisy(), (t(3, 4),)


@refused("generator-argument")
def drawn_by_data():
    return of(lambda x: torch.bernoulli(x.sigmoid(), generator=seeded()))


@refused("generator-argument")
def generator_from_outside():
    generator = seeded()
    return of(lambda x: x + torch.randn(4, generator=generator))


@refused("generator-argument")
def the_default_generator():
    return of(lambda x: x + torch.randn(4, generator=torch.default_generator))


@refused("branch-unsupported", "data-dependent-branch")
def drawn_on_one_side():
    def body(x):
        generator = seeded()
        if x.sum() > 0:
            x = x + torch.randn(4, generator=generator)
        return x + torch.randn(4, generator=generator)

    return of(body)
