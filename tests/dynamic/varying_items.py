"""Programs that make a varying number of items one by one: generators, map, filter, and what consumes them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import torch


def _soft(piece: torch.Tensor) -> torch.Tensor:
    return piece.softmax(0) * 2


def sum_of_pieces(x: Any) -> Any:
    return sum(_soft(c).sum(0) for c in x.split(4))


def sum_with_start(x: Any) -> Any:
    return sum((c.mean() for c in x.split(4)), start=torch.ones(()))


def sum_of_numbers(x: Any) -> Any:
    return x * sum(min(4, x.shape[0] - i) for i in range(0, x.shape[0], 4))


def sum_of_rows(x: Any) -> Any:
    return sum(x.unbind(0))


def consumed_tensors(x: Any) -> Any:
    rows = x.sum(1)
    return sum(x, torch.ones(3)), max(rows), min(rows), any(rows > 1), all(rows > -9), math.prod(rows)


def starred_map(x: Any) -> Any:
    return torch.cat([x[:1], *map(_soft, x.split(4)), x[-1:]])


def starred_generator(x: Any) -> Any:
    return torch.cat((*(_soft(c) for c in x.split(4)),))


def list_of_map(x: Any) -> Any:
    return torch.stack(list(map(lambda a, b: a * b, x, x.flip(0))))


def tuple_of_generator(x: Any) -> Any:
    return torch.cat(tuple(_soft(c) for c in x.split(4)))


def list_of_generator(x: Any) -> Any:
    return torch.stack(list(r.sin() for r in x.unbind(0)))  # noqa: C400


def generator_in_variable(x: Any) -> Any:
    pieces = (c * 2 for c in x.split(4))
    return torch.cat(list(pieces)) * (len(list(pieces)) + 1)  # at its end by then


def map_in_variable(x: Any) -> Any:
    pieces = map(_soft, x.split(4))
    return torch.cat(list(pieces))


def pieces_in_variable(x: Any) -> Any:
    pieces = x.split(4)
    return torch.cat([_soft(c) for c in pieces]) * len(pieces)


def cat_of_pieces(x: Any) -> Any:
    return torch.cat(x.split(4)), torch.stack(x.unbind(0), 1)


def largest(x: Any) -> Any:
    return max(r.sum() for r in x) - min(c.sum() for c in x.split(4))


def largest_number(x: Any) -> Any:
    return x * max(min(4, x.shape[0] - i) for i in range(0, x.shape[0], 4))


def product(x: Any) -> Any:
    return math.prod(c.mean() for c in x.split(4))


def reduced(x: Any) -> Any:
    return functools.reduce(lambda a, b: a * 0.5 + b, x.unbind(0)), functools.reduce(torch.add, x, torch.ones(3))


def any_stops(x: Any) -> Any:
    seen = torch.zeros(())

    def is_large(piece: Any) -> Any:
        seen.add_(1)
        return piece.sum() > 1

    return (x * 2 if any(is_large(c) for c in x.split(4)) else x + 1), seen


def all_stops(x: Any) -> Any:
    seen = torch.zeros(())

    def is_large(row: Any) -> Any:
        seen.add_(1)
        return row.sum() > -1

    return (x * 2 if all(map(is_large, x)) else x + 1), seen


def any_by_sizes(x: Any) -> Any:
    return any(c.shape[0] < 4 for c in x.split(4))


def conditional(x: Any) -> Any:
    return sum((r.sin() for r in x if r.sum() > 0), torch.zeros(3))


def filtered(x: Any) -> Any:
    return torch.stack([torch.zeros(3), *filter(lambda r: r.sum() > 0, x)])


def nested(x: Any) -> Any:
    return sum(c.sum() * k for k in (1, 2) for c in x.split(4)), sum((a * b).sum() for a in x for b in x)


def generator_of_generator(x: Any) -> Any:
    return sum(_soft(c).sum() for c in (d * 2 for d in x.split(4)))


def rows_of_chunks(x: Any) -> Any:
    """Rounds that add unlike numbers of items to one list."""
    outs = []
    for i in range(0, x.shape[0], 4):
        for j in range(i, min(i + 4, x.shape[0])):
            outs.append(x[j] * j)
    return torch.stack(outs), len(outs)


def rows_before(x: Any) -> Any:
    outs = []
    for i in range(x.shape[0]):
        for j in range(i + 1):
            outs.append(x[j] * i)
    return torch.stack(outs)


def chosen_of_chunks(x: Any) -> Any:
    outs = [x[0]]
    for piece in x.split(4):
        for row in piece:
            if row.sum() > 0:
                outs.append(row)
    return torch.stack(outs)


def neighbours(x: Any) -> Any:
    total = sum((b * a for a, b in pairwise(x)), x[0])
    for at, (i, j) in enumerate(pairwise(range(0, x.shape[0], 4))):
        total = total + x[i:j].sum(0) * at
    return total


def extended(x: Any) -> Any:
    outs = [x[:1]]
    outs.extend(_soft(c) for c in x.split(4))
    outs.extend(map(_soft, x.split(4)))
    return torch.cat(outs)


def function_with_state(x: Any) -> Any:
    def states(rows: Any) -> Iterator[Any]:
        h = torch.zeros(3)
        for row in rows:
            h = torch.tanh(h + row)
            yield h

    return torch.stack(list(states(x)))


def for_over_function(x: Any) -> Any:
    log = torch.zeros(())

    def pieces() -> Iterator[Any]:
        log.add_(5)  # at the first item, not at the call
        for i in range(0, x.shape[0], 4):
            yield _soft(x[i : i + 4]) * log

    made = pieces()
    log.mul_(2)
    outs = []
    for piece in made:
        log.add_(1)
        outs.append(piece + log)
    return torch.cat(outs)


def for_over_map(x: Any) -> Any:
    outs = []
    for i, piece in enumerate(map(_soft, x.split(4))):
        outs.append(piece + i)
    return torch.cat(outs)


def for_over_zip(x: Any) -> Any:
    outs = []
    for a, b in zip((r * 2 for r in x), map(torch.sin, x)):
        outs.append(a + b)
    return torch.stack(outs)


def yields_what_it_changes(x: Any) -> Any:
    total = torch.zeros(3)

    def totals() -> Iterator[Any]:
        for row in x:
            total.add_(row)
            yield total

    return sum(totals(), torch.zeros(3))


def changes_what_is_yielded(x: Any) -> Any:
    total = torch.zeros(3)

    def totals() -> Iterator[Any]:
        for row in x:
            total.add_(row)
            yield total

    outs = []
    for now in totals():
        outs.append(now + 1)
        now.mul_(2)
    return torch.stack(outs)


def changes_the_input(x: Any) -> Any:
    for piece in map(lambda c: c, x.split(4)):  # noqa: C417
        piece.mul_(2)
    return x + 0


def largest_row(x: Any) -> Any:
    return max(x.unbind(0), key=lambda row: row.sum())


def largest_by_outer_value(x: Any) -> Any:
    weight = x.sum(0)
    return max(x, key=lambda row, half=0.5: (row * weight).sum() * half), min(x, key=torch.sum)


def smallest_computed_row(x: Any) -> Any:
    return min((row * 2 for row in x.unbind(0)), key=lambda row: row[0])


def largest_chunk(x: Any) -> Any:
    return max((c.sum(0) for c in x.split(4)), key=torch.sum)


def first_of_equals(x: Any) -> Any:
    """Items with equal keys: the first one is taken."""
    numbered = [row * 0 + i for i, row in enumerate(x)]
    return max(numbered, key=lambda row: row.sum() * 0), min(numbered, key=lambda row: row.sum() * 0)


def number_by_key(x: Any) -> Any:
    return x * max((i % 5 for i in range(x.shape[0])), key=lambda value: -value)


def largest_or_default(x: Any) -> Any:
    return max((row.sum() for row in x.unbind(0)), default=None), min(x.unbind(0), key=torch.sum, default=x)


PROGRAMS: list[Callable[[Any], Any]] = [
    fn for fn in [*globals().values()] if getattr(fn, "__module__", "") == __name__ and not fn.__name__.startswith("_")
]


# -- not captured: as in eager at the sizes that are admitted ----------------------------------------------------------


def changes_items_later(x: Any) -> Any:
    total = torch.zeros(3)

    def totals() -> Iterator[Any]:
        for row in x:
            total.add_(row)
            yield total

    return torch.stack(list(totals()))


def stops_within(x: Any) -> Any:
    def first(piece: Any) -> Any:
        raise StopIteration

    try:
        return sum(first(c) for c in x.split(4))
    except RuntimeError as error:
        return x + len(str(error))


def stops_within_map(x: Any) -> Any:
    def first(piece: Any) -> Any:
        raise StopIteration

    return torch.cat([*map(first, x.split(4)), x])


def waits_in_try(x: Any) -> Any:
    ends = []

    def pieces() -> Iterator[Any]:
        try:
            yield from x.split(4)
        finally:
            ends.append(x.sum())

    return sum(c.sum() for c in pieces()) + ends[0]


def waits_in_no_grad(x: Any) -> Any:
    def pieces() -> Iterator[Any]:
        with torch.no_grad():
            for c in x.split(4):
                yield c * 2

    return torch.cat(list(pieces()))


def begun(x: Any) -> Any:
    pieces = (c * 2 for c in x.split(4))
    return next(pieces).sum() + sum(c.sum() for c in pieces)


def unequal_zip(x: Any) -> Any:
    calls = torch.zeros(())

    def counted(row: Any) -> Any:
        calls.add_(1)
        return row

    outs = [a + b for a, b in zip(map(counted, x), x[:2])]
    return torch.stack(outs), calls


def zip_with_list(x: Any) -> Any:
    return torch.stack([c.sum() * k for c, k in zip(x.split(4), [1, 2, 3])])


def fills_its_own_list(x: Any) -> Any:
    def rows() -> Iterator[Any]:
        seen = []
        for row in x:
            seen.append(row)
            yield row * len(seen)

    outs = []
    for row in rows():
        outs.append(row)
    return torch.stack(outs)


def raises_for_short_pieces(x: Any) -> Any:
    def whole(piece: Any) -> Any:
        if piece.shape[0] < 4:
            raise ValueError("short")
        return piece

    try:
        return torch.cat(list(whole(c) for c in x.split(4)))  # noqa: C400
    except ValueError:
        return x - 1


def returns_a_list(x: Any) -> Any:
    return list(c * 2 for c in x.split(4))  # noqa: C400


def keys_with_effects(x: Any) -> Any:
    """The keys are computed in the order of the items."""
    seen = [x.sum(0)]

    def key(row: Any) -> Any:
        seen.append(row * 2)
        return row.sum()

    return max(x.unbind(0), key=key), torch.stack(seen)


NOT_CAPTURED: list[Callable[[Any], Any]] = [
    changes_items_later, stops_within, stops_within_map, waits_in_try, waits_in_no_grad, begun, unequal_zip,
    zip_with_list, fills_its_own_list, raises_for_short_pieces, returns_a_list, keys_with_effects,
]  # fmt: skip


def goes_on_after_any(x: Any) -> Any:
    rows = (row for row in x)
    found = any(row.sum() > 1 for row in rows)
    return found, sum(row.sum() for row in rows)


def goes_on_after_any_of_itself(x: Any) -> Any:
    positive = (row.sum() > 0 for row in x)
    return x * (2 if any(positive) and not any(positive) else 3)


def goes_on_after_any_of_map(x: Any) -> Any:
    large = map(lambda row: row.sum() > 1, x)  # noqa: C417
    return x * (2 if any(large) else 3) * (5 if any(large) else 7)


def goes_on_after_break(x: Any) -> Any:
    sums, total = (row.sum() for row in x), x.new_zeros(())
    for value in sums:
        if value > 0.5:
            break
        total = total + value
    return total + 10 * sum(sums)


def pairs_of_one_generator(x: Any) -> Any:
    rows, total = (row for row in x), x.new_zeros(3)
    for one, other in zip(rows, rows):
        total = total + one * other
    return total


def goes_on_after_all_of_two(x: Any) -> Any:
    sums = (row.sum() for row in x.unbind())
    twice = (value * 2 for value in sums)
    return all(value > -2 for value in twice), sum(sums)


def goes_on_after_any_of_an_iterator(x: Any) -> Any:
    rows = iter(x.unbind())
    return any(row.sum() > 1 for row in rows), sum(rows)


def goes_on_after_known_items(x: Any) -> Any:
    x = x * 2 if x.sum() > 0 else x - 1
    large = (value > 1 for value in [1, 2, 3, 4])
    return x, any(large), [*large]


def goes_on_after_an_error(x: Any) -> Any:
    x = x * 2 if x.sum() > 0 else x - 1
    values: Any = (value for value in [1, "a", 3])
    try:
        sum(values)
    except TypeError:
        return x, [*values]


GO_ON: list[Callable[[Any], Any]] = [
    goes_on_after_any, goes_on_after_any_of_itself, goes_on_after_any_of_map, goes_on_after_break,
    pairs_of_one_generator, goes_on_after_all_of_two, goes_on_after_any_of_an_iterator, goes_on_after_known_items,
    goes_on_after_an_error,
]  # fmt: skip
