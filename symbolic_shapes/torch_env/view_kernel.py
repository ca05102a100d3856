"""Views of FakeTensors with symbolic sizes: the sizes are given, the strides follow from them.

torch's own kernel of aten.view (torch/_refs, `_reshape_view_helper`) splits and joins dimensions one by one, and
queries the environment at each step: sizes come back as quotients, and facts are recorded that the view does not depend
on. Here a view is decided by equality of canonical forms. Undecided cases are left to torch (None).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from dynamo_lite.symbolic_shapes.expressions.expr import ONE, ZERO, Int, as_int
from dynamo_lite.symbolic_shapes.expressions.relations import eq, lt, ne, or_
from dynamo_lite.symbolic_shapes.torch_node._torch import FakeTensor, FakeTensorMode, in_kernel_invocation_manager
from dynamo_lite.symbolic_shapes.torch_node.interfaces import Environment

Layout = tuple[list[Int], list[Int]]
"""(sizes, strides); the offset stays."""


def make(
    env: Environment, mode: FakeTensorMode, tensor: FakeTensor, sizes: list[Int], strides: list[Int]
) -> FakeTensor:
    """A view of `tensor` with this layout."""
    with in_kernel_invocation_manager(mode), env.suppress_guards():
        meta = tensor.as_strided(list(map(env.wrap, sizes)), list(map(env.wrap, strides)), tensor.storage_offset())
    return FakeTensor(mode, meta, tensor.fake_device)


def reshape(env: Environment, tensor: torch.Tensor, shape: Sequence[Any]) -> torch.Tensor | None:
    """`tensor.reshape(shape)` by the operators that it consists of; None if algebra alone does not decide."""
    wanted = _resolved(env, tensor, shape) if is_plain(tensor) else None
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


def _viewable_in_example(env: Environment, *layout: list[Int]) -> bool:
    """Whether the example's tensor has such a view, though others do not (sizes of 1 join dimensions with gaps)."""
    values = [[env.hint_of(part) for part in parts] for parts in layout]
    if any(value is None for parts in values for value in parts):
        return False
    old, strides, wanted = ([as_int(value) for value in parts] for parts in values)
    return _strides(old, strides, wanted) is not None


def view(env: Environment, tensor: torch.Tensor, shape: Sequence[Any]) -> Layout | None:
    """The layout of `tensor.view(shape)`; None if algebra alone does not decide.

    Raises RuntimeError as eager does.
    """
    wanted = _resolved(env, tensor, shape)
    if wanted is None:
        return None
    old, old_strides = _now(env, tensor.shape), _now(env, tensor.stride())
    strides = _strides(old, old_strides, [env.core.simplify(size) for size in wanted])
    return None if strides is None else (wanted, strides)


def is_view(sizes: list[Int], strides: list[Int], shape: list[Int]) -> bool:
    """Whether memory with this layout can be viewed as `shape` whatever the sizes are."""
    return _strides(sizes, strides, shape) is not None


def asks_to_view(env: Environment, sizes: list[Int], strides: list[Int], shape: list[Int]) -> bool:
    """Whether memory with this layout can be viewed as `shape` in the example (at::detail::computeStride): the
    comparisons of sizes on the way become guards, so that it is the same in each call."""

    def ask(relation: Any) -> bool:
        return bool(env.wrap(relation))

    if any(ask(eq(size, 0)) for size in sizes):
        return True
    left, elements, base = len(shape) - 1, ONE, strides[-1] if strides else ONE
    for index in reversed(range(len(sizes))):
        elements = elements * sizes[index]
        if index and ask(or_(eq(sizes[index - 1], 1), eq(strides[index - 1], elements * base))):
            continue
        filled = ONE
        while left >= 0 and (ask(lt(filled, elements)) or ask(eq(shape[left], 1))):
            filled = filled * shape[left]
            left -= 1
        if not ask(eq(filled, elements)):
            return False
        if index:
            elements, base = ONE, strides[index - 1]
    return True


def permute(env: Environment, tensor: torch.Tensor, dims: Sequence[int]) -> Layout | None:
    """`tensor.permute(dims)`."""
    order = [dim + tensor.dim() if dim < 0 else dim for dim in dims]
    if sorted(order) != list(range(tensor.dim())):
        return None
    sizes, strides = _now(env, tensor.shape), _now(env, tensor.stride())
    return [sizes[dim] for dim in order], [strides[dim] for dim in order]


