"""Functions to trace in place of others, registered with torch.compiler.substitute_in_graph.

The registry is TorchDynamo's own and is looked at only if TorchDynamo is loaded, which the decorator does. Its own
entries (Python versions of built-in functions) are left alone: here the built-in functions themselves are called.
Checked against torch 2.13.0 (torch/_dynamo/decorators.py, substitute_in_graph).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from dynamo_lite.opaque import Said, Treatment, key_of

_REGISTRY = "torch._dynamo.variables.functions"
_INSTEAD = "__torch_dynamo_polyfill__"


def registered() -> Iterator[Said]:
    """One row for each function that a user has registered, and for the wrapper that the decorator returned."""
    module = sys.modules.get(_REGISTRY)
    holder = getattr(module, "PolyfilledFunctionVariable", None)
    if holder is None:
        return
    for fn, wrapper in holder._get_polyfill_handlers().items():
        instead: Any = getattr(wrapper, _INSTEAD, None)
        if instead is not None and not str(getattr(instead, "__module__", "")).startswith("torch."):
            yield Said(key_of(fn), Treatment.SUBSTITUTED, instead)
