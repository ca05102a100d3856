"""Runs a kernel again with larger sizes, if it compares a size with 0 or 1.

Kernels do so to broadcast, to choose strides, or to take a fast path. The example's outcome would become a guard. If
the kernel does the same work for sizes from 2 on, and needs no guard there, that result is used. By torch's own
contract of `guard_or_false`, and the table of kernels (query_kinds.py), the formulas of the result hold at 0 and 1 as
well; that they give the example's own result is checked here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import torch

from dynamo_lite.symbolic_shapes.expressions.expr import Int, symbols_of
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, and_, ge
from dynamo_lite.symbolic_shapes.proofs.facts import Fact
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv
from dynamo_lite.symbolic_shapes.torch_node._torch import FakeTensor, below_autograd, in_kernel_invocation_manager

FAR = 8
"""The distance from the example, and from four times its sizes, of one for which a view may have to be a copy."""

_OF_KERNELS = (RuntimeError, ValueError, IndexError, TypeError, ArithmeticError, AssertionError)
"""Exceptions that a kernel raises for sizes that it does not take. Exceptions of this package propagate."""


def run(env: TorchShapeEnv, kernel: Callable[[], Any], args: Iterable[Any], may_copy: bool = False) -> Any:
    """The result of `kernel`, decided by the example, or by sizes from 2 on if it needs fewer guards for these.

    may_copy: whether its result is a view or a copy depending on the argument's layout: its strides then decide.
    """
    core = env.core
    mark, count, others = core.snapshot(), len(core.facts), (env.unbacked_created, env.values_taken)
    result = kernel()
    facts = core.facts[count:]
    guards = [fact.relation for fact in facts if fact.kind == "guard"]
    if not guards or env.is_assuming_large or (env.unbacked_created, env.values_taken) != others:
        return result
    if not _is_tensors(result):
        return result  # an answer (a bool, a number) is the program's: it is the example's, with a guard
    sizes = _sizes_among(env, args)
    if not sizes or any(symbol.unbacked for size in sizes for symbol in symbols_of(size)):
        return result
    core.rollback(mark)
    never = {size for size in sizes if env.memo.decide(ge(size, 2)) is False}
    large = and_(*(ge(size, 1 if size in never else 2) for size in sizes))
    if may_copy or any(env.memo.decide_under(large, guard) is not None for guard in guards):
        other = _of_large(env, kernel, args, large, may_copy)
        if other is not None:
            layouts = [_layouts(env, one, with_strides=not may_copy) for one in (other[0], result)]
            if _asks_less(env, core.facts[count:], facts) and layouts[0] == layouts[1]:
                return other[0]
            core.rollback(mark)
    heard, core.listeners = core.listeners, []  # they have received these facts
    try:
        for fact in facts:
            core.assume(fact.relation, fact.origin, fact.kind)
    finally:
        core.listeners = heard
    return result


def _of_large(
    env: TorchShapeEnv, kernel: Callable[[], Any], args: Iterable[Any], large: Bool, may_copy: bool
) -> tuple[Any] | None:
    """The kernel's result if the sizes of its arguments satisfy `large`; None if it does not accept them (two sizes
    that are both 1 are broadcast). The facts that it requires stay, if there is a result."""
    core, wanted = env.core, large
    if env.hint_of(large) and may_copy:  # the example may be the one size at which it is a view
        wanted = and_(large, *(ge(s.as_int(), FAR + 4 * int(s.hint or 0)) for s in symbols_of(large)))
    example = None if env.hint_of(wanted) else core.example_of(wanted)
    if example is None and not env.hint_of(large):
        return None
    mark = core.snapshot()
    try:
        sizes_at_hand = nullcontext() if example is None else env.other_example(example)
        with _asked_anew(env, args), sizes_at_hand, env.assuming_large(large):
            return (kernel(),)
    except _OF_KERNELS:
        core.rollback(mark)
        return None


@contextmanager
def _asked_anew(env: TorchShapeEnv, args: Iterable[Any]) -> Iterator[None]:
    """Within and after it, the arguments have no cached answers about their layout: C++ keeps the answers that the
    example gave (c10/core/SymbolicShapeMeta.h), which are those of a guard."""
    _forget_answers(env, args)
    try:
        yield
    finally:
        _forget_answers(env, args)


def _forget_answers(env: TorchShapeEnv, args: Iterable[Any]) -> None:
    for tensor in _tensors_of(args):
        if isinstance(tensor, FakeTensor) and tensor._has_symbolic_sizes_strides and tensor.layout is torch.strided:
            layout = tensor.shape, tensor.stride(), tensor.storage_offset()
            with in_kernel_invocation_manager(tensor.fake_mode), below_autograd(), env.suppress_guards():
                torch.ops.aten.as_strided_.default(tensor, *layout)


def _asks_less(env: TorchShapeEnv, facts: Sequence[Fact], than: Sequence[Fact]) -> bool:
    """Whether fewer answers became guards, and all conditions hold in the example."""
    guards, before = ([fact for fact in part if fact.kind == "guard"] for part in (facts, than))
    return len(guards) < len(before) and all(env.hint_of(fact.relation) is True for fact in facts)


def _layouts(env: TorchShapeEnv, result: Any, with_strides: bool) -> list[Any]:
    """The sizes in the example, and the strides where they mean something."""
    found: list[Any] = []
    for tensor in _tensors_of((result,)):
        sizes = [env.hint_of(env.unwrap(size)) for size in tensor.shape]
        strides = [env.hint_of(env.unwrap(stride)) for stride in tensor.stride()] if with_strides else []
        found.append((sizes, [stride for size, stride in zip(sizes, strides) if size != 1 and 0 not in sizes]))
    return found


def _is_tensors(result: Any) -> bool:
    """Whether a result is a tensor, or consists of tensors."""
    return isinstance(result, torch.Tensor) or (
        isinstance(result, (list, tuple)) and all(isinstance(part, torch.Tensor) for part in result)
    )


def _tensors_of(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors_of(value)


def _sizes_among(env: TorchShapeEnv, args: Iterable[Any]) -> dict[Int, None]:
    """The sizes and strides among the arguments that vary, and the factors of those that are products."""
    found: dict[Int, None] = {}
    for number in _numbers_of(args):
        if type(number) is torch.SymInt:
            size = env.unwrap(number)
            found[size] = None
            if not size.const and len(size.terms) == 1:
                ((term, _),) = size.terms.items()
                factors = (atom.as_int() for atom in term)
                found |= {factor if (env.hint_of(factor) or 0) >= 0 else -factor: None for factor in factors}
    return found


def _numbers_of(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield from value.shape
            yield from value.stride()
        elif isinstance(value, (list, tuple)):
            yield from _numbers_of(value)
        else:
            yield value