def transpose(env: Environment, tensor: torch.Tensor, dim0: int = 0, dim1: int = 1) -> Layout | None:
    """`tensor.transpose(dim0, dim1)`; `tensor.t()` of a matrix."""
    rank = tensor.dim()
    if not (-rank <= dim0 < rank and -rank <= dim1 < rank):
        return None
    order = list(range(rank))
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return permute(env, tensor, order)


def unsqueeze(env: Environment, tensor: torch.Tensor, dim: int) -> Layout | None:
    """`tensor.unsqueeze(dim)`: the new dimension's stride is the extent of the one it is put before."""
    rank = tensor.dim()
    if not -rank - 1 <= dim <= rank:
        return None
    at = dim + rank + 1 if dim < 0 else dim
    sizes, strides = _now(env, tensor.shape), _now(env, tensor.stride())
    stride = sizes[at] * strides[at] if at < rank else ONE
    return [*sizes[:at], ONE, *sizes[at:]], [*strides[:at], stride, *strides[at:]]


def expand(env: Environment, tensor: torch.Tensor, shape: Sequence[Any], *, implicit: bool = False) -> Layout | None:
    """`tensor.expand(shape)`: a size of 1 gets stride 0; other sizes must be equal, plainly."""
    sizes, strides = _now(env, tensor.shape), _now(env, tensor.stride())
    new = [env.node_of(size).current() for size in shape]
    added = len(new) - len(sizes)
    if added < 0 or any(size.as_constant() == -1 for size in new[:added]):
        return None
    new_strides: list[Int] = []
    for index, (size, stride) in enumerate(zip(sizes, strides), added):
        if new[index].as_constant() == -1 or new[index] is size:
            new[index] = size
            new_strides.append(stride)
        elif size is ONE:
            new_strides.append(ZERO)
        else:
            return None
    for index in reversed(range(added)):  # a new dimension of size 1 looks as `unsqueeze` makes it
        plain = new[index] is ONE
        new_strides.insert(0, (new[index + 1] * new_strides[0] if new_strides else ONE) if plain else ZERO)
    return new, new_strides


RULES: dict[Any, Callable[..., Layout | None]] = {
    torch.ops.aten.view.default: view,
    torch.ops.aten._unsafe_view.default: view,
    torch.ops.aten.permute.default: permute,
    torch.ops.aten.transpose.int: transpose,
    torch.ops.aten.t.default: transpose,
    torch.ops.aten.unsqueeze.default: unsqueeze,
    torch.ops.aten.expand.default: expand,
}
"""Operators that return a view of their first argument, and the layout of it."""


def is_plain(tensor: torch.Tensor) -> bool:
    """Whether sizes and strides determine where the elements are."""
    return tensor.layout is torch.strided and not tensor.is_quantized


def _now(env: Environment, values: Sequence[Any]) -> list[Int]:
    """Sizes or strides as the facts simplify them."""
    return [env.node_of(value).current() for value in values]


def _resolved(env: Environment, tensor: torch.Tensor, shape: Sequence[Any]) -> list[Int] | None:
    """The requested sizes, with -1 filled in. Records eager's checks: as many elements, and no 0 beside a -1."""
    sizes = [env.unwrap(size) for size in shape]
    holes = [i for i, size in enumerate(sizes) if size.as_constant() == -1]
    own = [env.unwrap(size) for size in tensor.shape]
    numel = math.prod(own, start=ONE)
    if len(holes) > 1 or any((c := size.as_constant()) is not None and c < -1 for size in sizes):
        return None  # torch has the words for it
    given = [size for i, size in enumerate(sizes) if i not in holes]
    if not holes:
        product = math.prod(given, start=ONE)
        if numel is not product and not env.demand(eq(numel, product)):
            raise _invalid(env, shape, numel)
        return sizes
    if any(size.as_constant() == 0 for size in given) or not all(env.expect_true(ne(size, 0)) for size in given):
        return None
    for size in given[:]:  # a common factor does not decide whether the division is exact
        if size in own:
            own.remove(size)
            given.remove(size)
    divisor, simple = (env.core.simplify(math.prod(part, start=ONE)) for part in (given, own))
    if not env.expect_true(eq(simple % divisor, 0)):
        raise _invalid(env, shape, numel)
    sizes[holes[0]] = env.core.simplify(simple // divisor)
    return sizes


def _invalid(env: Environment, shape: Sequence[Any], numel: Int) -> RuntimeError:
    return RuntimeError(f"shape '{[*map(str, shape)]}' is invalid for input of size {env.wrap(numel)}")


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
