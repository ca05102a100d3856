"""Programs that do not admit all the sizes that their specification promises.

Each `violation(...)` says how a user would call it: the definitions of the Dims, then the specification, as text. Lines
that end in `# why` are the reasons that the error has to name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from tests.dynamic.spec_cases import Pair


@dataclass(frozen=True)
class Case:
    program: Callable[..., Any]
    args: tuple[Any, ...]
    dims: str
    specs: str
    kwargs: dict[str, Any]


CASES: dict[str, Case] = {}


def violation(args: tuple[Any, ...], dims: str, specs: str, **kwargs: Any) -> Callable[[Any], Any]:
    """Registers a program; shapes in `args` become tensors of random numbers."""

    def register(program: Callable[..., Any]) -> Callable[..., Any]:
        CASES[program.__name__] = Case(program, tuple(map(_made, args)), dims, specs, kwargs)
        return program

    return register


def _made(arg: Any) -> Any:
    if isinstance(arg, tuple) and all(isinstance(n, int) for n in arg):
        return torch.randn(arg)
    if isinstance(arg, (list, Pair)):
        return type(arg)(*map(_made, arg)) if isinstance(arg, Pair) else [_made(a) for a in arg]
    if isinstance(arg, dict):
        return {k: _made(v) for k, v in arg.items()}
    return arg


@violation([(4, 3)], "b = Dim('b')", "{'x': {0: b}}")
def maximum(x: Any) -> Any:
    if x.shape[0] > 9:  # why
        return x * 2
    return x + 1


@violation([(4, 3)], "b = Dim('b', max=64)", "{'x': {0: b}}")
def minimum(x: Any) -> Any:
    assert x.shape[0] >= 3  # why
    return x[:3].sum() + x


@violation([(6, 3)], "b = Dim('b', min=1)", "{'x': {0: b}}")
def a_min_is_a_promise(x: Any) -> Any:
    return x[1] + x  # why


@violation([(4, 3)], "b = Dim('b')", "{'x': {0: b}}")
def specialised_by_a_view(x: Any) -> Any:
    return x.view(12) + 1  # why


@violation([(4, 3)], "", "{'x': {0: Dim.DYNAMIC}}")
def specialised_dynamic(x: Any) -> Any:
    return x + torch.ones(4, 1)  # why


@violation([(4, 3)], "", "({0: Dim.DYNAMIC},)")
def specialised_dynamic_by_position(x: Any) -> Any:
    return x + torch.ones(4, 1)  # why


@violation([(4, 3)], "", "{'x': (Dim.DYNAMIC, Dim.DYNAMIC)}")
def specialised_dynamic_in_a_tuple(x: Any) -> Any:
    return x + torch.ones(4, 1)  # why


@violation([(4, 3), (4, 3)], "b, c = Dim('b'), Dim('c')", "{'x': {0: b}, 'y': {0: c}}")
def the_same(x: Any, y: Any) -> Any:
    return x + y  # why


@violation([(4, 3), (4, 3)], "b, c = Dim('b'), Dim('c')", "[(b, None), (c, None)]")
def the_same_by_position(x: Any, y: Any) -> Any:
    return torch.stack([x, y])  # why


@violation([(4, 3), (8, 3)], "b, c = Dim('b'), Dim('c')", "{'x': {0: b}, 'y': {0: c}}")
def twice(x: Any, y: Any) -> Any:
    return torch.cat([x, x]) * y  # why


@violation([(4, 3), (11, 3)], "b, c = Dim('b'), Dim('c')", "{'x': {0: b}, 'y': {0: c}}")
def twice_and_three(x: Any, y: Any) -> Any:
    assert y.shape[0] == 2 * x.shape[0] + 3  # why
    return torch.cat([x, x]) * y[3:]


@violation([(8, 3), (6, 3)], "b, c = Dim('b'), Dim('c')", "{'x': {0: b}, 'y': {0: c}}")
def shorter(x: Any, y: Any) -> Any:
    return x[2:] + y  # why


@violation([(8, 3)], "b = Dim('b')", "{'x': {0: b}}")
def divisible(x: Any) -> Any:
    return x.view(-1, 4, 3).sum(1)  # why


@violation([(8, 3)], "b = Dim('b', min=4, max=32)", "{'x': {0: b}}")
def divisible_in_a_range(x: Any) -> Any:
    assert x.shape[0] % 4 == 0  # why
    return x.reshape(4, -1)


@violation([(9, 3)], "b = Dim('b')", "{'x': {0: b}}")
def a_remainder(x: Any) -> Any:
    if x.shape[0] % 4 == 1:  # why
        return x[1:].reshape(-1, 4, 3)
    return x


@violation([(12, 3)], "b = Dim('b')", "{'x': {0: b}}")
def divisible_by_two_numbers(x: Any) -> Any:
    return x.reshape(-1, 4, 3).sum(1).sum(), x.reshape(-1, 6, 3).sum(1).sum()  # why


@violation([(8, 3), (10, 3)], "b, c = Dim('b'), Dim('c')", "{'x': {0: b}, 'y': {0: c}}")
def divisible_and_followed(x: Any, y: Any) -> Any:
    assert x.shape[0] % 4 == 0  # why
    return x + y[2:]  # why


@violation([(8, 3), (17, 3)], "b = Dim('b')", "{'x': {0: b}, 'y': {0: 2*b + 1}}")
def the_root_of_a_derived_dim(x: Any, y: Any) -> Any:
    if y.shape[0] <= 41:  # why
        return x + y[: x.shape[0]]
    return x


@violation([(8, 3), (17, 3)], "b = Dim('b')", "{'x': {0: b}, 'y': {0: 2*b + 1}}")
def the_root_of_a_derived_dim_divisible(x: Any, y: Any) -> Any:
    assert y.shape[0] % 8 == 1  # why
    return x + y[1:].reshape(-1, 2, 3).sum(1)


@violation([(8, 3), (17, 3)], "b = Dim('b')", "{'x': (b, None), 'y': (2*b + 1, None)}")
def the_root_of_a_derived_dim_with_a_hole(x: Any, y: Any) -> Any:
    if x.shape[0] * x.shape[0] % 3 == 1:  # why
        return x + y[: x.shape[0]]
    return x


@violation([(8, 3)], "k = Dim('k')", "{'x': {0: 4*k}}")
def a_root_that_no_input_has(x: Any) -> Any:
    if x.shape[0] <= 40:  # why
        return x.reshape(-1, 4)
    return x


@violation([(8, 3)], "b = Dim('b')", "{'x': {0: b}}")
def a_hole(x: Any) -> Any:
    if x.shape[0] != 5:  # why
        return x + 1
    return x * 2


@violation([(4, 3)], "b = Dim('b', min=2, max=64)", "{'x': {0: b}}")
def a_hole_above(x: Any) -> Any:
    return x + 1 if x.shape[0] != 5 else x * 2  # why


@violation([(8, 3), (12, 3)], "b, c = Dim('b'), Dim('c')", "{'x': {0: b}, 'y': {0: c}}")
def decreasing(x: Any, y: Any) -> Any:
    assert x.shape[0] + y.shape[0] == 20  # why
    return torch.cat([x, y]) + torch.ones(20, 1)


@violation([(8, 3), (5, 3), (10, 3), (7, 3)], "b, c, d, e = dims('b', 'c', 'd', 'e')",
           "{'x': {0: b}, 'w': {0: d}, 'y': {0: c}, 'z': {0: e}}")
def all_at_once(x: Any, w: Any, y: Any, z: Any) -> Any:
    assert x.shape[0] % 4 == 0  # why
    if z.shape[0] < 10:  # why
        z = z + 1
    return x + y[2:], w + torch.ones(5, 1), z  # why


@violation([[(4, 3), {"k": (6, 3)}]], "b, c = Dim('b'), Dim('c')", "{'x': [{0: b}, {'k': {0: c}}]}")
def deep(x: Any) -> Any:
    return torch.cat([x[0], x[0]])[:6] + x[1]["k"]  # why


@violation([[(4, 3), {"k": (6, 3)}]], "", "{'x': [None, {'k': {0: Dim.DYNAMIC}}]}")
def deep_and_dynamic(x: Any) -> Any:
    return x[0][:1] + x[1]["k"] + torch.zeros(6, 1)  # why


@violation([Pair((4, 3), (6, 3))], "b = Dim('b')", "{'x': (None, (b, Dim.DYNAMIC))}")
def a_named_tuple(x: Any) -> Any:
    return x.left[:1] + x.right + torch.zeros(6, 1)  # why


@violation([(4, 3), 5], "", "{'x': None, 'n': Dim.DYNAMIC}")
def an_int(x: Any, n: int) -> Any:
    if n == 5:  # why
        return x * n
    return x


@violation([(4, 3), 4], "b = Dim('b')", "{'x': {0: b}, 'n': Dim.DYNAMIC}")
def an_int_and_a_size(x: Any, n: int) -> Any:
    if n > 3 and x.shape[0] < 8:  # why
        return x * n
    return x


@violation([(4, 3), 5], "n = Dim('n', max=100)", "{'x': None, 'n': n}")
def a_named_int(x: Any, n: int) -> Any:
    if n < 50:  # why
        return x * n
    return x


@violation([(4, 3), (2, 3), (2, 3)], "b, c = Dim('b'), Dim('c')", "{'x': {0: b}, 'rest': ({0: c}, None)}")
def variadic(x: Any, *rest: Any) -> Any:
    return x + torch.cat([rest[0], rest[1]])  # why


@violation([(4, 3)], "b = Dim('b')", "{'x': None, 'options': {'y': {0: b}}}", y=torch.randn(4, 3))
def keywords(x: Any, **options: Any) -> Any:
    return x + options["y"]  # why


@violation([(5, 3)], "b = Dim('b')", "{'x': {0: b}}")
def a_loop(x: Any) -> Any:
    out = x[0]
    for row in x:  # why
        out = out + row
    return out


@violation([(4, 3)], "b = Dim('b')", "{'x': {0: b}}")
def a_number_is_needed(x: Any) -> Any:
    return x * {4: 2.0}[int(x.shape[0])]  # why


@violation([(4, 6)], "b, s = Dim('b'), Dim('s', max=512)", "{'x': {0: b, 1: s}}")
def a_table(x: Any) -> Any:
    positions = torch.arange(128, dtype=torch.float32)
    return x + positions[: x.shape[1]] if x.shape[1] <= 128 else x  # why


@violation([(7, 3)], "b = Dim('b')", "{'x': {0: b}}")
def odd(x: Any) -> Any:
    half = x.shape[0] // 2
    assert 2 * half + 1 == x.shape[0]  # why
    return x[:half] + x[half + 1 :]
