"""The private torch API for symbolic tracing by torch.fx, and for its nodes.

Checked with torch 2.13.0, 2.14.1 and 2.15.0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx._symbolic_trace import is_fx_symbolic_tracing as is_fx_symbolic_tracing

from dynamo_lite.symbolic_shapes.torch_versions import Symbol

DISABLES = "the import of the tracer"
"""What does not work if one of these is missing."""

SYMBOLS = (
    Symbol("torch.fx._symbolic_trace:is_fx_symbolic_tracing", "a question of the program that eager answers"),
    Symbol("torch.fx.node#_update_args_kwargs", "a node's arguments, as its constructor sets them"),
)

__all__ = [
    "call_function",
    "is_fx_symbolic_tracing",
]

_SETS_ARGUMENTS = hasattr(torch.fx.Node, "_update_args_kwargs") and torch.__version__.startswith("2.13.")


def call_function(
    graph: torch.fx.Graph, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], name: str
) -> torch.fx.Node:
    """graph.create_node("call_function", ...) for arguments that hold no SymInt, SymFloat or SymBool.

    create_node goes through all arguments to warn of such; a node that is made without arguments is given them here as
    its constructor does it.
    """
    if not _SETS_ARGUMENTS:
        return graph.create_node("call_function", function, args, kwargs, name=name)
    node = graph.create_node("call_function", function, (), {}, name=name)
    node._update_args_kwargs(args, kwargs)
    return node
