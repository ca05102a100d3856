"""Programs that use sizes in Python code, continued: types, text, containers, loops, tensors."""

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
import numbers
import operator
import pickle
import statistics
import warnings

import numpy as np
import torch
from torch import nn

from .size_programs import LOG, TWO, fixes, keeps

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
