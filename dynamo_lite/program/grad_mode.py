"""The grad mode after a call of a program that failed inside of a no_grad region.

torch runs such a region (`wrap_with_set_grad_enabled`, torch/_higher_order_ops/wrap.py) by switching gradients off and
on again, without a `finally`: an assertion that fails inside would leave them off for the caller. Checked with torch
2.13.0.
"""

from __future__ import annotations

import threading
from typing import Any

import torch
from torch import fx

from dynamo_lite.program._torch import never_compiled, wrap_with_set_grad_enabled
from dynamo_lite.torch_internals._torch_state import _set_grad_enabled


class GradMode:
    """Hooks around a module's forward: what gradients were before a call, they are after it."""

    def __init__(self) -> None:
        self._before: dict[int, list[bool]] = {}  # of the running calls, by thread

    @never_compiled
    def remember(self, module: Any, args: Any) -> None:
        """A forward pre-hook."""
        if not torch.compiler.is_compiling():
            self._before.setdefault(threading.get_ident(), []).append(torch.is_grad_enabled())

    @never_compiled
    def restore(self, module: Any, args: Any, result: Any) -> None:
        """A forward hook, called after an exception too."""
        if torch.compiler.is_compiling():
            return
        before = self._before.get(threading.get_ident())
        if before:
            _set_grad_enabled(before.pop())


def restore_after_errors(module: fx.GraphModule) -> None:
    """Make `module` leave the grad mode as it was, if it has regions that switch it."""
    graphs = [part.graph for part in module.modules() if isinstance(part, fx.GraphModule)]
    if any(node.target is wrap_with_set_grad_enabled for graph in graphs for node in graph.nodes):
        hooks = GradMode()
        module.register_forward_pre_hook(hooks.remember, prepend=True)
        module.register_forward_hook(hooks.restore, always_call=True)
