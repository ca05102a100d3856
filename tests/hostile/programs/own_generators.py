"""Generators of random numbers that the program makes with a seed: what they draw is the same in each call."""

from __future__ import annotations

import copy
import random

import numpy
import torch

from tests.export.probe import equal, refused, t


@equal
def of_python():
    def f(x):
        numbers = random.Random(3)
        order = [0, 1, 2]
        numbers.shuffle(order)
        drawn = numbers.random(), numbers.uniform(1, 2), numbers.randint(1, 9), numbers.gauss(0, 1)
        return x[order] * numbers.choice([2, 3]) + sum(drawn), numbers.sample(range(9), 3), random.Random('a').random()

    return f, (t(3),)


@equal
def seeded_later():
    def f(x):
        numbers = random.Random()
        numbers.seed(4)
        first = numbers.random()
        numbers.seed(4)
        return x * first, numbers.random() == first

    return f, (t(3),)


@equal
def of_numpy():
    def f(x):
        state, numbers = numpy.random.RandomState(3), numpy.random.default_rng(5)
        order = torch.from_numpy(state.permutation(3))
        other = numpy.random.Generator(numpy.random.PCG64(numpy.random.SeedSequence([1, 2])))
        drawn = numbers.normal(size=3), other.integers(0, 9), state.rand()
        return x[order] + torch.as_tensor(drawn[0], dtype=torch.float32) * int(drawn[1]) + float(drawn[2])

    return f, (t(3),)


@equal
def a_seed_of_the_module():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.seed = 7

        def forward(self, x):
            return x * random.Random(self.seed).random() + numpy.random.RandomState(self.seed).rand()

    return Model(), (t(3),)


@refused('unrecordable-value')
def without_a_seed():
    return lambda x: x * random.Random().random(), (t(3),)


@refused('unrecordable-value')
def of_the_system():
    return lambda x: x * random.SystemRandom(3).random(), (t(3),)


@refused('unrecordable-value')
def bits_of_the_system():
    return lambda x: x + random.SystemRandom().getrandbits(3), (t(3),)


@refused('unrecordable-value')
def bytes_of_the_system():
    return lambda x: x + random.SystemRandom().randbytes(1)[0], (t(3),)


@refused('unrecordable-value', 'global-rng')
def a_copy():
    return lambda x: x * copy.deepcopy(numpy.random.default_rng(3)).random(), (t(3),)


class Keeps(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.numbers = numpy.random.default_rng(3)
        self.others = random.Random(3)


@refused('unrecordable-value', 'outside-object')
def on_the_bits_of_an_older_one():
    class Model(Keeps):
        def forward(self, x):
            return x * numpy.random.Generator(self.numbers.bit_generator).random()

    return Model(), (t(3),)


@refused('unrecordable-value', 'global-rng')
def the_state_of_an_older_one_of_python():
    class Model(Keeps):
        def forward(self, x):
            made = random.Random(3)
            made.setstate(self.others.getstate())
            return x * made.random()

    return Model(), (t(3),)


@refused('unrecordable-value', 'python-state', 'outside-object')
def made_once_and_kept():
    class Model(torch.nn.Module):
        numbers = None

        def forward(self, x):
            if self.numbers is None:
                self.numbers = random.Random(3)
            return x * self.numbers.random()

    return Model(), (t(3),)
