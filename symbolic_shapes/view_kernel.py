"""aten.view on a FakeTensor with symbolic sizes: the sizes are the ones that are asked for, the strides follow.

torch's own kernel (torch/_refs, `_reshape_view_helper`) splits and joins dimensions one by one, and asks the environment at
each step: sizes come back as quotients, and facts are recorded that the view does not depend on. Here a view is
decided by equality of canonical forms. What is not plain to see is left to torch (None).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from symbolic_shapes._torch_private import FakeTensor, FakeTensorMode, in_kernel_invocation_manager
from symbolic_shapes.expr import ONE, Int, as_int
from symbolic_shapes.relations import eq, ne

if TYPE_CHECKING:
    from symbolic_shapes.torch_env import TorchShapeEnv


def view(env: TorchShapeEnv, mode: FakeTensorMode, tensor: FakeTensor, shape: Sequence[Any]) -> FakeTensor | None:
    """`tensor.view(shape)`; None if it takes more than algebra to tell. Raises RuntimeError as eager does."""
    layout = layout_of_view(env, tensor, shape)
    if layout is None:
        return None
    sizes, strides = ([env.wrap(part) for part in parts] for parts in layout)
    with in_kernel_invocation_manager(mode), env.suppress_guards():
        meta = tensor.as_strided(sizes, strides, tensor.storage_offset())
    return FakeTensor(mode, meta, tensor.fake_device)


def reshape(env: TorchShapeEnv, tensor: torch.Tensor, shape: Sequence[Any]) -> torch.Tensor | None:
    """`tensor.reshape(shape)` by the operators that it consists of; None if it takes more than algebra to tell which."""
    wanted = _resolved(env, tensor, shape) if _is_plain(tensor) else None
    if wanted is None:
        return None
    sizes = [env.wrap(size) for size in wanted]
    old, old_strides = _now(env, tensor.shape), _now(env, tensor.stride())
    if _strides(old, old_strides, [env.core.simplify(size) for size in wanted]) is not None:
        return torch.ops.aten.view.default(tensor, sizes)
    if _viewable_in_example(env, old, old_strides, wanted):
        return None
    copy = torch.ops.aten.clone.default(tensor, memory_format=torch.contiguous_format)
    return torch.ops.aten._unsafe_view.default(copy, sizes)


def _viewable_in_example(env: TorchShapeEnv, *layout: list[Int]) -> bool:
    """Whether the example's tensor can be viewed so, though others cannot (sizes of 1 join what has gaps)."""
    values = [[env.hint_of(part) for part in parts] for parts in layout]
    if any(value is None for parts in values for value in parts):
        return False
    old, strides, wanted = ([as_int(value) for value in parts] for parts in values)
    return _strides(old, strides, wanted) is not None


def layout_of_view(
    env: TorchShapeEnv, tensor: torch.Tensor, shape: Sequence[Any]
) -> tuple[list[Int], list[Int]] | None:
    """(sizes, strides) of the view, or None."""
    wanted = _resolved(env, tensor, shape) if _is_plain(tensor) else None
    if wanted is None:
        return None
    old, old_strides = _now(env, tensor.shape), _now(env, tensor.stride())
    strides = _strides(old, old_strides, [env.core.simplify(size) for size in wanted])
    return None if strides is None else (wanted, strides)


def _is_plain(tensor: torch.Tensor) -> bool:
    return tensor.layout is torch.strided and not tensor.is_quantized


def _now(env: TorchShapeEnv, values: Sequence[Any]) -> list[Int]:
    """Sizes or strides as the facts simplify them."""
    return [env.node_of(value).current() for value in values]


def _resolved(env: TorchShapeEnv, tensor: torch.Tensor, shape: Sequence[Any]) -> list[Int] | None:
    """The sizes asked for, with -1 filled in. Records what eager checks: as many elements, and no 0 beside a -1."""
    sizes = [env.unwrap(size) for size in shape]
    holes = [i for i, size in enumerate(sizes) if size.as_constant() == -1]
    numel = math.prod((env.unwrap(size) for size in tensor.shape), start=ONE)
    if len(holes) > 1 or any((c := size.as_constant()) is not None and c < -1 for size in sizes):
        return None  # torch has the words for it
    given = math.prod((size for i, size in enumerate(sizes) if i not in holes), start=ONE)
    invalid = RuntimeError(f"shape '{[*map(str, shape)]}' is invalid for input of size {env.wrap(numel)}")
    if not holes:
        if numel is not given and not env.expect_true(eq(numel, given)):
            raise invalid
        return sizes
    if given.as_constant() == 0 or not env.expect_true(ne(given, 0)):
        return None
    given, numel = env.core.simplify(given), env.core.simplify(numel)
    if not env.expect_true(eq(numel % given, 0)):
        raise invalid
    sizes[holes[0]] = env.core.simplify(numel // given)
    return sizes


def contiguous_strides(sizes: Sequence[Int]) -> list[Int]:
    """The product of all sizes further in."""
    strides, inner = [], ONE
    for size in reversed(sizes):
        strides.append(inner)
        inner = inner * size
    return strides[::-1]


def _strides(old: list[Int], old_strides: list[Int], new: list[Int]) -> list[Int] | None:
    """Strides for `new` over the same memory (at::detail::computeStride, with equality of forms for equality)."""
    if old_strides == contiguous_strides(old):
        return contiguous_strides(new)
    strides: list[Int] = [ONE] * len(new)
    left = len(new) - 1
    for size, stride in _chunks(old, old_strides):
        filled = ONE
        while left >= 0 and (filled is not size or new[left] is ONE):
            strides[left] = filled * stride
            filled = filled * new[left]
            left -= 1
        if filled is not size:
            return None
    return strides if all(size is ONE for size in new[: left + 1]) else None


def _chunks(sizes: list[Int], strides: list[Int]) -> list[tuple[Int, Int]]:
    """Runs of dimensions that are contiguous among themselves, innermost first: (elements, innermost stride)."""
    chunks: list[tuple[Int, Int]] = []
    for size, stride in zip(reversed(sizes), reversed(strides)):
        if size is ONE and (chunks or len(sizes) > 1):
            continue
        if chunks and stride is chunks[-1][0] * chunks[-1][1]:
            chunks[-1] = (chunks[-1][0] * size, chunks[-1][1])
        else:
            chunks.append((size, stride))
    return chunks
