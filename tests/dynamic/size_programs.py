"""Programs that use sizes in Python code, each a function of tensors whose sizes are given beside it.

`@keeps(...)`: the sizes stay symbolic, and every shape of `also` is admitted. `@fixes(...)`: Python needs a number, so
the program may admit the example's sizes only; it must equal eager wherever it admits.
"""

# Programs as users write them, odd ones too.
# ruff: noqa: B028, C401, C416, C417, RUF005, UP031, UP032

from __future__ import annotations

import collections
import contextlib
import copy
import decimal
import enum
import fractions
import functools
import io
import itertools
import json
import logging
import math
import numbers
import operator
import pickle
import statistics
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

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


# -- types and identity --------------------------------------------------------------------------------------------


@keeps()
def isinstance_int(x):
    n = x.shape[0]
    return x * 2 if isinstance(n, int) and isinstance(n, (int, float)) and isinstance(n / 2, float) else x


@keeps()
def isinstance_of_the_numeric_tower(x):
    n = x.shape[0]
    return x * 2 if isinstance(n, numbers.Integral) and not isinstance(n, str) else x


@keeps()
def type_is_int(x):
    n = x.shape[0]
    return x * 2 if type(n) is int and n.__class__ is int and type(n > 2) is bool else x


@keeps()
def match_a_class(x):
    match x.shape[0]:
        case int():
            return x * 2
        case _:
            return x


@keeps(((8, 3),), ((9, 3),))
def match_a_value(x):
    match x.shape[0]:
        case 1:
            return x * 2
        case 2 | 3:
            return x * 3
        case _:
            return x


@keeps()
def match_a_sequence(x):
    match x.shape:
        case (n, 3):
            return x * n
        case _:
            return x


@fixes()
def identity_of_small_ints(x):
    return x * 2 if x.shape[0] is x.shape[0] + 0 else x


@keeps()
def not_none(x):
    n = x.shape[0]
    return x * 2 if n is not None and n != None and n != "a" else x  # noqa: E711


# -- text, hash, copies --------------------------------------------------------------------------------------------


@fixes()
def text(x):
    n = x.shape[0]
    return x * len(f"{n} {n:4d} {x.shape}" + str(n) + repr(n) + "%d" % n + "{}".format(n))


@fixes()
def text_as_a_key(x):
    return x * {"8": 2, "9": 3}.get(str(x.shape[0]), 4)


@fixes()
def dict_key(x):
    n = x.shape[0]
    table = {8: 2, n + 1: 5}
    table[n] = table.get(n, 0) + 1
    return x * table[8] * table[9] * len(table)


@fixes()
def set_of_sizes(x):
    return x * len({x.shape[0], 8, x.shape[1]})


@fixes()
def keys_stored_by_c_code(x):
    n, m = x.shape
    d = dict.fromkeys([n, 1])
    d.setdefault(n + 1, 3)
    d.update([(n + 2, n)])
    d |= {n + 3: 1}
    pairs = dict(zip([n, m], [n, m]))
    s = set(v for v in x.shape)
    s.add(n + 1)
    s.update([n + 2])
    c = collections.Counter([n, n, m])
    o = collections.defaultdict(list, [((n, m), 1)])
    return x, list(d), list(pairs), sorted(s), list(frozenset([n])), c[8], list(o), {k: v for k, v in pairs.items()}


@fixes()
def sizes_together_as_a_key(x):
    pair = collections.namedtuple("pair", "rows columns")
    by_shape, by_pair = {}, {pair(*x.shape): x + 3}
    if x.shape not in by_shape:
        by_shape[x.shape] = x
    by_shape.setdefault(x.size(), x)
    by_shape["more", x.shape, (x.shape[0], 1)] = x + 2
    found = by_shape[x.shape], by_shape["more", x.shape, (x.shape[0], 1)], by_pair[pair(*x.shape)]
    shapes, pairs = {tuple(x.shape), x.shape}, {pair(*x.shape)}
    return found, len(by_shape), x.shape in shapes, len(shapes), pair(*x.shape) in pairs


@keeps()
def bytes_of_a_tensor(x):
    return x * x.nbytes, x.nbytes // x.itemsize


@fixes()
def hash_of_a_size(x):
    return x * (hash(x.shape[0]) + hash((x.shape[0], 2)) % 7)


