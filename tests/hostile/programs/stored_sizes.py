"""Sizes that C code stores as keys: a missing key of a defaultdict, elements of a torch.Size or a named tuple."""

from __future__ import annotations

import collections
from typing import NamedTuple

from torch.export import Dim

from tests.export.probe import Case, equal, t


def of_sizes(program):
    return Case(program, (t(6, 4),), dynamic_shapes=({0: Dim.AUTO},), also=[((t(5, 4),), {}), ((t(4, 4),), {})])


@equal
def missing_in_a_defaultdict():
    def f(x):
        table = collections.defaultdict(lambda: 3)
        return x * table[x.shape[0]] + len(table)

    return of_sizes(f)


@equal
def counted():
    def f(x):
        counts = collections.Counter(x.shape)
        counts[6] += 1
        return x * counts[6] + counts.total()

    return of_sizes(f)


@equal
def counted_from_a_named_tuple():
    class Sizes(NamedTuple):
        rows: int
        columns: int

    def f(x):
        return x * collections.Counter(Sizes(*x.shape))[4]

    return of_sizes(f)


@equal
def set_of_a_shape():
    def f(x):
        return x * len(set(x.shape)) + len(dict.fromkeys(x.shape))

    return of_sizes(f)
