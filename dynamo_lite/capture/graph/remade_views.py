"""Views that a side of a branch makes of a tensor from around it, made again behind the branch.

    v = y[0] if p else y[1] * 2     # torch.cond returns a tensor of its own; in eager it is a view of `y`, where p
    v.add_(1)                       # so the program changes `y[0]` as well, which it has to make for that

The view operators are read from the side's graph, from the tensor back to the operand that it shows.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from dynamo_lite.capture._torch import OpOverload
from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.graph.level import Level

_OVERLAPPING = (torch.ops.aten.as_strided, torch.ops.aten.unfold)
"""Views of which several elements may share one place. (Those of `expand` do where a stride is 0.)"""
Run = Callable[[Any, tuple[Any, ...]], Any]


@dataclass(frozen=True)
class RemadeView:
    """`view`, a fake tensor of a side, as view operators on `base`, a fake tensor from around it.

    steps: (operator, the arguments behind the tensor); operator.getitem takes one of several results.
    """

    view: torch.Tensor
    base: torch.Tensor
    steps: Sequence[tuple[Any, tuple[Any, ...]]]

    def make(self, run: Run) -> torch.Tensor | None:
        """Make the view by `run(operator, arguments)`; None if that is not the same part of the memory."""
        made: Any = self.base
        for func, args in self.steps:
            made = made[args[0]] if func is operator.getitem else run(func, (made, *args))
        return made if _is_same_part(made, self.view) else None


def remade_view(level: Level, view: torch.Tensor) -> RemadeView | None:
    """How a fake tensor of a sub-graph is a view of one of its operands; None for other tensors and other operators."""
    if view.layout is not torch.strided or storage_key(view) not in level.storages:
        return None
    operands = {node: value for node, value in level.captured if isinstance(value, torch.Tensor)}
    node, steps = level.nodes.get(view), []
    while isinstance(node, fx.Node) and node not in operands:
        if node.kwargs or not node.args:
            return None
        func, (source, *rest) = node.target, node.args
        if not _returns_first(func):
            args = [_value_of(arg) for arg in rest]
            if None in args or not (func is operator.getitem or _is_view(func)):
                return None
            steps.append((func, tuple(arg for (arg,) in args)))  # type: ignore[misc]
        node = source  # type: ignore[assignment]
    if not isinstance(node, fx.Node):
        return None
    base = operands[node]
    return RemadeView(view, base, steps[::-1]) if storage_key(base) == storage_key(view) else None


def _returns_first(func: Any) -> bool:
    """Whether an operator changes its first argument in place and returns it."""
    if not isinstance(func, OpOverload) or not func._schema.is_mutable or not func._schema.arguments:
        return False
    alias = func._schema.arguments[0].alias_info
    return alias is not None and alias.is_write


def _is_view(func: Any) -> bool:
    if not isinstance(func, OpOverload) or func._schema.is_mutable:
        return False
    returns = func._schema.returns
    if func.overloadpacket in _OVERLAPPING:
        return False
    return bool(returns) and all(result.alias_info is not None for result in returns)


def _value_of(arg: Any) -> tuple[Any] | None:
    """(the value of an argument,); None for a tensor."""
    if isinstance(arg, (list, tuple)):
        parts = [_value_of(part) for part in arg]
        return None if None in parts else ([part for (part,) in parts],)  # type: ignore[misc]
    if isinstance(arg, fx.Node):
        arg = arg.meta.get("val")
        is_known = isinstance(arg, torch.SymInt) and arg.node.has_hint()  # of inputs, which each level has
        return (arg,) if type(arg) is int or is_known else None
    return (arg,)


def _is_same_part(one: Any, other: torch.Tensor) -> bool:
    """Whether two views show the same elements of one memory."""
    if not isinstance(one, torch.Tensor) or storage_key(one) != storage_key(other) or one.dtype is not other.dtype:
        return False
    numbers = [(*t.shape, *t.stride(), t.storage_offset()) for t in (one, other)]
    return len(numbers[0]) == len(numbers[1]) and all(map(_is_same_number, *numbers))


def _is_same_number(one: Any, other: Any) -> bool:
    if type(one) is int or type(other) is int:
        return type(one) is type(other) and one == other
    return bool(one.node.core is other.node.core)
