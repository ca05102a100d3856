"""Classifies errors of operators on tensors without data: a graph break, the program's error, or ours.

A shape error is the program's: eager would raise it too, and the program may catch it. The lack of data is ours: the
program must not see it, or it would take a branch that it does not take in eager.
"""

from __future__ import annotations

import traceback
from typing import Any

from dynamo_lite.capture._torch import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
)
from dynamo_lite.capture.errors import CaptureError
from dynamo_lite.symbolic_shapes.torch_env.env import DataDependentError
from dynamo_lite.undoing import pass_on

_KEEP_AS_TENSOR = "keep the value as a tensor (a 0-d tensor works with most operators)"
_STATIC_SHAPE = (
    "use an operator whose size does not depend on data: torch.where with a mask, masked_fill, topk, padding"
)
_NO_SYMBOLS = "on tensor with symbolic sizes/strides"  # c10: a kernel that takes sizes for numbers
_NO_RESIZE = "tried to directly modify sizes for customized tensor"  # c10: a tensor with symbolic sizes
_NO_FAKE_IMPL = "There was no fake impl registered for"  # a RuntimeError of torch/_library/custom_ops.py
_NO_DATA = "The tensor has a non-zero number of elements, but its data is not allocated yet"  # c10/core/TensorImpl.h
_NO_NUMPY = ".numpy() is not supported for tensor subclasses"  # torch/csrc/utils/tensor_numpy.cpp
_FAKE_KERNEL = "register a fake kernel for it (torch.library.register_fake), or use another operator"


def missing_data(func: Any, error: Exception) -> CaptureError | None:
    """The graph break for `error`, raised by `func` on FakeTensors; None if eager would raise it as well."""
    name = str(func)
    if isinstance(error, DataDependentError):
        question = error.question
        return CaptureError("data-dependent-question", str(question), _KEEP_AS_TENSOR, {"question": question})
    if isinstance(error, DataDependentOutputException):
        return reads_data(name)
    if isinstance(error, DynamicOutputShapeException):
        what = f"the size of the result of {name} depends on the data of a tensor"
        return CaptureError("data-dependent-shape", what, _STATIC_SHAPE, {"operator": name})
    no_kernel = (UnsupportedOperatorException, UnsupportedFakeTensorException, NotImplementedError)
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    if isinstance(error, no_kernel) or reason.startswith((_NO_FAKE_IMPL, _NO_RESIZE)) or _NO_SYMBOLS in reason:
        what = f"{name} cannot be run on tensors without data: {reason}"
        return CaptureError("no-meta-kernel", what, _FAKE_KERNEL, {"operator": name, "reason": reason})
    return None


def reads_data(what: str) -> CaptureError:
    """The graph break for `what`, which needs the numbers in a tensor."""
    return CaptureError("data-dependent-value", f"{what} needs the data of a tensor", _KEEP_AS_TENSOR, {"what": what})


def wants_an_array(error: Exception) -> bool:
    """Whether Python code of torch's passed a fake tensor to numpy (`array / tensor` multiplies the array)."""
    return str(error).startswith(_NO_NUMPY)


def is_without_data(error: RuntimeError) -> bool:
    """Whether C code other than an operator found no memory behind a fake tensor (torch.tensor([x]) without a rule)."""
    return str(error).startswith(_NO_DATA)


def internal(error: Exception) -> CaptureError:
    """An error of our own, with its traceback: the program must not catch it either."""
    if isinstance(error, CaptureError):
        return error
    pass_on(error)
    text = "".join(traceback.format_exception(error))
    return CaptureError(
        "internal", f"capture itself failed:\n{text}", "please report this with the program", {"reason": text}
    )
