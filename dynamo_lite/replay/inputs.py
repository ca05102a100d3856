"""Sets of arguments to run on: the example, other data of its sizes, and the corners of what a program admits."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from typing import Any

import sympy
import torch
from torch.export import ExportedProgram

from dynamo_lite.program.trees.paths import unflatten
from dynamo_lite.program.trees.user_inputs import user_values
from dynamo_lite.torch_internals._torch_pytree import pytree
from dynamo_lite.torch_internals._torch_tensors import _debug_has_internal_overlap

Arguments = tuple[tuple[Any, ...], dict[str, Any]]

LARGEST = 64
"""A size without an upper bound is tried up to about this."""


def example(call: Arguments) -> Arguments:
    """The arguments themselves (Pair copies them)."""
    return call


def fresh(call: Arguments, seed: int) -> Arguments:
    """Copies with other data: floats are drawn again, integers are permuted, which keeps them in range."""
    copied: Arguments = copy.deepcopy(call)
    generator = torch.Generator().manual_seed(seed)
    seen: set[int] = set()
    for leaf in pytree.tree_leaves(copied):
        if isinstance(leaf, torch.Tensor) and id(leaf) not in seen:
            seen.add(id(leaf))
            _refill(leaf, generator)
    return copied


def _refill(tensor: torch.Tensor, generator: torch.Generator) -> None:
    if tensor.device.type != "cpu" or tensor.numel() < 2 or _debug_has_internal_overlap(tensor) == 1:
        return
    with torch.no_grad():
        if tensor.is_floating_point() or tensor.is_complex():
            tensor.copy_(torch.randn(tensor.shape, generator=generator, dtype=torch.float32).to(tensor.dtype))
        else:
            order = torch.randperm(tensor.numel(), generator=generator)
            tensor.copy_(tensor.flatten()[order].reshape(tensor.shape))


def _expression(size: Any) -> Any:
    return size.node.expr if isinstance(size, torch.SymInt) else int(size)


def _symbols(program: ExportedProgram, leaves: list[Any]) -> dict[sympy.Symbol, int]:
    """The symbols that stand alone as a size (or a number) of an input, with the example's value."""
    found: dict[sympy.Symbol, int] = {}
    for value, leaf in zip(user_values(program), leaves):
        if isinstance(value, torch.Tensor) and isinstance(leaf, torch.Tensor):
            for size, given in zip(value.shape, leaf.shape):
                if isinstance(expression := _expression(size), sympy.Symbol):
                    found[expression] = int(given)
        elif isinstance(value, torch.SymInt) and isinstance(_expression(value), sympy.Symbol):
            found[_expression(value)] = int(leaf)
    return found


def corners(program: ExportedProgram, call: Arguments, limit: int) -> Iterator[dict[str, int]]:
    """At most `limit` assignments of sizes: each symbol at both ends of its range and near the example's value.

    Not every one need be admitted: the program's guards decide.
    """
    symbols = _symbols(program, pytree.tree_leaves(call))
    choices = {str(symbol): _candidates(program, symbol, hint) for symbol, hint in symbols.items()}
    if not choices:
        return
    names = list(choices)
    ends = [dict(zip(names, values)) for values in itertools.product(*({c[0], c[-1]} for c in choices.values()))]
    hints = {str(symbol): hint for symbol, hint in symbols.items()}
    single = [{**hints, name: value} for name in names for value in choices[name] if value != hints[name]]
    together = [dict.fromkeys(names, value) for value in sorted({v for c in choices.values() for v in c})]
    given: list[dict[str, int]] = [hints]
    for values in itertools.chain(*itertools.zip_longest(ends, single, together)):
        if values is not None and values not in given:
            given.append(values)
            yield values
        if len(given) > limit:
            return


def _candidates(program: ExportedProgram, symbol: sympy.Symbol, hint: int) -> list[int]:
    bounds = program.range_constraints.get(symbol)
    lower = max(int(bounds.lower), 0) if bounds is not None and bounds.lower.is_Integer else 0
    upper = int(bounds.upper) if bounds is not None and getattr(bounds.upper, "is_Integer", False) else LARGEST
    if upper > max(LARGEST, hint):
        upper = max(2 * hint, lower + 1, 8)
    near = (lower, lower + 1, hint - 1, hint + 1, hint + hint // 2, upper)
    return sorted({value for value in near if lower <= value <= upper} | {hint})


def at_sizes(program: ExportedProgram, call: Arguments, values: dict[str, int], seed: int) -> Arguments | None:
    """The example's arguments at other sizes; None if the sizes of some input are then no sizes."""
    leaves, spec = pytree.tree_flatten(call)
    generator = torch.Generator().manual_seed(seed)
    made: list[Any] = []
    for value, leaf in zip(user_values(program), leaves):
        if isinstance(value, torch.Tensor) and isinstance(leaf, torch.Tensor):
            shape = [_evaluate(size, values) for size in value.shape]
            if any(size is None or size < 0 for size in shape):
                return None
            made.append(_like(leaf, [size for size in shape if size is not None], generator))
        elif isinstance(value, torch.SymInt):
            made.append(_evaluate(value, values))
        else:
            made.append(copy.deepcopy(leaf))
    arguments: Arguments = unflatten(made, spec)
    return arguments


def _evaluate(size: Any, values: dict[str, int]) -> int | None:
    expression = _expression(size)
    if isinstance(expression, int):
        return expression
    result = expression.subs({symbol: values.get(str(symbol)) for symbol in expression.free_symbols})
    return int(result) if result.is_Integer else None


def _like(tensor: torch.Tensor, shape: list[int], generator: torch.Generator) -> torch.Tensor:
    """A tensor of another shape and the dtype, device and range of values of `tensor`."""
    if list(tensor.shape) == shape:
        return tensor.detach().clone().requires_grad_(tensor.requires_grad)
    if tensor.is_floating_point() or tensor.is_complex():
        data = torch.randn(shape, generator=generator).to(tensor.dtype)
    else:
        low, high = (int(tensor.min()), int(tensor.max())) if tensor.numel() else (0, 0)
        data = torch.randint(low, high + 1, shape, generator=generator).to(tensor.dtype)
    return data.to(tensor.device).requires_grad_(tensor.requires_grad)
