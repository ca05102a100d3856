"""The forward operator that an operator of a backward belongs to, by autograd's sequence numbers.

Each operator that requires grad gets autograd nodes with consecutive numbers; the engine reports which node it
evaluates.
"""

from __future__ import annotations

from bisect import bisect_right

from torch import fx

from dynamo_lite.torch_internals._torch_autograd import next_sequence_number, number_in_backward


class ForwardLines:
    """The nodes of a recording in order, each with the first number that autograd had not given before it."""

    def __init__(self) -> None:
        self._numbers: list[int] = []
        self._nodes: list[fx.Node] = []

    def note(self, node: fx.Node, trace: str | None) -> str | None:
        """Note a new node. Returns its stack trace: within a backward it ends with that of the forward operator."""
        number = number_in_backward()
        if number is not None and trace is not None:
            place = bisect_right(self._numbers, number)
            forward = self._nodes[place].meta.get("stack_trace") if place < len(self._nodes) else None
            trace += forward or ""
        self._numbers.append(next_sequence_number())
        self._nodes.append(node)
        return trace
