"""Views that show the whole of their base: `p.expand(n, -1)` where p has n rows, `p.contiguous()` where p is that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from dynamo_lite.capture import Recorder

_VIEWS = frozenset({
    torch.ops.aten.expand.default, torch.ops.aten.view.default, torch.ops.aten.reshape.default,
    torch.ops.aten.slice.Tensor, torch.ops.aten.alias.default, torch.ops.aten.narrow.default,
})  # fmt: skip
"""Operators that return their argument's elements in their order, where the result has the argument's sizes."""


def base_of_equal_view(
    recorder: Recorder,
    view: torch.Tensor,
    base: torch.Tensor,
    equal: Callable[[Any, Any], bool],
    is_contiguous: Callable[[torch.Tensor], bool],
) -> bool:
    """Whether `view` was made of `base` by operators that return it as it is, where all sizes on the way are equal.

    equal: whether two sizes are. is_contiguous: whether `contiguous()` gives a tensor itself.
    """
    nodes = recorder.level.nodes
    start, end = nodes.get(recorder.known_fake(view)), nodes.get(recorder.known_fake(base))
    if start is None or end is None:
        return False
    shape = tuple(base.shape)
    node: Any = start
    while node is not end:
        if node.target is torch.ops.aten.contiguous.default:
            if node.kwargs or not is_contiguous(node.args[0].meta["val"]):
                return False
        elif node.target not in _VIEWS or not node.args:
            return False
        value: Any = node.meta.get("val")
        if value is None or len(value.shape) != len(shape) or not all(map(equal, value.shape, shape)):
            return False
        node = node.args[0]
    return True
