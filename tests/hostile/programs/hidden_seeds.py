"""State that a program reads without drawing a number: seeds from the system, a generator's state, a set's position."""

from __future__ import annotations

import random

import numpy
import torch
from torch.export import Dim

from tests.export.probe import Case, equal, refused, t


@refused("unrecordable-value")
def seed_sequence():
    def f(x):
        return x + int(numpy.random.SeedSequence().generate_state(1)[0] % 5)

    return f, (t(3),)


@refused("unrecordable-value")
def entropy():
    def f(x):
        return x + numpy.random.SeedSequence(None).entropy % 5

    return f, (t(3),)


@refused("unrecordable-value")
def state_of_a_generator():
    def f(x):
        return x + numpy.random.default_rng().bit_generator.state["state"]["state"] % 5

    return f, (t(3),)


@refused("unrecordable-value")
def state_of_random():
    def f(x):
        return x + random.getstate()[1][1] % 5

    return f, (t(3),)


@refused("unrecordable-value")
def state_of_a_kept_random():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.numbers = random.Random(1)

        def forward(self, x):
            return x + self.numbers.getstate()[1][1] % 5

    return Model(), (t(3),)


@equal
def seeded_sequence():
    def f(x):
        return x + int(numpy.random.SeedSequence(4).generate_state(1)[0] % 5)

    return f, (t(3),)


@equal
def seed_that_is_a_size():
    def f(x):
        return x + torch.Generator().manual_seed(x.shape[0]).initial_seed()

    return Case(f, (t(3),), dynamic_shapes=({0: Dim.AUTO},), also=[((t(5),), {})])


@refused("outside-object")
def popped_and_put_back():
    numbers = {8, 16, 0, 24}

    def f(x):
        number = numbers.pop()
        numbers.add(number)
        return x * number

    return f, (t(3),)


@equal
def popped_from_a_set_of_the_run():
    def f(x):
        numbers = {8, 16, 0, 24}
        return x * numbers.pop() + sum(numbers)

    return f, (t(3),)


@equal
def popped_from_a_set_that_forward_fills():
    pending = set()

    def f(x):
        pending.add(3)
        while pending:
            x = x * pending.pop()
        return x

    return f, (t(3),)


@refused("unrecordable-value")
def generator_seeded_by_the_system():
    def f(x):
        generator = torch.Generator()
        generator.seed()
        return x * (generator.initial_seed() % 7)

    return (f, (t(3),))


@refused("unrecordable-value")
def state_of_a_generator_seeded_by_the_system():
    def f(x):
        generator = torch.Generator()
        generator.seed()
        return x * generator.get_state()[:3]

    return (f, (t(3),))