@keeps()
def copies(x):
    n = x.shape[0]
    return x * copy.copy(n) + copy.deepcopy(n) + copy.deepcopy([n, {"k": n}])[1]["k"]


@fixes()
def pickled(x):
    return x * pickle.loads(pickle.dumps({"n": x.shape[0]}))["n"]


@fixes()
def json_text(x):
    return x * json.loads(json.dumps({"n": [x.shape[0]], "m": x.shape[1]}))["n"][0]


@functools.lru_cache
def _cached(n):
    return n * 2 + 1


@keeps()
def lru_cache_by_size(x):
    return x * _cached(x.shape[0]) + _cached(x.shape[0])


@fixes()
def numpy_of_sizes(x):
    root = float(np.sqrt(x.shape[0]))
    return x * root + int(np.prod(x.shape)) + np.array(x.shape).sum().item() + np.zeros(3)[0] * x.shape[0]


@keeps()
def text_for_nobody(x):
    n = x.shape[0]
    print(f"shape {x.shape}, n={n!r:>4}")
    print("size", str(n), "%d of %s" % (n, x.shape), "{:4d} {}".format(n, x.shape), f"{x.shape}" f"{n}")
    warnings.warn(f"a warning about {n}")
    LOG.info(f"{x.shape} and {n + 1:.2f}")
    LOG.warning("%s %d", x.shape, n)
    if n > 1000:
        raise ValueError(f"too many: {n}")
    return x * n


@fixes()
def text_for_somebody(x):
    said = []
    say = said.append
    say(f"shape {x.shape}")
    print(said, f"{x.shape[0]}", len(f"{x.shape[0]}"))
    return x * len(said[0])


@fixes()
def text_that_is_captured(x):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print(f"{x.shape[0]}")
    return x * int(out.getvalue())


# -- containers and loops ------------------------------------------------------------------------------------------


@keeps()
def sizes_in_containers(x):
    n, m = x.shape
    table = {"n": n, "m": [m, n]}
    table["m"].append(n + 1)
    pair = (*table["m"], n)
    return x * sum(pair) + len(pair)


@fixes()
def list_times_size(x):
    n = x.shape[0]
    return x * len([0] * n) + len((1,) * n) + len("a" * n) + len(bytes(n))


@fixes()
def slice_of_a_list(x):
    return x * sum(list(range(20))[: x.shape[0]])


@fixes()
def loop_over_a_range(x):
    total = x.sum(0)
    for i in range(x.shape[0]):
        total = total + x[i] * i
    return total


@keeps(((8, 3),), ((7, 3),), ((5, 3),))
def loop_over_blocks(x):
    return [x * i for i in range(0, x.shape[0], 4)]


@fixes()
def enumerate_and_zip(x):
    n = x.shape[0]
    return x * sum(i * j for i, j in zip(range(n), range(n, 0, -1))) + sum(i for i, _ in enumerate(range(n)))


@fixes()
def rows_of_a_tensor(x):
    return sum(row * i for i, row in enumerate(x))


@keeps()
def columns_of_a_tensor(x):
    return sum(column * i for i, column in enumerate(x.unbind(1)))


@keeps()
def length_of_a_tensor(x):
    return x * len(x)


@keeps()
def length_of_an_object(x):
    class Box:
        def __len__(self):
            return x.shape[0]

    return x * len(Box())


@fixes()
def index_and_count(x):
    return x * (x.shape.index(3) + x.shape.count(3) + (3 in x.shape))


@fixes()
def itertools_with_sizes(x):
    n = x.shape[0]
    total = sum(itertools.repeat(1, n)) + sum(itertools.accumulate([n, n]))
    return x * sum(itertools.islice(itertools.count(), n)) + total


@keeps()
def partial_and_map(x):
    add = functools.partial(operator.add, x.shape[0])
    return x * sum(map(add, x.shape)) + max(map(lambda s: s + 1, x.shape), key=lambda s: 0)


@keeps()
def functions_that_c_calls(x):
    n, m = map(int, x.shape)
    lengths = list(map(len, [x, x[1:]]))
    kinds = set(map(type, x.shape))
    groups = [kind is int for kind, _ in itertools.groupby(x.shape, type)]
    floats = sum(map(float, x.shape))
    return x.view(m, n), lengths, kinds == {int}, groups, floats, max(s * 2 for s in x.shape)


