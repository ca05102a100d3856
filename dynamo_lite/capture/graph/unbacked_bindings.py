"""Where the unbacked symbols that an operator made are in its result."""

from __future__ import annotations

from typing import Any

import torch

from dynamo_lite.capture._torch import CallMethodKey, ConvertIntKey, DivideByKey
from dynamo_lite.symbolic_shapes.expressions.expr import Int, Symbol
from dynamo_lite.symbolic_shapes.expressions.floats import Float
from dynamo_lite.symbolic_shapes.expressions.relations import eq
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv
from dynamo_lite.symbolic_shapes.torch_node.symbolic_types import SYMBOLIC_TYPES
from dynamo_lite.torch_internals._torch_pytree import pytree

_BLOCKED = (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)


def unbacked_bindings(env: TorchShapeEnv, pending: set[Any], result: Any) -> dict[Any, pytree.KeyPath]:
    """`{symbol: key path}` for the symbols in `pending` (sympy) that `result` shows: what torch's consumers read in
    `node.meta["unbacked_bindings"]` (compute_unbacked_bindings in torch/fx/experimental/symbolic_shapes.py).
    """
    found: dict[Any, pytree.KeyPath] = {}

    def visit(value: Any, path: pytree.KeyPath) -> None:
        if isinstance(value, (tuple, list)):
            for index, item in enumerate(value):
                visit(item, (*path, pytree.SequenceKey(index)))
        elif isinstance(value, torch.Tensor):
            visit(value.size(), (*path, CallMethodKey("size")))
            if value.layout not in _BLOCKED and not value.is_sparse:
                visit(value.stride(), (*path, CallMethodKey("stride")))
                visit(value.storage_offset(), (*path, CallMethodKey("storage_offset")))
        elif isinstance(value, SYMBOLIC_TYPES):
            match = _symbol_in(env, value, pending)
            if match is not None:
                symbol, keys = match
                pending.discard(symbol)
                found[symbol] = (*path, *keys)

    visit(result, ())
    return found


def _symbol_in(env: TorchShapeEnv, value: Any, pending: set[Any]) -> tuple[Any, pytree.KeyPath] | None:
    """The pending symbol that `value` determines, and how."""
    core = env.unwrap(value)
    if isinstance(core, Float):
        symbol = env.to_sympy(core)
        return (symbol, ()) if symbol in pending else None
    if not isinstance(core, Int):
        for symbol in pending:
            node = env.symbols.from_sympy.get(symbol)
            if isinstance(node, Symbol) and core is eq(node.as_int(), 1):
                return symbol, (ConvertIntKey(),)
        return None
    if core.const or len(core.terms) != 1:
        return None
    ((mono, coefficient),) = core.terms.items()
    if len(mono) != 1 or not isinstance(mono[0], Symbol):
        return None
    symbol = env.symbols(mono[0])
    if symbol not in pending:
        return None
    return symbol, () if coefficient == 1 else (DivideByKey(coefficient),)
