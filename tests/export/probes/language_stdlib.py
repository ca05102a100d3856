"""The standard library, most of it C that calls Python back, and text."""

# Programs as users write them, odd ones too.
# ruff: noqa: C416, C417
# ruff: noqa: RUF005, UP031

from __future__ import annotations

import bisect
import collections
import copy
import functools
import heapq
import itertools
import json
import math
import operator
import string

import torch
from torch import nn

from ..probe import equal, raises, refused, sound, t

SQUARES = {}


@functools.cache
def cached_square(n):
    return n * n


@functools.lru_cache(maxsize=8)
def cached_table(n):
    return torch.arange(float(n))


@functools.cache
def cached_scale(x):
    return 3


@equal
def sorted_with_key():
    def forward(x):
        parts = [x[i] for i in range(3)]
        order = sorted(range(3), key=lambda i: -i)
        items = [("b", 2), ("a", 3), ("c", 1)]
        items.sort(key=lambda p: p[1], reverse=True)
        return torch.stack([parts[i] for i in order]), items, min(items, key=operator.itemgetter(1))

    return forward, (t(3, 2),)


@equal
def map_filter_zip_enumerate():
    def forward(x):
        doubled = map(lambda v: v * 2, x)
        kept = filter(lambda p: p[0] != 1, enumerate(doubled))
        return [a * i + b for (i, a), b in zip(kept, reversed(list(x)), strict=False)]

    return forward, (t(3, 2),)


@equal
def any_all_sum_min_max():
    def forward(x):
        sizes = [s for s in x.shape]
        facts = any(s > 2 for s in sizes), all(map(lambda s: s > 2, sizes)), sum(sizes, 10)
        return x * max(sizes), facts, max([], default="none"), min("bca"), max(sizes, key=lambda s: -s)

    return forward, (t(3, 2),)


@equal
def reduce_and_partial():
    def forward(x):
        mul = functools.partial(lambda a, b, c=1: a * b * c, c=2)
        return functools.reduce(mul, [x, x + 1, 3]), mul.keywords

    return forward, (t(3),)


@equal
def operator_getters():
    class Box:
        pass

    def forward(x):
        box = Box()
        box.inner = Box()
        box.inner.v = x
        get = operator.attrgetter("inner.v")
        return get(box) + operator.itemgetter(0, 1)([x, 2])[1] + operator.methodcaller("mul", 3)(x)

    return forward, (t(3),)


@equal
def cmp_to_key():
    def forward(x):
        ordered = sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a))
        return x * ordered[0], ordered

    return forward, (t(3),)


@equal
def itertools_of_all_kinds():
    def forward(x):
        facts = [
            list(itertools.accumulate([1, 2, 3], lambda a, b: a * b)),
            list(itertools.chain.from_iterable([[1], [2, 3]])),
            [(k, len(list(g))) for k, g in itertools.groupby("aabc", key=str.upper)],
            list(itertools.takewhile(lambda v: v < 3, itertools.count())),
            list(itertools.product("ab", repeat=2)),
            list(itertools.pairwise([1, 2, 3])),
            list(itertools.starmap(pow, [(2, 3)])),
            list(itertools.zip_longest("ab", "c", fillvalue="-")),
            list(itertools.compress("abc", [1, 0, 1])),
            list(itertools.permutations([1, 2])),
        ]
        a, b = itertools.tee(x[i] for i in range(2))
        return sum(a) + sum(b), facts

    return forward, (t(2, 3),)


@equal
def heapq_and_bisect():
    class Node:
        def __init__(self, cost, v):
            self.cost, self.v = cost, v

        def __lt__(self, other):
            return self.cost < other.cost

    def forward(x):
        heap = [Node(3, x), Node(1, x * 2)]
        heapq.heapify(heap)
        heapq.heappush(heap, Node(2, x * 3))
        out = [heapq.heappop(heap).v for _ in range(3)]
        spot = bisect.bisect([1, 3, 5], 4)
        rows = [1, 5]
        bisect.insort(rows, 3, key=lambda v: v)
        return out, spot, rows, heapq.nsmallest(2, [3, 1, 2], key=lambda v: -v)

    return forward, (t(3),)


@equal
def collections_of_all_kinds():
    def forward(x):
        d = collections.defaultdict(list)
        d["a"].append(x)
        c = collections.Counter("abca")
        q = collections.deque([1, 2, 3], maxlen=3)
        q.append(4)
        q.rotate(1)
        o = collections.OrderedDict(a=1, b=2)
        o.move_to_end("a")
        chain = collections.ChainMap({"z": 1}, {"y": 2})
        return d["a"][0] * len(d["none"] or [1]), c.most_common(1), list(q), list(o), chain["y"]

    return forward, (t(3),)


