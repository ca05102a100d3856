"""dynamo-lite: a strict, whole-graph tracer for PyTorch.

`dynamo_lite.export(mod, args)` returns a `torch.export.ExportedProgram`. Names are imported on first use, so that
`dynamo_lite.interpreter` can be used without torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from symbolic_shapes.torch_versions import check as check_torch

if TYPE_CHECKING:
    from dynamo_lite.api import export as export
    from dynamo_lite.api import trace as trace
    from dynamo_lite.as_torch_export import as_torch_export as as_torch_export
    from dynamo_lite.checking import check as check
    from dynamo_lite.explanation.explain import explain as explain
    from dynamo_lite.opaque import allow as allow
    from dynamo_lite.opaque import assume_constant_result as assume_constant_result
    from dynamo_lite.opaque import substitute as substitute
    from dynamo_lite.program.exported_program import load as load
    from dynamo_lite.program.exported_program import save as save
    from dynamo_lite.program.shapes.legacy_constraints import constrain_as_size as constrain_as_size
    from dynamo_lite.program.shapes.legacy_constraints import constrain_as_value as constrain_as_value
    from dynamo_lite.program.shapes.legacy_constraints import dynamic_dim as dynamic_dim
    from dynamo_lite.traces import Trace as Trace

__version__ = "0.1.0"

check_torch()

_LAZY = {
    "export": "dynamo_lite.api",
    "as_torch_export": "dynamo_lite.as_torch_export",
    "check": "dynamo_lite.checking",
    "explain": "dynamo_lite.explanation.explain",
    "load": "dynamo_lite.program.exported_program",
    "save": "dynamo_lite.program.exported_program",
    "Trace": "dynamo_lite.traces",
    "trace": "dynamo_lite.api",
    **dict.fromkeys(("allow", "assume_constant_result", "substitute"), "dynamo_lite.opaque"),
    **dict.fromkeys(
        ("constrain_as_size", "constrain_as_value", "dynamic_dim"), "dynamo_lite.program.shapes.legacy_constraints"
    ),
}

__all__ = ["errors", "logging", *_LAZY]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        value = getattr(importlib.import_module(_LAZY[name]), name)
        globals()[name] = value
        return value
    if name in ("errors", "logging"):
        return importlib.import_module(f"dynamo_lite.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
