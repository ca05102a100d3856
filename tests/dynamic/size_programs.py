"""Programs that use sizes in Python code, each a function of tensors whose sizes are given beside it.

`@keeps(...)`: the sizes stay symbolic, and every shape of `also` is admitted. `@fixes(...)`: Python needs a number, so
the program may admit the example's sizes only; it must equal eager wherever it admits.
"""

# Programs as users write them, odd ones too.

from __future__ import annotations

import functools
import logging
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

Shapes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Program:
    name: str
    forward: Callable[..., Any]
    shapes: Shapes
    also: tuple[Shapes, ...]
    keeps: bool


LOG = logging.getLogger(__name__)
PROGRAMS: list[Program] = []
ONE: tuple[Shapes, ...] = ((((8, 3),)), (((5, 3),)), (((13, 3),)), (((2, 3),)))
TWO: tuple[Shapes, ...] = (((8, 3), (6, 3)), ((5, 3), (4, 3)), ((13, 3), (2, 3)))


def _add(shapes: tuple[Shapes, ...], keeps: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(forward: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS.append(Program(forward.__name__, forward, shapes[0], shapes[1:], keeps))
        return forward

    return add


def keeps(*shapes: Shapes) -> Any:
    """The program is exported with symbols, and admits all of the shapes."""
    return _add(shapes or ONE, True)


def fixes(*shapes: Shapes) -> Any:
    return _add(shapes or ONE, False)


# -- arithmetic ----------------------------------------------------------------------------------------------------


@keeps()
def arithmetic(x):
    n = x.shape[0]
    return x * (n + 1) * (2 - n) * (n * n), n - 1, 3 * n + 2


@keeps()
def floor_division_and_remainder(x):
    n = x.shape[0]
    return x.sum() * (n // 2) + n % 3, -n // 4, n // -3, (-n) % 3, n % -4


@keeps()
def true_division(x):
    n = x.shape[0]
    return x / n, x * (n / 2), 1 / n


@keeps()
def powers(x):
    n = x.shape[0]
    return x * n**2, x * n**-1, x * n**0.5, x * 2**n


@keeps()
def divmod_both_ways(x):
    n = x.shape[0]
    q, r = divmod(n, 3)
    q2, r2 = divmod(100, n)
    return x * q + r, q2, r2


@keeps()
def negation_and_inversion(x):
    n = x.shape[0]
    return x * -n, +n, ~n, abs(-n)


@keeps()
def shifts(x):
    n = x.shape[0]
    return x * (n << 1), n >> 1


@keeps()
def bitwise(x):
    n = x.shape[0]
    return x * (n & 3), n | 4, n ^ 1


@keeps()
def in_place_operators(x):
    n = x.shape[0]
    n += 1
    n *= 2
    n -= 3
    return x * n


@keeps()
def negative_divisors(x):
    n = x.shape[0]
    return x.sum() + (n - 10) // -3 + (n * -8) % -3, math.trunc((n - 10) / 2)


# -- conversions ---------------------------------------------------------------------------------------------------


@keeps()
def int_of_a_size(x):
    return x.view(int(x.shape[0]) * 3)


@keeps()
def int_of_half(x):
    n = x.shape[0]
    return x[: int(n / 2)], int(n * 0.5)


@keeps()
def float_power_of_a_number_that_may_be_negative(x):
    n = float(x.shape[0] - 5)
    return x * n**3.0 + n**2, x * math.pow(5 - x.shape[0], 3)


@keeps()
def float_of_a_size(x):
    return x / float(x.shape[0]) ** 0.5


@keeps()
def bool_of_a_size(x):
    return x * 2 if bool(x.shape[0]) else x


@keeps()
def truth_of_a_size(x):
    return x * 2 if x.shape[0] else x


@keeps()
def rounding(x):
    n = x.shape[0]
    return x * round(n), round(n / 3), round(n / 3, 1), math.floor(n / 3), math.ceil(n / 3), math.trunc(n / 3)


@keeps()
def round_to_tens(x):
    n = x.shape[0]
    return x * round(n, -1)


@keeps()
def square_root(x):
    n = x.shape[0]
    return x / math.sqrt(n), x[: int(math.sqrt(n))]


@keeps()
def products(x):
    return x.reshape(math.prod(x.shape)), functools.reduce(operator.mul, x.shape, 1), x.shape.numel(), x.numel()


@fixes()
def logarithm(x):
    return x * math.log(x.shape[0]), math.log2(x.shape[0])


@fixes()
def greatest_common_divisor(x):
    return x * math.gcd(x.shape[0], 12)


@keeps()
def operator_index(x):
    return x[: operator.index(x.shape[0]) - 1]


@keeps()
def attributes_of_an_int(x):
    n = x.shape[0]
    return x * n.real, n.numerator, n.denominator, n.imag, n.conjugate()


@fixes()
def bit_length(x):
    return x * x.shape[0].bit_length()


@fixes()
def complex_of_a_size(x):
    return x * complex(x.shape[0]).real


# -- comparison and truth ------------------------------------------------------------------------------------------


@keeps()
def branch_on_a_size(x):
    return x * 2 if x.shape[0] > 1 else x


@keeps(((8, 3),), ((9, 3),), ((20, 3),))
def chained_comparison(x):
    return x + 1 if 7 <= x.shape[0] < 100 else x


@keeps(((8, 3),), ((5, 3),))
def and_or_not(x):
    n, m = x.shape
    if (n > 4 and m == 3) or not n:
        return x + 1
    return x


@keeps(((8, 3),), ((9, 3),))
def bitwise_and_of_conditions(x):
    n = x.shape[0]
    return x + 1 if (n > 7) & (n < 30) else x


@keeps(((8, 3),), ((9, 3),))
def conditions_counted(x):
    return x * sum(size > 4 for size in x.shape)


@keeps(((8, 3),), ((9, 3),))
def condition_as_index(x):
    return x * [2, 3][x.shape[0] > 4]


@keeps(((8, 3),), ((9, 3),))
def condition_in_arithmetic(x):
    big = x.shape[0] > 4
    return x * (big + 1) - big * 2 + int(big) + ~big


@keeps(((8, 3),), ((9, 3),))
def condition_is_true(x):
    return x * 2 if (x.shape[0] > 4) is True else x


@fixes()
def tuple_comparison(x):
    return x * 2 if x.shape == (8, 3) else x


@keeps(((8, 3),), ((9, 3),))
def tuple_comparison_that_fails(x):
    return x * 2 if x.shape == (7, 3) else x


@keeps(((8, 3), (8, 3)), ((5, 3), (5, 3)))
def shapes_of_two_inputs(x, y):
    return x + y if x.shape[:1] == y.shape[:1] else x


@keeps(((8, 3),), ((9, 3),))
def membership_in_a_list(x):
    return x * 2 if x.shape[0] in [1, 2, 4] else x


@fixes()
def membership_in_a_set(x):
    return x * 2 if x.shape[0] in {1, 2, 8} else x


@fixes()
def membership_in_a_range(x):
    return x * 2 if x.shape[0] in range(4, 20) else x


@keeps(((8, 3), (6, 3)), ((9, 3), (7, 3)))
def sorting(x, y):
    return x * sorted([x.shape[0], y.shape[0], 5])[1]


@keeps(*TWO)
def minimum_and_maximum(x, y):
    n, m = x.shape[0], y.shape[0]
    return x[: min(n, m)] + y[: min(n, m)], max(n, m, 7), min([n, 4])


@keeps()
def sum_of_sizes(x):
    return x * sum(x.shape)


@keeps()
def any_and_all(x):
    return x * 2 if all(s > 1 for s in x.shape) and any(s == 3 for s in x.shape) else x


@keeps(((8, 3),), ((12, 3),))
def assertion(x):
    assert x.shape[0] % 4 == 0, f"bad size {x.shape[0]}"
    assert x.dim() == 2
    return x.view(-1, 4, 3)


@keeps(((8, 3),), ((12, 3),))
def check(x):
    torch._check(x.shape[0] % 4 == 0, lambda: f"bad size {x.shape[0]}")
    return x.view(-1, 4, 3)


@keeps()
def while_loop_of_a_constant_count(x):
    n, i = x.shape[0], 0
    while i < 3:
        x = x + n
        i += 1
    return x


@fixes()
def while_loop_over_a_size(x):
    n = x.shape[0]
    while n > 1:
        x = x + n
        n //= 2
    return x
