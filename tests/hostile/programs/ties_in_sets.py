"""Comparisons that pick items of a set whose order is that of addresses: equal items show the order."""

from __future__ import annotations

import heapq

from tests.export.probe import equal, refused, t


class K:
    def __init__(self, n):
        self.n = n


class Ordered(K):
    def __lt__(self, other):
        return self.n < other.n

    def __gt__(self, other):
        return self.n > other.n


class Unordered(K):
    def __lt__(self, other):
        return False


def made(kind=K):
    return {kind(i) for i in range(8)}


@refused('unrecordable-id')
def sorted_by_a_constant():
    return lambda x: x * sorted(made(), key=lambda k: 0)[0].n, (t(3),)


@refused('unrecordable-id')
def sorted_by_pairs():
    return lambda x: x * sorted(made(), key=lambda k: k.n // 2, reverse=True)[0].n, (t(3),)


@refused('unrecordable-id')
def sorted_by_no_order():
    return lambda x: x * sorted(made(Unordered))[0].n, (t(3),)


@refused('unrecordable-id')
def largest():
    return lambda x: x * max(made(), key=lambda k: 1).n, (t(3),)


@refused('unrecordable-id')
def smallest():
    return lambda x: x * min(frozenset(made()), key=lambda k: k.n // 4).n, (t(3),)


@refused('unrecordable-id')
def heap():
    return lambda x: x * heapq.nlargest(1, made(), key=lambda k: 0)[0].n, (t(3),)


@equal
def without_ties():
    def f(x):
        kept = made()
        ordered = sorted(kept, key=lambda k: -k.n), sorted(made(Ordered), reverse=True)
        picked = max(kept, key=lambda k: k.n), min(kept, key=lambda k: abs(k.n - 3) * 2 + (k.n > 3)), max(made(Ordered))
        return x, [[k.n for k in items] for items in ordered], [k.n for k in picked], min(set(), default=4)

    return f, (t(3),)


@equal
def a_key_is_asked_once():
    def f(x):
        asked = []

        def key(k):
            asked.append(k.n)
            return k.n

        first = sorted(made(), key=key)[0].n
        return x * first, len(asked)

    return f, (t(3),)


@equal
def errors():
    def f(x):
        try:
            return sorted(made())
        except TypeError as error:
            return x + 1, str(error)

    return f, (t(3),)


@equal
def ties_of_numbers():
    return lambda x: x * sorted({3, 5, 8}, key=lambda k: 0)[0] + max({1.5, 2}, key=lambda k: 0), (t(3),)
