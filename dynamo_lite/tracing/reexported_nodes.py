"""The metadata of a graph module's own nodes, where the program that is exported is such a module (`ep.module()`).

Its generated code has no information on the model that it was made of; its nodes have the lines and the modules of that
model. An operator of the new program has them from the node whose line runs, as in torch.export.
"""

from __future__ import annotations

from typing import Any

from torch import fx

from dynamo_lite.torch_internals._torch_fx import GENERATED_FILE, node_at

Stack = dict[str, tuple[str, str]]


class ReexportedNodes:
    """The nodes for the frames of one trace."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[Any, fx.Node | None]] = {}  # by module and line; keeps the module

    def stack_trace(self, frame: Any) -> str | None:
        """Return the program's lines recorded in the current node of `frame`; None if it has none."""
        node = self._node(frame)
        text = node.meta.get("stack_trace") if node is not None else None
        return text if isinstance(text, str) and text else None

    def module_stack(self, frame: Any) -> Stack | None:
        """Which modules of the model the current node in `frame` is in."""
        node = self._node(frame)
        stack = node.meta.get("nn_module_stack") if node is not None else None
        return dict(stack) if isinstance(stack, dict) and stack and all(map(_is_final, stack.values())) else None

    def _node(self, frame: Any) -> fx.Node | None:
        """The node whose line `frame` runs, if that is generated code, and no other than such and torch called it."""
        if frame is None or not _is_generated(frame):
            return None
        caller = frame.back
        while caller is not None:
            if not _is_generated(caller) and not str(caller.globals.get("__name__")).startswith("torch."):
                return None
            caller = caller.back
        module = frame.f_locals().get("self")
        if not isinstance(module, fx.GraphModule):
            return None
        line = frame.lineno - frame.code.co_firstlineno + 1
        known = self._known.get((id(module), line))
        if known is None:
            known = self._known[id(module), line] = module, node_at(module, line)
        return known[1]


def _is_generated(frame: Any) -> bool:
    return frame.code.co_filename.startswith(GENERATED_FILE)


def _is_final(entry: Any) -> bool:
    return isinstance(entry, tuple) and len(entry) == 2 and all(isinstance(part, str) for part in entry)
