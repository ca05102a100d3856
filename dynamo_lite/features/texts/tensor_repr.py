"""The text of a tensor during a trace: it would show data that is not there, so it is refused.

repr(), str(), f-strings and the text of a container of tensors all end in two functions of torch's, which are replaced
while a trace runs, for its thread only. A text that the program makes of it is an `UnreadText` (formatting.py), refused
when it is read. Checked against torch 2.13.0 (torch/_tensor_str.py, torch/_tensor.py).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch

from dynamo_lite.features.texts.formatting import OF_A_TENSOR, TextsAtWork
from dynamo_lite.torch_internals._torch_tensors import _tensor_str
from dynamo_lite.tracing.heap.own_patches import stands_for
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.vocabulary.symbolic_numbers import real_type
from dynamo_lite.undoing import changed

_SHOWN = "tensor(...)"


def _check_format(tensor: torch.Tensor, spec: str) -> None:
    """Raises eager's error for a format that the tensor does not support: one with dimensions has only the empty one,
    one without has those of its number (torch/_tensor.py)."""
    if not spec:
        return
    kind, dtype = real_type(tensor), tensor.dtype
    if tensor.dim() or tensor.device.type == "meta" or kind is not torch.Tensor:
        raise TypeError(f"unsupported format string passed to {kind.__name__}.__format__")
    number: Any = 1j if dtype.is_complex else 1.0 if dtype.is_floating_point else True if dtype is torch.bool else 1
    format(number, spec)


def _shown(tracer: TracerView) -> str:
    """The text of a tensor is made: by the program, by an operator's kernel, or by the user, who reads the message of
    the program's error when all is over."""
    if not tracer.recorder.running and not tracer.own(TextsAtWork).defers_tensor() and not tracer.vm.retired:
        tracer.refuse(OF_A_TENSOR)
    return _SHOWN


_runs: dict[int, TracerView] = {}
"""The run whose tensors have no text, by thread."""
_plain_text = _tensor_str._str
_plain_format = torch.Tensor.__format__


def _text(*args: Any, **kwargs: Any) -> str:
    tracer = _runs.get(threading.get_ident())
    return _plain_text(*args, **kwargs) if tracer is None else _shown(tracer)


def _formatted(self: Any, spec: str) -> str:
    """In the place of Tensor.__format__. It holds nothing of a run: another thread may keep it, where an import of
    TorchDynamo copies the attributes of torch.Tensor."""
    tracer = _runs.get(threading.get_ident())
    if tracer is None:
        return _plain_format(self, spec)
    _check_format(self, spec)
    return _shown(tracer)


@contextmanager
def refused(tracer: TracerView) -> Iterator[None]:
    """While inside, the text of any tensor is refused in this thread, unless it is for one that is not read yet.

    Not within an operator: kernels make strings that are discarded (torch's argument parser formats what does not fit
    an overload before it tries the next one).
    """
    thread = threading.get_ident()
    outer = _runs.get(thread)
    with changed(partial(_watch, thread, outer)):
        _watch(thread, tracer)
        yield


def let_go(tracer: TracerView) -> None:
    """End what `refused` does in this thread before its block ends: C++ imports a module of a torch without our
    functions."""
    _watch(threading.get_ident(), None)


def _watch(thread: int, tracer: TracerView | None) -> None:
    """torch's two places hold our functions while some thread has a run."""
    global _plain_text, _plain_format
    if tracer is None:
        _runs.pop(thread, None)
        if not _runs:
            if _tensor_str._str is _text:
                _tensor_str._str = _plain_text
            if torch.Tensor.__format__ is _formatted:
                torch.Tensor.__format__ = _plain_format  # type: ignore[method-assign]
        return
    _runs[thread] = tracer
    if _tensor_str._str is not _text:
        _plain_text = _tensor_str._str
        stands_for(_text, _plain_text)
        _tensor_str._str = _text
    if torch.Tensor.__format__ is not _formatted:
        _plain_format = torch.Tensor.__format__
        stands_for(_formatted, _plain_format)
        torch.Tensor.__format__ = _formatted  # type: ignore[method-assign]
