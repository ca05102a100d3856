"""The observable results of one call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from dynamo_lite.errors import InputMismatch
from dynamo_lite.replay.python_state import StateChange
from dynamo_lite.torch_internals._torch_pytree import pytree


@dataclass
class Seen:
    """One call: its exception or result, its arguments afterwards, the state by name, the changes in Python."""

    raised: Exception | None
    output: Any
    arguments: Any
    state: dict[str, torch.Tensor]
    python: list[StateChange] = field(default_factory=list)


def observe(fn: Callable[..., Any], owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Seen:
    """Call `fn`; `owner` holds its state. The tensors in the result are the call's own, not copies."""
    raised, output = None, None
    try:
        output = fn(*args, **kwargs)
    except Exception as error:
        raised = error
    return Seen(raised, plain(output), (args, kwargs), state_of(owner))


def plain(output: Any) -> Any:
    """An output with its torch.Sizes as tuples: a program, as torch.export's, returns those."""
    return pytree.tree_map(lambda leaf: tuple(leaf) if type(leaf) is torch.Size else leaf, output)


def state_of(owner: Any) -> dict[str, torch.Tensor]:
    """Copies of the parameters and buffers, under each of their names."""
    if not isinstance(owner, nn.Module):
        return {}
    rows = [*owner.named_parameters(remove_duplicate=False), *owner.named_buffers(remove_duplicate=False)]
    return {name: value.detach().clone() for name, value in rows if not is_lazy(value)}


def is_rejection(error: BaseException) -> bool:
    """Whether the program raised because it was not exported for such arguments."""
    text = str(error)
    return isinstance(error, InputMismatch) or text.startswith(("Guard failed", "Runtime assertion failed"))
