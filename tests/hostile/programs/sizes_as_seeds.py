"""Generators of Python that forward makes, with a size as the seed"""

from __future__ import annotations

import random

from tests.export.probe import auto, equal, t


@equal
def given_when_made():
    def f(x):
        own = random.Random(x.shape[0])
        return x * own.random(), own.randint(0, 9)

    return auto(f, t(3), also=(t(4),))


@equal
def given_later():
    def f(x):
        own = random.Random(0)
        own.seed(x.shape[0] + 1)
        return x * own.choice([1, 2, 3])

    return auto(f, t(3), also=(t(4),))
