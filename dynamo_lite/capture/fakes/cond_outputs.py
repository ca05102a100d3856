"""The result of torch.cond, usually derived from the results of its branches without running them again.

`known_outputs` returns it if the branches return tensors of one layout, dense tensors, or numbers. In other cases
torch's own rule (`cond_fake_tensor_mode` of torch/_higher_order_ops/cond.py) runs both branches and everything nested
in them: with branches nested n deep, the innermost one would run n times.

If both branches return dense tensors, sizes are merged as torch does, and strides follow.

torch finds the strides of the merged sizes by looking each stride up among products of sizes. It does not find those of
a tensor that a kernel laid out (`16*Max(1, s1)`), and it sorts strides, which compares sizes with 1: such tensors were
rejected, here or by `run_decompositions`. The strides of tensors that are dense in the order of their dimensions are
known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import fx

from dynamo_lite.capture.graph.unrecorded import unrecorded
from dynamo_lite.torch_internals._torch_fake import FakeTensor
from dynamo_lite.torch_internals._torch_operators import merged_cond_output, merging_cond_outputs

Merge = Callable[[Any, Any, Any], Any]


def known_outputs(
    mode: Any, env: Any, sides: Sequence[Sequence[Any]], shapes: Sequence[Sequence[Any] | None] | None = None
) -> tuple[Any, ...] | None:
    """New fake tensors for the results of sub-graphs that return these nodes and numbers; None if torch's rule is
    needed. mode, env: the recording's FakeTensorMode, and its ShapeEnv if it has one. shapes: the sizes of each tensor
    result, if they are known, as in a branch on sizes."""
    rows = [[node.meta.get("val") if isinstance(node, fx.Node) else node for node in column] for column in zip(*sides)]
    with unrecorded():  # the question is ours: the program does not depend on what strides and offset are
        if not all(_is_known(env, row) for row in rows):
            return None
        return tuple([_merged(mode, env, row, shape) for row, shape in zip(rows, shapes or [None] * len(rows))])


def _is_known(env: Any, values: Sequence[Any]) -> bool:
    if all(type(value) is int for value in values):
        return len(values) == 2 and (values[0] == values[1] or env is not None)
    layouts = [_layout(value) if isinstance(value, torch.Tensor) else None for value in values]
    if None in layouts:
        return False
    if all(layout == layouts[0] for layout in layouts) and not _of_data(env, values[0]):
        return True
    return len(values) == 2 and all(map(is_dense, values)) and _is_alike(*values)


def _layout(fake: torch.Tensor) -> tuple[Any, ...] | None:
    """Sizes and strides as expressions; None for what only torch's rule takes."""
    if fake.layout is not torch.strided or fake.is_conj() or fake.is_neg() or fake.is_quantized:
        return None
    return fake.dtype, fake.device, *map(_term, _numbers(fake))


def of_one_layout(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two are dense tensors of the same sizes and strides, as expressions."""
    return is_dense(one) and is_dense(other) and _layout(one) == _layout(other)


def _numbers(fake: torch.Tensor) -> tuple[Any, ...]:
    return (*fake.shape, *fake.stride(), fake.storage_offset())


def _of_data(env: Any, value: Any) -> bool:
    """Whether only run time knows a size or a stride."""
    numbers = _numbers(value) if isinstance(value, torch.Tensor) else (value,)
    symbols = [s for n in numbers if isinstance(n, torch.SymInt) for s in n.node.expr.free_symbols]
    return any(map(env.is_unbacked_symint, symbols)) if symbols else False


def _merged(mode: Any, env: Any, values: Sequence[Any], sizes: Sequence[Any] | None) -> Any:
    first, *_, last = values
    if type(first) is int:
        return merged_cond_output(first, last, mode)
    if sizes is not None and all(map(is_dense, values)):
        with mode:
            return torch.empty_strided(sizes, _strides(sizes), dtype=first.dtype, device=first.device)
    of_data = _of_data(env, first)
    if of_data or any(_layout(value) != _layout(first) for value in values):
        return _merge(merged_cond_output, first, last, mode, keeps_sizes=not of_data)
    with mode:
        return torch.empty_strided(first.shape, first.stride(), dtype=first.dtype, device=first.device)


def known_layouts() -> AbstractContextManager[None]:
    """A context in which torch's rule for the result of torch.cond merges the sizes of such tensors, not strides."""
    return merging_cond_outputs(_merge)


def _merge(torchs: Merge, one: Any, other: Any, mode: Any, keeps_sizes: bool = True) -> Any:
    """torchs: torch's rule, for the result of one side and the other. keeps_sizes: also those of the data that are the
    same on both sides, for which torch makes new ones."""
    if not (is_dense(one) and is_dense(other) and _is_alike(one, other)):
        return torchs(one, other, mode)

    def merged(a: Any, b: Any) -> Any:
        is_kept = _term(a) == _term(b) and (keeps_sizes or type(a) is int)
        return a if is_kept else torchs(_row(one, a, mode), _row(other, b, mode), mode).shape[0]

    sizes = [merged(a, b) for a, b in zip(one.shape, other.shape)]
    with mode:
        return torch.empty_strided(sizes, _strides(sizes), dtype=one.dtype, device=one.device)


def _row(tensor: torch.Tensor, size: Any, mode: Any) -> torch.Tensor:
    with mode:
        return torch.empty_strided((size,), (1,), dtype=tensor.dtype, device=tensor.device)


def _is_alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether torch's rule has nothing against these two but their sizes."""
    return one.dtype == other.dtype and one.device == other.device and one.dim() == other.dim()


def is_dense(tensor: Any) -> bool:
    """Whether a FakeTensor is dense in the order of its dimensions, with max(1, size) for a size or without. Compares
    no sizes, so it adds no guard."""
    if type(tensor) is not FakeTensor or tensor.layout is not torch.strided or tensor.is_quantized:
        return False
    if tensor.is_conj() or tensor.is_neg() or type(tensor.storage_offset()) is not int or tensor.storage_offset():
        return False
    plain, clamped = _strides(tensor.shape), _strides([torch.sym_max(1, size) for size in tensor.shape])
    given = map(_term, tensor.stride())
    return all(term in (_term(a), _term(b)) for term, a, b in zip(given, plain, clamped))


def _strides(sizes: Sequence[Any]) -> list[Any]:
    strides: list[Any] = [1] * len(sizes)
    for at in range(len(sizes) - 1, 0, -1):
        strides[at - 1] = strides[at] * sizes[at]
    return strides


def _term(size: Any) -> Any:
    return size.node.expr if type(size) is torch.SymInt else size
