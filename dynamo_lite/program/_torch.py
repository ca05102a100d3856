"""The private torch API that the program layer uses.

Checked with torch 2.13.0, 2.14.1 and 2.15.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch._C import _get_tracing_state, _set_tracing_state  # type: ignore[attr-defined]
from torch._dispatch.python import no_python_dispatcher
from torch._export.verifier import TrainingIRVerifier
from torch._guards import SLoc, Source, TracingContext, tracing
from torch._higher_order_ops.wrap import wrap_with_autocast, wrap_with_set_grad_enabled
from torch.export._tree_utils import reorder_kwargs
from torch.export.dynamic_shapes import _IntWrapper
from torch.export.exported_program import ModuleCallEntry, ModuleCallSignature
from torch.fx.experimental import _config
from torch.fx.experimental.symbolic_shapes import SYMPY_INTERP, ShapeEnv, ValueRangesSLoc
from torch.utils._pytree import _register_namedtuple as register_namedtuple
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.printers import PythonPrinter
from torch.utils._sympy.value_ranges import ValueRanges
from torch.utils._traceback import CapturedTraceback

from dynamo_lite.capture._torch import (
    CallMethodKey,
    ConvertIntKey,
    DivideByKey,
    FakeTensor,
    FakeTensorMode,
    TensorMetadata,
    _enter_autocast,
    _exit_autocast,
    in_kernel_invocation_manager,
)
from dynamo_lite.symbolic_shapes.torch_node._torch import resize_storage_bytes_
from dynamo_lite.symbolic_shapes.torch_versions import Symbol
from dynamo_lite.torch_internals._torch_dispatch import _len_torch_dispatch_stack, never_compiled
from dynamo_lite.undoing import changed

config_patch: Any = _config.patch  # type: ignore[attr-defined]
"""config_patch(backed_size_oblivious=True): a context manager; see the settings in torch/fx/experimental/_config.py."""


@contextmanager
def jit_trace_paused() -> Iterator[None]:
    """A context in which torch.jit.trace is off: under it sizes are traced tensors, and fake tensors have none."""
    with changed(partial(_set_tracing_state, _get_tracing_state())):
        _set_tracing_state(None)
        yield


@contextmanager
def mode_known(values: Iterable[Any]) -> Iterator[None]:
    """Within, torch takes the mode of the FakeTensors among `values` for what detect_fake_mode would find there: it
    walks through all of them, some eight calls each. Not where they have several modes, or another may be found first.
    """
    mode = None
    if TracingContext.try_get() is None and not _len_torch_dispatch_stack():
        mode = _mode_of(values)
    if mode is None:
        yield
        return
    with tracing(TracingContext(mode)) as context:
        try:
            yield
        finally:
            if context is not None:
                context.fake_mode = None  # else the end of the block would empty its environment


def _mode_of(values: Iterable[Any]) -> FakeTensorMode | None:
    """The mode of all FakeTensors among `values`; None if there is not one, or for a value of another kind."""
    mode: FakeTensorMode | None = None
    todo = [*values]
    for value in todo:
        kind = type(value)
        if kind is FakeTensor:
            if mode is not None and value.fake_mode is not mode:
                return None
            mode = value.fake_mode
        elif kind is tuple or kind is list:
            todo += value
        elif kind not in _NO_TENSORS:
            return None
    return mode


_NO_TENSORS = frozenset({type(None), bool, int, float, complex, str, torch.SymInt, torch.SymFloat, torch.SymBool})


DISABLES = "every export and trace"
"""The features that fail if one of these is missing."""

SYMBOLS = (
    Symbol("torch._C:_get_tracing_state", "inputs are checked outside of torch.jit.trace"),
    Symbol("torch._C:_set_tracing_state", "inputs are checked outside of torch.jit.trace"),
    Symbol(
        "torch._dispatch.python:no_python_dispatcher",
        "meta kernels run without Python decompositions while the program is rebuilt",
    ),
    Symbol(
        "torch._export.verifier:TrainingIRVerifier",
        "the verifier that an ExportedProgram of the training IR names",
    ),
    Symbol("torch._guards:TracingContext", "the mode of a program's FakeTensors is known"),
    Symbol("torch._guards:tracing", "the mode of a program's FakeTensors is known"),
    Symbol("torch._guards:SLoc", "where a guard or a range of torch's ShapeEnv came from"),
    Symbol("torch._guards:Source", "the type of the sources that torch's ShapeEnv and FakeTensorMode hand over"),
    Symbol(
        "torch._higher_order_ops.wrap:wrap_with_autocast",
        "regions under autocast become sub-graphs, as torch.export writes them",
    ),
    Symbol(
        "torch._higher_order_ops.wrap:wrap_with_set_grad_enabled",
        "regions with another grad mode become sub-graphs, as torch.export writes them",
    ),
    Symbol(
        "torch.export._tree_utils:reorder_kwargs",
        "keyword arguments in the order of the signature, as module() orders them",
    ),
    Symbol("torch.export.dynamic_shapes:_IntWrapper", "integers in the arguments of torch.export's AdditionalInputs"),
    Symbol("torch.export.exported_program:ModuleCallEntry", "the signature of a module's call in an ExportedProgram"),
    Symbol(
        "torch.export.exported_program:ModuleCallSignature",
        "the signature of a module's call in an ExportedProgram",
    ),
    Symbol("torch.fx.experimental:_config", "backed_size_oblivious and its like, set while the program is rebuilt"),
    Symbol(
        "torch.fx.experimental.symbolic_shapes:SYMPY_INTERP",
        "the functions that a guard in an ExportedProgram's text may call",
    ),
    Symbol(
        "torch.fx.experimental.symbolic_shapes:ShapeEnv",
        "the environment that the finished program's sizes belong to",
    ),
    Symbol("torch.fx.experimental.symbolic_shapes:ValueRangesSLoc", "where the two ends of a range came from"),
    Symbol("torch.utils._pytree:_register_namedtuple", "named tuples as containers that can be saved"),
    Symbol("torch.utils._sympy.numbers:int_oo", "no bound, in range constraints"),
    Symbol(
        "torch.utils._sympy.printers:PythonPrinter",
        "a sympy expression as Python text, in guards of an ExportedProgram",
    ),
    Symbol("torch.utils._sympy.value_ranges:ValueRanges", "range constraints"),
    Symbol("torch.utils._traceback:CapturedTraceback", "node.meta['stack_trace'] of nodes that are made at the end"),
)

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
    "never_compiled",
    "no_python_dispatcher",
    "register_namedtuple",
    "reorder_kwargs",
    "resize_storage_bytes_",
    "wrap_with_autocast",
    "wrap_with_set_grad_enabled",
    "mode_known",
]
