"""tracing/heap/generations.py: what is from outside, and what a run has made, by the collector's own lists."""

from __future__ import annotations

import gc
from typing import Any

from dynamo_lite.tracing.heap.generations import Heap, Table


def test_what_was_made_is_found_by_generation_and_by_a_look_before() -> None:
    heap = Heap()
    old: list[Any] = [[] for _ in range(3)]
    heap.begin()
    try:
        listed, dying = [[] for _ in range(3)], [[] for _ in range(2000)]
        heap.refresh()
        del dying  # the collector may give their places to what is made now
        fresh: list[Any] = [[] for _ in range(2000)]
        gc.collect(0)
        fresh += [[] for _ in range(3)]
        asked = [*old, *listed, *fresh]
        assert heap.new_among(asked) == {*map(id, listed), *map(id, fresh)}
        assert heap.new_among(old) == set()
        assert heap.listed_among([*old, *listed]) == {*map(id, listed)}
        assert [heap.is_new(item) for item in (*old, *listed)] == [False] * 3 + [True] * 3
    finally:
        heap.end()
    heap.begin()  # what was young is from outside now
    try:
        assert heap.new_among(asked) == set()
    finally:
        heap.end()


def test_a_table_of_the_tracer_holds_nothing_for_the_program() -> None:
    """From Python 3.14 on the collector tracks each dict: one that held what the run had made was an older holder."""
    table, mine, heap = Table({0: []}), {0: []}, Heap()  # the lists make the dicts tracked on each version
    for holder, found in ((table, False), (mine, True)):
        heap.begin()
        made: Any = bytearray(1)
        holder[id(made)] = made
        heap.refresh()
        outside = heap.outside([made], {id(made)}, lambda owners, ids: set(), set())
        heap.end()
        assert outside == ({id(made)} if found else set())