@equal
def copying():
    class Config:
        def __init__(self):
            self.parts = [1, 2]

        def __copy__(self):
            made = Config()
            made.parts = "copied"
            return made

        def __deepcopy__(self, memo):
            made = Config()
            made.parts = copy.deepcopy(self.parts, memo) + [3]
            return made

    config = Config()

    def forward(x):
        deep = copy.deepcopy(config)
        deep.parts.append(4)
        return x * sum(deep.parts), copy.copy(config).parts, config.parts, copy.copy([x])[0] is x

    return forward, (t(3),)


@equal
def lru_cache_of_python_values():
    def forward(x):
        return x * cached_square(3) + cached_square(3) + cached_square(4)

    cached_square.cache_clear()
    return forward, (t(3),)


@equal
def lru_cache_already_filled():
    cached_square.cache_clear()
    cached_square(3)

    def forward(x):
        return x * cached_square(3)

    return forward, (t(3),)


@equal
def lru_cache_on_a_young_function():
    def forward(x):
        @functools.lru_cache
        def double(n):
            return x * n

        return double(2) + double(2) + double(3), double.cache_info().hits

    return forward, (t(3),)


@sound()
def lru_cache_of_tensors():
    cached_table.cache_clear()

    def forward(x):
        return x * cached_table(3)

    return forward, (t(3),)


@refused("python-state", "outside-object")
def lru_cache_statistics_are_read():
    cached_square.cache_clear()

    def forward(x):
        cached_square(5)
        return x * cached_square.cache_info().currsize + cached_square.cache_info().hits

    return forward, (t(3),)


@sound()
def lru_cache_keyed_by_tensor():
    cached_scale.cache_clear()

    def forward(x):
        return x * cached_scale(x)

    return forward, (t(3),)


@equal
def math_functions():
    def forward(x):
        n = x.shape[-1]
        return x / math.sqrt(n) + math.log2(8) + math.prod(x.shape) + math.floor(2.7) + math.ceil(n / 2), math.inf > n

    return forward, (t(2, 3),)


@equal
def string_work():
    def forward(x):
        name = f"layer.{3}.weight".split(".")[1]
        text = ",".join(str(s) for s in x.shape)
        template = string.Template("$a-b").substitute(a=1)
        return x * int(name), text, template, f"{x.dim():>4}|{x.shape}|{x.dtype}|{3.14159:.2f}", text.encode()

    return forward, (t(2, 3),)


@equal
def regular_expressions():
    import re

    def forward(x):
        found = re.sub(r"\d+", lambda m: str(int(m.group()) * 2), "a1b22")
        return x * len(found), found, bool(re.match("a.b", "axb"))

    return forward, (t(3),)


@equal
def json_of_python_values():
    def forward(x):
        text = json.dumps({"shape": list(x.shape), "scale": 2})
        return x * json.loads(text)["scale"], text

    return forward, (t(3),)


@equal
def format_of_sizes():
    def forward(x):
        n = x.shape[0]
        return x + 1, f"{n}", str(n), "%d" % n, {n: "n"}[3], hash(n) == hash(3), repr(x.size())

    return forward, (t(3),)


@equal
def builtins_of_all_kinds():
    def forward(x):
        facts = [
            divmod(7, 2), round(2.567, 1), abs(-3), pow(2, 3, 5), hex(17), ord("a"), chr(98), bin(5),
            list(range(10, 0, -3)), sorted({3, 1}), tuple(reversed([1, 2])), bool([]), int("12"), float("1.5"),
            slice(1, 2).indices(5), callable(len), issubclass(bool, int), str(complex(1, 2)), bytes([1, 2]),
            all([]), frozenset([1]) == {1}, list(iter([1, 2].pop, 1)), type(None).__name__,
        ]  # fmt: skip
        return x * len(facts), facts

    return forward, (t(3),)


@equal
def dictionary_methods():
    def forward(x):
        d = {"a": x}
        d.update(b=x * 2)
        d |= {"c": 3}
        popped = d.pop("a")
        rest = dict.fromkeys("xy", 1) | {k: v for k, v in d.items() if k != "c"}
        return popped + rest["b"], list(rest), d.get("zz", 7), d.popitem()

    return forward, (t(3),)


