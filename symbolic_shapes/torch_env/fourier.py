"""Fourier transforms of FakeTensors with symbolic sizes, on a CPU with MKL (aten/src/ATen/native/mkl/SpectralOps.cpp).

torch's Python forms of these kernels (torch/_meta_registrations.py, `_exec_fft`) give a result its sizes by `resize_`,
which fixes each of them. The layout is the same here: the dimensions that are not transformed in the order of the
operand's strides, then those that are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import torch

from dynamo_lite.symbolic_shapes.expressions.expr import Int
from dynamo_lite.symbolic_shapes.expressions.relations import ge
from dynamo_lite.symbolic_shapes.torch_env.view_kernel import contiguous_strides
from dynamo_lite.symbolic_shapes.torch_node._torch import FakeTensor, FakeTensorMode, in_kernel_invocation_manager
from dynamo_lite.symbolic_shapes.torch_node.interfaces import Environment

aten = torch.ops.aten
Layout = tuple[list[Int], list[Int], torch.dtype]
"""(sizes, strides, dtype) of a result."""


def real_to_complex(env: Environment, self: torch.Tensor, dim: list[int], normalization: int, onesided: bool) -> Any:
    """aten._fft_r2c"""
    if not self.dtype.is_floating_point:
        return None
    sizes, strides = _now(env, self.shape), _now(env, self.stride())
    if onesided:
        sizes[dim[-1]] = sizes[dim[-1]] // 2 + 1
    order = _in_order(env, dim[:-1], strides)
    return None if order is None else _laid_out(env, sizes, strides, [*order, dim[-1]], self.dtype.to_complex())


def complex_to_complex(env: Environment, self: torch.Tensor, dim: list[int], normalization: int, forward: bool) -> Any:
    """aten._fft_c2c"""
    sizes, strides = _now(env, self.shape), _now(env, self.stride())
    order = _in_order(env, dim, strides)
    return None if not order or not self.dtype.is_complex else _laid_out(env, sizes, strides, order, self.dtype)


def complex_to_real(
    env: Environment, self: torch.Tensor, dim: list[int], normalization: int, last_dim_size: Any
) -> Any:
    """aten._fft_c2r: the dimensions before the last are transformed first, to complex numbers."""
    if not self.dtype.is_complex:
        return None
    sizes, strides = _now(env, self.shape), _now(env, self.stride())
    if len(dim) > 1:
        first = complex_to_complex(env, self, dim[:-1], normalization, False)
        if first is None:
            return None
        sizes, strides, _ = first
    sizes[dim[-1]] = env.unwrap(last_dim_size)
    return _laid_out(env, sizes, strides, [dim[-1]], self.dtype.to_real())


def _laid_out(
    env: Environment, sizes: list[Int], strides: list[Int], transformed: Sequence[int], dtype: torch.dtype
) -> Layout | None:
    rest = _in_order(env, [d for d in range(len(sizes)) if d not in transformed], strides)
    if rest is None:
        return None
    order = [*rest, *transformed]
    made = [sizes[0]] * len(sizes)
    for d, stride in zip(order, contiguous_strides([sizes[d] for d in order])):
        made[d] = stride
    return sizes, made, dtype


def _in_order(env: Environment, dims: Sequence[int], strides: list[Int]) -> list[int] | None:
    """Dimensions by their strides, the greatest first; None if that order is not the same for all sizes."""
    hints = {d: env.hint_of(strides[d]) for d in dims}
    if None in hints.values():
        return None
    order = sorted(dims, key=lambda d: hints[d], reverse=True)
    sure = all(_is_sure(env, strides[one], strides[other]) for one, other in pairwise(order))
    return order if sure else None


def _is_sure(env: Environment, greater: Int, less: Int) -> bool:
    """Whether one stride is at least another, in all tensors with elements."""
    if greater is less:
        return True
    return env.core.decide(ge(greater, less)).verdict is True or _is_multiple(greater, less)


def _is_multiple(greater: Int, less: Int) -> bool:
    """Whether one is a product of the other and sizes."""
    if greater.const or (less.const and less.as_constant() is None):
        return False
    one = less.as_constant()
    mono, factor = next(iter(less.terms.items())) if one is None and len(less.terms) == 1 else ((), one)
    if factor is None or len(greater.terms) != 1:
        return False
    ((wide, times),) = greater.terms.items()
    left = list(wide)
    for atom in mono:
        if atom not in left:
            return False
        left.remove(atom)
    return times >= factor > 0


def make(env: Environment, mode: FakeTensorMode, tensor: FakeTensor, layout: Layout) -> FakeTensor:
    """A new tensor with this layout."""
    sizes, strides, dtype = layout
    with in_kernel_invocation_manager(mode), env.suppress_guards():
        meta = torch.empty_strided(list(map(env.wrap, sizes)), list(map(env.wrap, strides)), dtype=dtype, device="meta")
    return FakeTensor(mode, meta, tensor.fake_device)


def applies(tensor: Any) -> bool:
    """Whether a tensor is transformed by MKL, which these rules are about."""
    on_cpu = isinstance(tensor, FakeTensor) and tensor.fake_device.type == "cpu"
    return on_cpu and tensor.layout is torch.strided and torch.backends.mkl.is_available()


def _now(env: Environment, values: Sequence[Any]) -> list[Int]:
    return [env.node_of(value).current() for value in values]


RULES: dict[Any, Callable[..., Layout | None]] = {
    aten._fft_r2c.default: real_to_complex,
    aten._fft_c2c.default: complex_to_complex,
    aten._fft_c2r.default: complex_to_real,
}
"""The layout of the result, from the operator's arguments; None if torch has to decide."""
