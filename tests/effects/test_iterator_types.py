"""tracing/heap/iterator_types.py: the state of an iterator, which itertools does not tell from Python 3.14 on."""

from __future__ import annotations

import copy
import fractions
import heapq
import itertools
import sys
from typing import Any

import pytest

from dynamo_lite.tracing.heap.iterator_types import reduced
from dynamo_lite.tracing.policy.classify import classify
from dynamo_lite.tracing.policy.verdicts import CallKind
from dynamo_lite.tracing.sizes.decisions_in_c import HEAPS

HALF = fractions.Fraction(1, 2)
COUNTS = [(), (3,), (-3,), (3, 2), (3, -1), (1 << 70,), (sys.maxsize - 5,), (1.5,), (0, HALF), (HALF, 1 << 70)]


@pytest.mark.parametrize("args", COUNTS, ids=str)
@pytest.mark.parametrize("taken", [0, 1, 3])
def test_a_count_made_again_counts_on(args: tuple[Any, ...], taken: int) -> None:
    count = itertools.count(*args)
    for _ in range(taken):
        next(count)
    make, given = reduced(count)
    assert [*itertools.islice(make(*given), 3)] == [*itertools.islice(count, 3)]


def test_other_iterators_tell_themselves() -> None:
    iterator = iter([1, 2, 3])
    next(iterator)
    assert [*copy.copy(iterator)] == [2, 3] and reduced(iterator) == iterator.__reduce__()


@pytest.mark.skipif(sys.version_info < (3, 14), reason="itertools has states before")
@pytest.mark.parametrize("iterator", [itertools.cycle([1]), itertools.chain([1]), itertools.islice([1], 1)])
def test_iterators_without_a_state(iterator: Any) -> None:
    with pytest.raises(TypeError, match="cannot pickle"):
        reduced(iterator)


@pytest.mark.parametrize("function", HEAPS, ids=lambda function: function.__name__)
def test_each_function_of_heaps_changes_its_list(function: Any) -> None:
    assert classify(function).kind is CallKind.MUTATES


def test_the_functions_of_max_heaps() -> None:
    assert len(HEAPS) == (10 if hasattr(heapq, "heappush_max") else 5)
