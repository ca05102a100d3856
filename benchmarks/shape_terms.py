"""Queries in the oracle's term language: what a generator of them needs. Sizes are named by one letter each."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Term = Any
Range = tuple[float, float]
SIZE: Range = (0, math.inf)
POSITIVE: Range = (1, math.inf)
DYNAMIC: Range = (2, math.inf)
ANY: Range = (-math.inf, math.inf)


@dataclass
class Query:
    """Facts and a question over named run-time integers with ranges."""

    facts: list[Term]
    goal: Term
    ranges: dict[str, Range]


Generator = Callable[[random.Random], Query]
Goals = list[tuple[list[Term], Term]]
"""Facts and the question, to choose from."""
Comparisons = list[tuple[Term, str, Term]]


# -- writing terms -------------------------------------------------------------------------------------------------
def add(*terms: Term) -> Term:
    result = terms[0]
    for term in terms[1:]:
        result = ("+", result, term)
    return result


def times(*terms: Term) -> Term:
    result = terms[0]
    for term in terms[1:]:
        result = ("*", result, term)
    return result


def sub(a: Term, b: Term) -> Term:
    return ("-", a, b)


def up(a: Term, b: Term) -> Term:
    """The quotient rounded up, as programs write it: (a + b - 1) // b."""
    return ("//", ("+", a, b - 1) if isinstance(b, int) else sub(("+", a, b), 1), b)


def clamp(x: Term, lo: Term, hi: Term) -> Term:
    return ("min", ("max", x, lo), hi)


def divides(k: Term, x: Term) -> Term:
    return ("==", ("%", x, k), 0)


def of(rng: random.Random, names: str, *ends: Range) -> dict[str, Range]:
    """A range for each name: one of `ends`, or in a third of the queries a small finite one."""
    if rng.random() < 1 / 3:
        most = {1: 400, 2: 60, 3: 24}.get(len(names), 9)
        return {n: (max(rng.choice(ends)[0], -most), rng.randint(most // 2, most)) for n in names}
    return {n: rng.choice(ends) for n in names}


def names_in(terms: list[Term]) -> set[str]:
    """The variables of some terms (an operator's name stands first in its tuple)."""
    found: set[str] = set()
    for term in terms:
        if isinstance(term, str):
            found.add(term)
        elif isinstance(term, tuple):
            found |= names_in(list(term[1:]))
    return found
