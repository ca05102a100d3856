"""torch's control-flow operators in plain Python, as their documentation defines them: the oracle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()) -> Any:
    return (true_fn if pred else false_fn)(*operands)


def map(f: Callable[..., Any], xs: Any, *args: Any) -> Any:
    count = pytree.tree_leaves(xs)[0].shape[0]
    return _stack([f(pytree.tree_map(lambda t, i=i: t[i], xs), *args) for i in range(count)])


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried: Any) -> Any:
    while cond_fn(*carried):
        carried = body_fn(*carried)
    return carried


def scan(f: Callable[..., Any], init: Any, xs: Any, *, dim: int = 0, reverse: bool = False) -> Any:
    count = pytree.tree_leaves(xs)[0].shape[dim]
    carry, outputs = init, []
    for i in reversed(range(count)) if reverse else range(count):
        carry, y = f(carry, pytree.tree_map(lambda t, i=i: t.select(dim, i), xs))
        outputs.append(y)
    return carry, _stack(outputs[::-1] if reverse else outputs, dim)


def associative_scan(f: Callable[..., Any], xs: torch.Tensor, dim: int, combine_mode: str = "pointwise") -> Any:
    outputs = [xs.select(dim, 0)]
    for i in range(1, xs.shape[dim]):
        outputs.append(f(outputs[-1], xs.select(dim, i)))
    return torch.stack(outputs, dim)


def flex_attention(q: Any, k: Any, v: Any, score_mod: Any = None, block_mask: Any = None) -> torch.Tensor:
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    axes = [torch.arange(n).reshape([-1 if d == axis else 1 for d in range(4)]) for axis, n in enumerate(scores.shape)]
    if score_mod is not None:
        scores = score_mod(scores, *axes)
    if block_mask is not None:
        scores = scores.masked_fill(~block_mask.mask_mod(*axes), -torch.inf)
    return scores.softmax(-1) @ v


def _stack(results: list[Any], dim: int = 0) -> Any:
    leaves = [pytree.tree_leaves(r) for r in results]
    stacked = [torch.stack(row, dim if dim < row[0].ndim + 1 else 0) for row in zip(*leaves)]
    return pytree.tree_unflatten(stacked, pytree.tree_structure(results[0]))


PLAIN = {f.__name__: f for f in (cond, map, while_loop, scan, associative_scan, flex_attention)}
