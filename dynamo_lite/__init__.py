"""dynamo-lite: a strict, whole-graph tracer for PyTorch.

`dynamo_lite.export(mod, args)` returns a `torch.export.ExportedProgram`. Names are imported on first use, so that
`dynamo_lite.interpreter` can be used without torch.

The front is `api.py`; the packages below import only the errors and the version from this file.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dynamo_lite.folders import PATH as __path__  # noqa: F401  before what is found by it
from dynamo_lite.symbolic_shapes.torch_versions import check as check_torch
from dynamo_lite.symbolic_shapes.torch_versions.first_imports import without_collector

if TYPE_CHECKING:
    from torch.export import AdditionalInputs as AdditionalInputs
    from torch.export import Dim as Dim
    from torch.export import ExportedProgram as ExportedProgram
    from torch.export import ShapesCollection as ShapesCollection
    from torch.export import register_dataclass as register_dataclass
    from torch.export import unflatten as unflatten

    from dynamo_lite.api import export as export
    from dynamo_lite.api import trace as trace
    from dynamo_lite.checking import check as check
    from dynamo_lite.errors import ConstraintViolation as ConstraintViolation
    from dynamo_lite.errors import DataDependent as DataDependent
    from dynamo_lite.errors import DynamoLiteError as DynamoLiteError
    from dynamo_lite.errors import GraphBreak as GraphBreak
    from dynamo_lite.errors import InputMismatch as InputMismatch
    from dynamo_lite.errors import InternalError as InternalError
    from dynamo_lite.errors import InvalidArguments as InvalidArguments
    from dynamo_lite.errors import StructureMismatch as StructureMismatch
    from dynamo_lite.errors import UnknownKeyword as UnknownKeyword
    from dynamo_lite.errors import UnrecordableValue as UnrecordableValue
    from dynamo_lite.errors import UnsupportedCall as UnsupportedCall
    from dynamo_lite.errors import UnsupportedConversion as UnsupportedConversion
    from dynamo_lite.errors import UnsupportedEffect as UnsupportedEffect
    from dynamo_lite.errors import UnsupportedMode as UnsupportedMode
    from dynamo_lite.errors import UnsupportedOperator as UnsupportedOperator
    from dynamo_lite.errors import UnsupportedValue as UnsupportedValue
    from dynamo_lite.explanation.draft import Draft as Draft
    from dynamo_lite.explanation.draft import draft_export as draft_export
    from dynamo_lite.explanation.explain import explain as explain
    from dynamo_lite.methods import CompiledMethods as CompiledMethods
    from dynamo_lite.methods import Method as Method
    from dynamo_lite.methods import Methods as Methods
    from dynamo_lite.methods import export_methods as export_methods
    from dynamo_lite.methods import load_compiled_methods as load_compiled_methods
    from dynamo_lite.methods import load_methods as load_methods
    from dynamo_lite.observation import observe as observe
    from dynamo_lite.opaque import allow as allow
    from dynamo_lite.opaque import assume_constant_result as assume_constant_result
    from dynamo_lite.opaque import branch as branch
    from dynamo_lite.opaque import substitute as substitute
    from dynamo_lite.option_types import DynamicShapes as DynamicShapes
    from dynamo_lite.option_types import ExportOptions as ExportOptions
    from dynamo_lite.program.exported_program import Program as Program
    from dynamo_lite.program.exported_program import load as load
    from dynamo_lite.program.exported_program import save as save
    from dynamo_lite.program.shapes.legacy_constraints import constrain_as_size as constrain_as_size
    from dynamo_lite.program.shapes.legacy_constraints import constrain_as_value as constrain_as_value
    from dynamo_lite.program.shapes.legacy_constraints import dynamic_dim as dynamic_dim
    from dynamo_lite.program.trees.containers import register_container as register_container
    from dynamo_lite.traces import Trace as Trace
    from dynamo_lite.under_torch_export import as_torch_export as as_torch_export

__version__ = "0.2.0"

check_torch()

_MODULES = {
    "dynamo_lite.api": ("export", "trace"),
    "dynamo_lite.under_torch_export": ("as_torch_export",),
    "dynamo_lite.checking": ("check",),
    "dynamo_lite.errors": (
        *("ConstraintViolation", "DataDependent", "DynamoLiteError", "GraphBreak", "InputMismatch", "InternalError"),
        *("InvalidArguments", "StructureMismatch", "UnknownKeyword", "UnrecordableValue", "UnsupportedCall"),
        *("UnsupportedConversion", "UnsupportedEffect", "UnsupportedMode", "UnsupportedOperator", "UnsupportedValue"),
    ),
    "dynamo_lite.explanation.draft": ("Draft", "draft_export"),
    "dynamo_lite.explanation.explain": ("explain",),
    "dynamo_lite.methods": (
        "CompiledMethods",
        "Method",
        "Methods",
        "export_methods",
        "load_compiled_methods",
        "load_methods",
    ),
    "dynamo_lite.observation": ("observe",),
    "dynamo_lite.opaque": ("allow", "assume_constant_result", "branch", "substitute"),
    "dynamo_lite.option_types": ("DynamicShapes", "ExportOptions"),
    "dynamo_lite.program.exported_program": ("Program", "load", "save"),
    "dynamo_lite.program.shapes.legacy_constraints": ("constrain_as_size", "constrain_as_value", "dynamic_dim"),
    "dynamo_lite.program.trees.containers": ("register_container",),
    "dynamo_lite.traces": ("Trace",),
    "torch.export": (
        *("AdditionalInputs", "Dim", "ExportedProgram", "ShapesCollection", "register_dataclass", "unflatten"),
    ),
}
"""Module → the public names that are imported from it on first use. Those of errors need no torch."""

_LAZY = {name: module for module, names in _MODULES.items() for name in names}

__all__ = ["errors", "logging", *_LAZY]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        with without_collector():
            value = getattr(importlib.import_module(_LAZY[name]), name)
        globals()[name] = value
        return value
    if name in ("errors", "logging"):
        return importlib.import_module(f"dynamo_lite.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