@equal
def list_methods_and_slices():
    def forward(x):
        xs = [x, x + 1, x + 2]
        xs[1:1] = [x * 10]
        xs.insert(0, x * 20)
        del xs[-1]
        xs.reverse()
        xs += [xs.pop(0)]
        xs.extend(v * 2 for v in xs[:1])
        return xs[::2], len(xs), [1, 2, 1].count(1), [[0] * 2] * 2

    return forward, (t(3),)


@equal
def set_operations():
    def forward(x):
        a, b = {1, 2, 3}, {3, 4}
        c = a & b
        c.add(9)
        a -= {1}
        return x * len(a | b), sorted(c), a.isdisjoint({7}), sorted(a ^ b), 3 in a

    return forward, (t(3),)


@equal
def inspect_a_signature():
    import inspect

    def g(a, b=2, *, c=3):
        return a

    def forward(x):
        names = list(inspect.signature(g).parameters)
        return x * len(names), names

    return forward, (t(3),)


@equal
def typing_and_cast():
    from typing import cast

    def forward(x: torch.Tensor, y: int | None = None) -> torch.Tensor:
        return cast(torch.Tensor, x) * (y or 3)

    return forward, (t(3),)


@equal
def context_variable_inside_forward():
    import contextvars

    var = contextvars.ContextVar("probe", default=2)

    def forward(x):
        token = var.set(5)
        y = x * var.get()
        var.reset(token)
        return y + var.get()

    return forward, (t(3),)


@refused("python-state", "global-state")
def context_variable_left_changed():
    import contextvars

    var = contextvars.ContextVar("probe_left", default=2)

    def forward(x):
        var.set(var.get() + 1)
        return x * var.get()

    return forward, (t(3),)


@equal
def numpy_on_constants():
    import numpy as np

    def forward(x):
        scale = float(np.sqrt(np.array([4.0]))[0]) + int(np.prod(x.shape))
        return x * scale

    return forward, (t(3),)


@equal
def tensor_from_numpy_constant():
    import numpy as np

    table = np.arange(3, dtype=np.float32)

    def forward(x):
        return x + torch.from_numpy(table) + torch.tensor(table * 2)

    return forward, (t(3),)


@equal
def pytree_map_over_outputs():
    from torch.utils import _pytree as pytree

    def forward(x):
        return pytree.tree_map(lambda v: v * 2, {"a": x, "b": [x + 1, (x,)]})

    return forward, (t(3),)


@equal
def einops_like_string_parsing():
    def parse(spec):
        left, right = (side.split() for side in spec.split("->"))
        return [left.index(name) for name in right]

    def forward(x):
        return x.permute(parse("b h w -> w b h"))

    return forward, (t(2, 3, 4),)


@refused("python-state")
def module_level_dictionary_is_a_cache_that_matters():
    SQUARES.clear()

    def forward(x):
        SQUARES[len(SQUARES)] = 1
        return x * len(SQUARES)

    return forward, (t(3),)


@sound()
def module_level_dictionary_is_a_memo():
    SQUARES.clear()

    def square(n):
        if n not in SQUARES:
            SQUARES[n] = n * n
        return SQUARES[n]

    def forward(x):
        return x * square(3) + square(4)

    return forward, (t(3),)


@refused("outside-iterator", "python-state")
def counter_from_itertools():
    counter = itertools.count(1)

    def forward(x):
        return x * next(counter)

    return forward, (t(3),)


@refused("outside-iterator", "python-state")
def generator_kept_on_the_module():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.it = (i for i in range(1, 100))

        def forward(self, x):
            return x * next(self.it)

    return M(), (t(3),)


@refused("outside-iterator", "python-state")
def cycle_in_a_closure():
    from itertools import cycle

    signs = cycle([1, -1])

    def forward(x):
        return x * next(signs)

    return forward, (t(3),)


@refused("outside-object", "python-state")
def file_like_object_is_read():
    import io

    text = io.StringIO("1\n2\n3\n4\n5\n6\n7\n8\n")

    def forward(x):
        return x * int(text.readline())

    return forward, (t(3),)


@raises
def max_of_nothing():
    def forward(x):
        return x * max([])

    return forward, (t(3),)


@equal
def random_that_does_not_matter():
    import random

    class Drop(nn.Module):
        def forward(self, x):
            p = random.random()
            if self.training and p < 0.5:
                return x
            return x * 2

    return Drop().eval(), (t(3),)
