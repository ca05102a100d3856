"""Which call is answered by which family: id(callable) → rule, for tracing/rules.py."""

from __future__ import annotations

import sys
from typing import Any

from dynamo_lite.tracing.higher_order.cond import call_cond

# "module:Class" of a higher-order operator → the rule for its `__call__`, with the operator as first argument.
_OPERATORS: dict[str, Any] = {
    "torch._higher_order_ops.cond:CondOp": call_cond,
}


def table() -> dict[int, Any]:
    """The rules for what is loaded now."""
    rows: dict[int, Any] = {}
    for path, rule in _OPERATORS.items():
        module, _, name = path.partition(":")
        if module in sys.modules:
            rows[id(vars(getattr(sys.modules[module], name))["__call__"])] = rule
    return rows
