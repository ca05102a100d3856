"""Programs with values that only run time knows.

`x` is a float tensor [6, 4], `t` an int64 tensor [3], `k` a number in a tensor.
"""

# Programs as users write them, odd ones too.
# ruff: noqa: SIM201

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import (
    guard_or_false,
    guard_or_true,
    guard_size_oblivious,
    statically_known_true,
)

PROGRAMS: dict[str, Callable[..., Any]] = {}


def program(forward: Callable[..., Any]) -> Callable[..., Any]:
    PROGRAMS[forward.__name__] = forward
    return forward


# -- numbers -------------------------------------------------------------------------------------------------------


@program
def item(x, t, k):
    n = k.item()
    return x * n + n // 2, n, n % 3, n / 2


@program
def float_item(x, t, k):
    s = x.sum().item()
    return x * s, s + 1, s / 2, abs(s)


@program
def bool_item(x, t, k):
    b = (x.sum() > 0).item()
    return x * torch.sym_ite(b, 2, 3), b


@program
def int_float_of_tensors(x, t, k):
    return x * int(k), x * float(k), x + int(x.sum()), float(x.max())


@program
def tolist(x, t, k):
    a, b, c = t.tolist()
    return x * a + b - c


@program
def tolist_of_two_dimensions(x, t, k):
    rows = torch.stack([t, t + 1]).tolist()
    return x * rows[1][2], sum(rows[0])


@program
def items_in_a_loop(x, t, k):
    for i in range(3):
        x = x + t[i].item()
    return x


@program
def item_twice_is_one_value(x, t, k):
    torch._check(k.item() == k.item())
    return x * k.item() - k.item()


@program
def numbers_in_containers(x, t, k):
    sizes = {"n": k.item(), "rest": [v.item() for v in t]}
    return x * sizes["n"] + sum(sizes["rest"]) + max(sizes["rest"]) + min(sizes["n"], 3)


