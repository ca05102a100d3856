"""`while` loops whose number of rounds depends on a size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F


def adds_chunks(x: Any) -> Any:
    out, i, n = [], 0, x.shape[0]
    while i < n:
        out.append(x[i : i + 4].softmax(0))
        i += 4
    return torch.cat(out)


def sum_of_rows(x: Any) -> Any:
    i, acc = 0, torch.zeros(3)
    while i < x.shape[0]:
        acc = acc * 0.5 + x[i]
        i += 1
    return acc


def halves(x: Any) -> Any:
    n, y = x.shape[0], x.sum(0)
    while n > 1:
        y = y * 2 + n
        n = n // 2
    return y


def keeps_a_view(x: Any) -> Any:
    rest, out = x, torch.zeros(3)
    while len(rest) > 4:
        part, rest = rest[:4], rest[4:]
        out = out + part.sum(0)
    return out + rest.sum(0)


def grows_a_tensor(x: Any) -> Any:
    n = x.shape[0]
    while n % 4:
        x = F.pad(x, (0, 0, 0, 1))
        n += 1
    return x.view(-1, 4, 3).sum(1)


def next_power(x: Any) -> Any:
    p = 1
    while p < x.shape[0]:
        p *= 2
    return F.pad(x, (0, 0, 0, p - x.shape[0]))


def levels(x: Any) -> Any:
    n, k = x.shape[0], 0
    while n > 1:
        n = (n + 1) // 2
        k += 1
    return x * k


def reduces_pairs(x: Any) -> Any:
    while x.shape[0] > 1:
        h = x.shape[0] // 2
        x = torch.cat([x[:h] + x[h:2*h], x[2*h:]])
    return x


def gives_a_view(x: Any) -> Any:
    while x.shape[0] > 4:
        x = x[2:]
    return x


def breaks(x: Any) -> Any:
    i, acc = 0, torch.zeros(3)
    while True:
        if i >= x.shape[0]:
            break
        acc = acc * 0.5 + x[i]
        i += 2
    return acc


def counts_down(x: Any) -> Any:
    i, out = x.shape[0] - 1, []
    while i >= 0:
        out.append(x[i] * 2)
        i -= 1
    return torch.stack(out)


def what_is_left(x: Any) -> Any:
    left, acc = x.shape[0], torch.zeros(())
    while left > 0:
        k = min(4, left)
        acc = acc + x[x.shape[0]-left:x.shape[0]-left+k].mean()
        left -= k
    return acc


def sum_of_chunks(x: Any) -> Any:
    i, acc, n = 0, torch.zeros(3), x.shape[0]
    while i < n:
        acc = acc + x[i:i+4].softmax(0).sum(0) * i
        i += 4
    return acc, i


def two_ends(x: Any) -> Any:
    lo, hi, acc = 0, x.shape[0] - 1, torch.zeros(3)
    while lo < hi:
        acc = acc + x[lo] * x[hi]
        lo, hi = lo + 1, hi - 1
    return acc


def continues(x: Any) -> Any:
    i, acc = 0, torch.zeros(3)
    while i < x.shape[0]:
        i += 1
        if i % 2:
            continue
        acc = acc + x[i - 1]
    return acc


def returns(x: Any) -> Any:
    i = 0
    while i < x.shape[0]:
        if x[i].sum() > 1:
            return x[i]
        i += 1
    return x[0] * 0


def breaks_or_else(x: Any) -> Any:
    i = 0
    while i < x.shape[0]:
        if x[i].sum() > 1:
            break
        i += 1
    else:
        return x[0] * 0
    return x[i] + i


def changes_rows(x: Any) -> Any:
    i, y = 0, x.clone()
    while i < x.shape[0]:
        y[i] = y[i] * i
        i += 3
    return y


def changes_the_input(x: Any) -> Any:
    i = 0
    while i < x.shape[0]:
        x[i].mul_(2)
        i += 2
    return x + 0


def adds_texts(x: Any) -> Any:
    i, names = 0, []
    while i < x.shape[0]:
        names.append("row")
        i += 4
    return x * len(names)


def next_multiple(x: Any) -> Any:
    n = x.shape[0]
    while n % 4:
        n += 1
    return F.pad(x, (0, 0, 0, n - x.shape[0])).view(-1, 4, 3).sum(1)


def power_of_a_counter(x: Any) -> Any:
    k = 0
    while 2 ** k < x.shape[0]:
        k += 1
    return x * k


def euclid(x: Any) -> Any:
    a, b = x.shape[0], 6
    while b:
        a, b = b, a % b
    return x * a


def nested_whiles(x: Any) -> Any:
    i, acc = 0, torch.zeros(())
    while i < x.shape[0]:
        j = 0
        while j < i:
            acc = acc + x[i, 0] * x[j, 1]
            j += 1
        i += 1
    return acc


def two_tests(x: Any) -> Any:
    i, acc = 0, torch.zeros(3)
    while i < x.shape[0] and i < 5:
        acc = acc + x[i]
        i += 1
    return acc


def size_and_data(x: Any) -> Any:
    i, acc = 0, torch.zeros(3)
    while i < x.shape[0] and acc.sum() < 2:
        acc = acc + x[i]
        i += 1
    return acc


def rest_of_size(x: Any) -> Any:
    n = x.shape[0]
    while n > 4:
        n -= 4
    return x[:n], n


CAPTURED: list[Callable[[Any], Any]] = [
    sum_of_rows, halves, next_power, levels, reduces_pairs, breaks, counts_down, what_is_left, sum_of_chunks,
    two_ends, continues, returns, breaks_or_else, changes_rows, changes_the_input, next_multiple, euclid,
    nested_whiles, two_tests, size_and_data, rest_of_size,
]  # fmt: skip
NOT_CAPTURED: list[Callable[[Any], Any]] = [
    adds_chunks, keeps_a_view, grows_a_tensor, gives_a_view, adds_texts, power_of_a_counter,
]  # fmt: skip
