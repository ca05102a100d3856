"""The private torch API that the program layer stands on, in one place. Checked with torch 2.13.0."""

from __future__ import annotations

from typing import Any

from torch._dispatch.python import no_python_dispatcher
from torch._export.verifier import TrainingIRVerifier
from torch._guards import SLoc, Source
from torch._higher_order_ops.wrap import wrap_with_autocast, wrap_with_set_grad_enabled
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, in_kernel_invocation_manager
from torch.amp.autocast_mode import _enter_autocast, _exit_autocast
from torch.export._tree_utils import reorder_kwargs
from torch.export.dynamic_shapes import _IntWrapper
from torch.export.exported_program import ModuleCallEntry, ModuleCallSignature
from torch.fx.experimental import _config
from torch.fx.experimental.symbolic_shapes import (
    SYMPY_INTERP,
    CallMethodKey,
    ConvertIntKey,
    DivideByKey,
    ShapeEnv,
    ValueRangesSLoc,
)
from torch.fx.passes.shape_prop import TensorMetadata
from torch.utils._pytree import _register_namedtuple as register_namedtuple
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.printers import PythonPrinter
from torch.utils._sympy.value_ranges import ValueRanges
from torch.utils._traceback import CapturedTraceback

from symbolic_shapes.torch_node._torch import resize_storage_bytes_

config_patch: Any = _config.patch  # type: ignore[attr-defined]
"""config_patch(backed_size_oblivious=True): a context manager; see the settings in torch/fx/experimental/_config.py."""

__all__ = [
    "SYMPY_INTERP",
    "CallMethodKey",
    "CapturedTraceback",
    "ConvertIntKey",
    "DivideByKey",
    "FakeTensor",
    "FakeTensorMode",
    "ModuleCallEntry",
    "ModuleCallSignature",
    "PythonPrinter",
    "SLoc",
    "ShapeEnv",
    "Source",
    "TensorMetadata",
    "TrainingIRVerifier",
    "ValueRanges",
    "ValueRangesSLoc",
    "_IntWrapper",
    "_enter_autocast",
    "_exit_autocast",
    "config_patch",
    "in_kernel_invocation_manager",
    "int_oo",
    "no_python_dispatcher",
    "register_namedtuple",
    "reorder_kwargs",
    "resize_storage_bytes_",
    "wrap_with_autocast",
    "wrap_with_set_grad_enabled",
]
