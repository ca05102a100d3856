"""Python's builtins, math and operator with tensors, sizes and numbers of data"""

from __future__ import annotations

import math
import operator
from typing import Any

import torch
from torch.export import Dim

from tests.export.probe import Case, Probe, equal, refused, t

NAMES = {"math": math, "operator": operator, "torch": torch}

RECORDED = """
sum(x), sum([x, x]), sum([n, z], 0), sum(v), abs(z), abs(-n), abs(i)
max(n, n + 1), max([n, 2, 3]), min(n, 3), max(x.shape), max(x, key=len), min([], default=n), max(i, 3)
round(n), round(n / 3), divmod(n, 3), divmod(i, 3)
pow(x, 2), pow(n, 2), pow(2, n), pow(z, n), pow(i, 2), operator.pow(n, 2), operator.and_(n, 3)
int(z), int(n / 2), float(z), x * float(n), x * float(z), len(x), x * len(x), len(range(n))
any([n > 2, n > 100]), all(x.shape), n in (n,), z in [z], x in [x], 3 in x.shape
list(zip(v, range(4))), [a * k for k, a in enumerate(v)], list(reversed(v)), list(enumerate([n], 1))
{n: 1}[n], {x.dtype: 2}, {z: 1}[z], isinstance(n, int), type(n) is int, isinstance(i, int)
list(map(lambda a: a + 1, v)), next(iter(v)), list(map(abs, [n, z])), x[slice(0, 2)], x[:n // 2], x[-1], x[:i]
math.sqrt(n), math.floor(n / 2), math.ceil(z), math.prod(x.shape), math.pow(n, 2), x * math.sqrt(n)
operator.add(x, n), operator.floordiv(n, 2), operator.itemgetter(0, 1)(v), operator.matmul(x, x.T), -n, ~n
bool(i), bool(z), bool(i > 1), z.is_nonzero(), bool(v.sum() > 3)
"""
FIXED = """
math.ldexp(1.0, n), math.gcd(n, 4), math.log(n), math.isqrt(n), math.comb(n, 2), f"{n}", hex(n), "a" * n
"""
REFUSED = """
max(z, 5); max(z, z); min(v); max(v); sorted(v); sorted([z, z]); any(v > 1); all([v > 1][0]); z in [1, 2]
"""


def program(expression: str) -> Any:
    names: dict[str, Any] = dict(NAMES)
    exec(f"def f(x, v, z, k):\n    n = x.shape[0]; i = k.item()\n    return x + 1, {expression}\n", names)
    return names["f"]


def example(rows: int = 5) -> tuple[torch.Tensor, ...]:
    return t(rows, 3), torch.rand(4) + 1, torch.tensor(2.5), torch.tensor(2)


def _recorded(expression: str) -> Case:
    shapes = ({0: Dim.AUTO}, None, None, None)
    return Case(program(expression), example(), dynamic_shapes=shapes, also=[(example(8), {}), (example(3), {})])


def _named(kind: Any, build: Any, name: str) -> Probe:
    def made() -> Case:
        return build()

    made.__name__ = name
    return kind(made)


for number, line in enumerate(RECORDED.strip().splitlines()):
    globals()[f"recorded_{number}"] = _named(equal, lambda line=line: _recorded(line), f"recorded_{number}")

fixed_sizes = _named(equal, lambda: Case(program(FIXED.strip()), example()), "fixed_sizes")

for number, text in enumerate(REFUSED.strip().split(";")):
    kind = refused("data-dependent-branch", "data-dependent-value")
    build = lambda text=text: Case(program(text.strip()), example())  # noqa: E731
    globals()[f"refused_{number}"] = _named(kind, build, f"refused_{number}")