@fixes()
def numbers_of_the_standard_library(x):
    n, m = x.shape
    return x * statistics.mean([n, m]), float(fractions.Fraction(n, 4)), float(decimal.Decimal(n) / 4)


@keeps()
def conversions_of_the_program(x):
    class Half:
        def __init__(self, n):
            self.n = n

        def __int__(self):
            return self.n // 2

        def __float__(self):
            return self.n / 2

    class Level(enum.IntEnum):
        LOW = 1

    n = x.shape[0]
    return x * int(Half(n)), float(Half(n)), n + Level.LOW, Level.LOW - n, n > Level.LOW


@fixes()
def conversions_that_c_asks_for(x):
    class Index:
        def __index__(self):
            return x.shape[0] - 1

        def __hash__(self):
            return x.shape[0]

        def __bool__(self):
            return x.shape[0] > 3

    return x[Index()], len({Index(): 1}), 2 if Index() else 3, [0] * Index()


@keeps()
def default_arguments_and_closures(x):
    def inner(y, n=x.shape[0]):
        return y * n * x.shape[0]

    return inner(x)


# -- tensors -------------------------------------------------------------------------------------------------------


@keeps()
def slices_of_tensors(x):
    n = x.shape[0]
    return x[: n // 2], x[n // 2 :], x[: n - 1, 1:], x[-(n // 2) :]


@keeps()
def index_of_a_tensor(x):
    n = x.shape[0]
    return x[n - 1], x[n - 1, 1:], x[..., 1][n - 2], x[None, n - 1], x[n - 1, torch.tensor([0, 2])]


@keeps()
def assignment_at_an_index(x):
    x = x.clone()
    x[x.shape[0] - 1] = 0
    x[: x.shape[0] - 1, 1] = 1
    return x


@keeps()
def factories(x):
    n, m = x.size()
    return torch.arange(n), torch.zeros(n, m), torch.full((n,), n), torch.ones(2, n), torch.eye(n)


@keeps()
def literals(x):
    n = x.shape[0]
    nested = torch.tensor([[n, 2.5]])
    return torch.tensor(n), torch.tensor([n, 2]), nested, torch.as_tensor([n]), x.new_tensor([n, n / 2])


@keeps()
def views(x):
    n, m = x.shape
    return x.view(n * m), x.reshape(1, -1), x.expand(2, n, m), x.repeat(n // n, 2), x.view(-1).view(n, m)


@keeps(*TWO)
def concatenation(x, y):
    z = torch.cat([x, y])
    return z, z.shape[0], z.split([x.shape[0], y.shape[0]])


@keeps()
def padding(x):
    n = x.shape[0]
    pad = (16 - n % 16) % 16
    return nn.functional.pad(x, (0, 0, 0, pad))


@keeps()
def interpolation(x):
    return nn.functional.interpolate(x[None, None], size=(x.shape[0] * 2, 6))


@keeps()
def causal_mask(x):
    n = x.shape[0]
    mask = torch.full((n, n), float("-inf")).triu(1)
    return (mask + x @ x.t()).softmax(-1) @ x


@keeps()
def mean_by_hand(x):
    return x.sum(0) / x.shape[0], x.sum() * (1.0 / (x.shape[0] * x.shape[1]))


@keeps()
def symbolic_functions(x):
    n = x.shape[0]
    least, most = torch.sym_min(n, 4), torch.sym_max(n, 4)
    return x * most, least, torch.sym_float(n), torch.sym_int(n / 2), torch.sym_ite(n > 4, n, 1)


@keeps()
def sizes_as_outputs(x):
    return x.shape[0], x.shape, x.shape[0] / 2, x.numel()


@keeps()
def torch_size(x):
    return x.new_zeros(torch.Size([x.shape[0], 2]) + (4,)), x.new_zeros(x.shape[:1] + (2,)), x.shape * 2


@keeps()
def unpacked_sizes(x):
    first, *rest = x.size()
    return x.view(*rest, first)


@keeps(*TWO)
def resized_by_the_shorter_side(x, y):
    height, width = x.shape[0], y.shape[0]
    image, scale = (x @ y.t())[None, None], 32 / min(height, width)
    return torch.nn.functional.interpolate(image, size=(int(height * scale), int(width * scale)), mode="bilinear")
