"""Buffers that hold -0.0 where a recording begins: a sum that starts from nothing.

`buf.mul_(m).add_(g)` of such a buffer is g, to the last bit: -0.0 * m is -0.0 for m >= 0, and -0.0 + g is g for every
g, -0.0, infinities and nan included (IEEE 754, rounding to nearest). So a recording that has `buf = g.clone()` in the
first call and these operators in later ones is the same program for both, if the buffer begins so. `buf.zero_()` makes
it 0.0, to which g is added, except for the sign of a zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from torch import fx

from dynamo_lite.capture._torch import OpOverload

_SCALES = frozenset({"mul_", "_foreach_mul_"})
_ADDS = frozenset({"add_", "_foreach_add_"})
_ZEROS = frozenset({"zero_", "_foreach_zero_"})


class NeutralBuffers:
    """The buffers of one fingerprint.

    digests: those of its nodes so far. copy_of: the digest of a copy of a node. is_written: whether an operator that
    the fingerprint has as a write has changed the memory of a node. nodes: the placeholders of the buffers.
    """

    def __init__(
        self,
        digests: dict[fx.Node, str],
        copy_of: Callable[[fx.Node], str],
        is_written: Callable[[fx.Node], bool],
        nodes: Iterable[fx.Node],
    ) -> None:
        self._digests, self._copy_of, self._is_written = digests, copy_of, is_written
        self._held = {node: node for node in nodes}  # node → the placeholder whose tensor, still -0.0, it is

    def take(self, node: fx.Node) -> bool:
        """Whether a node leaves such buffers as they are, or sets them to tensors: it has its digest then."""
        if not self._held or not isinstance(node.target, OpOverload) or not 1 <= len(node.args) <= 2:
            return False
        changed = _several(node.args[0])
        if not changed or any(operand not in self._held or self._is_written(operand) for operand in changed):
            return False
        name, other = node.target._opname, node.args[1] if len(node.args) == 2 else None
        if name in _ZEROS or (name in _SCALES and _is_scale(other)):
            if name in ("mul_", "zero_"):
                self._held[node] = self._held[changed[0]]
            self._digests[node] = self._digests[changed[0]]
            return True
        added = _several(other)
        if name not in _ADDS or len(added) != len(changed) or node.kwargs.get("alpha", 1) != 1:
            return False
        self._set(node, changed, added)
        return True

    def _set(self, node: fx.Node, changed: Sequence[fx.Node], added: Sequence[fx.Node]) -> None:
        for operand, value in zip(changed, added):
            placeholder = self._held[operand]
            self._held = {key: held for key, held in self._held.items() if held is not placeholder}
            digest = self._copy_of(value)
            for same in (placeholder, operand, node):  # a foreach operator has no result: its own digest is not used
                self._digests[same] = digest


def _several(value: Any) -> list[fx.Node]:
    """An operand of an operator, or those of a foreach operator; none if they are not nodes."""
    found = [*value] if isinstance(value, (list, tuple)) else [value]
    return found if all(isinstance(item, fx.Node) for item in found) else []


def _is_scale(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and math.copysign(1.0, value) > 0
