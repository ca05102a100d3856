"""What torch.cond returns where both sides return dense tensors: sizes are merged as torch does, strides follow.

torch finds the strides of the merged sizes by looking each stride up among products of sizes. It does not find those of
a tensor that a kernel laid out (`16*Max(1, s1)`), and it sorts strides, which asks about sizes of 1: such tensors were
refused, here or by `run_decompositions`. Of tensors that are dense in the order of their dimensions the strides are
known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch

from dynamo_lite.torch_internals._torch_fake import FakeTensor
from dynamo_lite.torch_internals._torch_operators import merging_cond_outputs

Merge = Callable[[Any, Any, Any], Any]


def known_layouts() -> AbstractContextManager[None]:
    """Within, torch's rule for what torch.cond returns is asked for the sizes of such tensors, and not for strides."""
    return merging_cond_outputs(_merge)


def _merge(torchs: Merge, one: Any, other: Any, mode: Any) -> Any:
    """torchs: torch's rule, for the result of one side and the other."""
    if not (is_dense(one) and is_dense(other) and _is_alike(one, other)):
        return torchs(one, other, mode)

    def merged(a: Any, b: Any) -> Any:
        return a if _term(a) == _term(b) else torchs(_row(one, a, mode), _row(other, b, mode), mode).shape[0]

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
    """Whether a FakeTensor lies dense in the order of its dimensions, with max(1, size) for a size or without. Asks no
    question about sizes."""
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