@program
def arithmetic_of_unbacked(x, t, k):
    n = k.item()
    torch._check(n > 0)
    return x * (100 // n), -n, n**2, math.floor(n / 2), round(n / 3), divmod(n, 2), n << 1


@program
def unbacked_is_an_int(x, t, k):
    n = k.item()
    return x * 2 if isinstance(n, int) and type(n) is int and n is not None else x


@program
def literal_of_items(x, t, k):
    return torch.tensor([k.item(), 3]), torch.tensor(k.item() + 1), x.new_tensor([k.item() * 2])


# -- sizes ---------------------------------------------------------------------------------------------------------


@program
def nonzero(x, t, k):
    rows = torch.nonzero(x > 0)
    return rows, rows.shape[0], x[rows[:, 0]]


@program
def nonzero_as_tuple(x, t, k):
    i, j = torch.nonzero(x > 0, as_tuple=True)
    return x[i, j], i + j


@program
def where_of_one(x, t, k):
    (i, j) = torch.where(x > 0)
    return i * 2, j


@program
def boolean_index(x, t, k):
    y = x[x > 0]
    return y * 2, y.sum(), y.numel()


@program
def boolean_index_of_rows(x, t, k):
    y = x[x[:, 0] > 0]
    return y @ x.t(), y.mean(1)


@program
def masked_select(x, t, k):
    return torch.masked_select(x, x > 0).cumsum(0)


@program
def unique(x, t, k):
    values, inverse, counts = torch.unique(t, return_inverse=True, return_counts=True)
    return values, inverse, counts


@program
def unique_consecutive(x, t, k):
    return torch.unique_consecutive(t)


@program
def repeat_interleave(x, t, k):
    return torch.repeat_interleave(x[:3], t, dim=0)


@program
def bincount(x, t, k):
    return torch.bincount(t)


@program
def masked_assignment(x, t, k):
    y = x.clone()
    y[y > 0] = 1
    y[y < 0] *= 2
    return y


@program
def empty_result(x, t, k):
    y = x[x > 1000]
    return y, y.sum()


@program
def concatenation_of_masks(x, t, k):
    return torch.cat([x[x > 0], x[x <= 0]])


@program
def softmax_of_a_mask(x, t, k):
    return x[x > -1000].softmax(0)


# -- slices, indices, factories ------------------------------------------------------------------------------------


@program
def slice_by_an_item(x, t, k):
    n = k.item()
    torch._check(n >= 0)
    torch._check(n <= x.shape[0])
    return x[:n], x[:n].sum(0)


@program
def slice_by_a_size(x, t, k):
    n = k.item()
    torch._check_is_size(n)
    torch._check(n <= 4)
    return x[:, :n]


@program
def slice_without_a_check(x, t, k):
    return x[: k.item()].sum()


@program
def index_by_an_item(x, t, k):
    n = k.item()
    torch._check(n >= 0)
    torch._check(n < x.shape[0])
    return x[n], x[n, 1:], x[n][0]


@program
def index_without_a_check(x, t, k):
    return x[k.item()]


@program
def index_by_a_tensor_without_dimensions(x, t, k):
    y = x.clone()
    y[k] = 0
    y[-k, 1:] += 1
    return x[x.sum(1).argmax()], x[k, :2], x[:, t[0] - 1], y, x[None, k], x[k, t[:1]]


@program
def select_by_an_item(x, t, k):
    return x.select(0, k.item()), x.index_select(0, t)


@program
def narrow_from_an_item(x, t, k):
    n = k.item()
    torch._check(n >= 0)
    torch._check(n <= 4)
    return x.narrow(0, n, 2)


@program
def narrow_of_a_length(x, t, k):
    n = k.item()
    torch._check_is_size(n)
    torch._check(n <= 6)
    return x.narrow(0, 0, n)


@program
def factories(x, t, k):
    n = k.item()
    torch._check_is_size(n)
    return torch.arange(n), torch.zeros(n), torch.ones(n, 2), torch.full((n,), n), torch.empty(n).fill_(1)


@program
def expand_to_a_size(x, t, k):
    n = k.item()
    torch._check_is_size(n)
    return x[0].expand(n, 4), x[:1].repeat(n, 1)


@program
def view_by_a_size(x, t, k):
    n = k.item()
    torch._check(n >= 1)
    torch._check(24 % n == 0)
    return x.reshape(n, 24 // n)


@program
def view_of_a_mask(x, t, k):
    y = x[x > -1000]
    return y.view(-1, 1), y.unsqueeze(0), y.reshape(y.shape[0], 1)


@program
def split_by_items(x, t, k):
    sizes = t.tolist()
    for size in sizes:
        torch._check_is_size(size)
    torch._check(sum(sizes) == 6)
    return torch.split(x, sizes)


@program
def mask_from_lengths(x, t, k):
    n = k.item()
    torch._check_is_size(n)
    return torch.arange(n)[None, :] < t[:, None]


@program
def range_of_an_item(x, t, k):
    n = k.item()
    torch._check(n == 2)
    return [x * i for i in range(n)]


@program
def padding_by_an_item(x, t, k):
    n = k.item()
    torch._check_is_size(n)
    return torch.nn.functional.pad(x, (0, n))


@program
def linear_on_a_mask(x, t, k):
    rows = x[x.sum(1) > -1000]
    return torch.nn.functional.linear(rows, x), rows @ x.t(), torch.relu(rows), torch.layer_norm(rows, (4,))


# -- questions -----------------------------------------------------------------------------------------------------


@program
def checks(x, t, k):
    n = k.item()
    torch._check(n > 0, lambda: "positive")
    torch._check_value(n < 100, lambda: f"small {n}")
    torch._check_index(n < 50)
    torch._check_is_size(n)
    return x * n if n >= 1 else x


@program
def a_check_answers_a_branch(x, t, k):
    n = k.item()
    torch._check(n >= 2)
    torch._check(n <= 5)
    if n > 1 and n < 6 and not n == 7:
        return x + n
    return x


@program
def assertion_on_an_item(x, t, k):
    n = k.item()
    assert n > 0, "positive"
    assert n < 10 and n != 7
    assert 0 <= n <= 50 and (n < 40 or n < 30), f"not {n}"
    return x + n if n > 0 else x


@program
def assertion_on_a_tensor(x, t, k):
    assert (x < 1000).all(), "too big"
    assert not (x > 2000).any()
    assert k > 0
    return x * 2


@program
def float_powers(x, t, k):
    n = k.item()
    total = x.sum().item()
    return math.pow(min(n, 10) - 4, 3), math.pow(n - 100, 2.0), math.pow(4 - n, 0), total**3, total**2.0, (-total) ** 3


@program
def functions_of_symbols(x, t, k):
    n = k.item()
    either = torch.sym_ite(n > 3, n, n + 1)
    return torch.sym_min(n, 3), torch.sym_max(n, 3), torch.sym_not(n > 3), either, torch.sym_float(n)


@program
def guards_with_a_fallback(x, t, k):
    n = k.item()
    if guard_or_false(n == 77):
        return x
    if guard_or_true(n != 78):
        x = x + 1
    if guard_size_oblivious(x.shape[0] == 1):
        return x
    torch._check(n > 0)
    if statically_known_true(n > 0):
        return x * 3
    return x + 5


@program
def branch_on_sizes_that_are_known(x, t, k):
    y = x[x > 0]
    if y.shape[0] >= 0 and y.dim() == 1:
        return y
    return x


@program
def iteration_over_columns(x, t, k):
    y = x[x[:, 0] > -1000]
    return [column.sum() for column in y.unbind(1)]


def asserts_a_buffer(module, x, i):
    """Here, as pytest rewrites the asserts of its own files."""
    assert module.n, "n must not be zero"
    return x * module.n
