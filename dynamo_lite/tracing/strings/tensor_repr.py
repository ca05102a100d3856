"""The text of a tensor during a trace: it would show data that is not there, so it is refused.

repr(), str(), f-strings and the text of a container of tensors all end in two functions of torch's, which are replaced
while a trace runs, for its thread only. A text that the program makes of it is an `UnreadText` (formatting.py), refused
when it is read. Checked against torch 2.13.0 (torch/_tensor_str.py, torch/_tensor.py).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from dynamo_lite.torch_internals._torch_tensors import _tensor_str
from dynamo_lite.tracing.heap.own_patches import stands_for
from dynamo_lite.tracing.vocabulary.symbolic_numbers import real_type
from dynamo_lite.undoing import changed

if TYPE_CHECKING:
    from dynamo_lite.tracing.strings.formatting import TextsAtWork

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


class _Watch(NamedTuple):
    """The functions that a run calls in place of torch's."""

    refuse: Callable[[], None]
    in_operator: Callable[[], bool]
    texts: TextsAtWork

    def made(self) -> str:
        """The program makes the text of a tensor."""
        if not self.texts.defers_tensor():
            self.refuse()
        return _SHOWN


_watches: dict[int, _Watch] = {}
"""By thread."""
_plain_text = _tensor_str._str
_plain_format = torch.Tensor.__format__


def _text(*args: Any, **kwargs: Any) -> str:
    watch = _watches.get(threading.get_ident())
    if watch is None:
        return _plain_text(*args, **kwargs)
    return _SHOWN if watch.in_operator() else watch.made()


def _formatted(self: Any, spec: str) -> str:
    """In the place of Tensor.__format__. It holds nothing of a run: another thread may keep it, where an import of
    TorchDynamo copies the attributes of torch.Tensor."""
    watch = _watches.get(threading.get_ident())
    if watch is None:
        return _plain_format(self, spec)
    _check_format(self, spec)
    return _SHOWN if watch.in_operator() else watch.made()


@contextmanager
def refused(
    refuse: Callable[[], None], in_operator: Callable[[], bool], texts: TextsAtWork
) -> Iterator[None]:
    """While inside, the text of any tensor calls `refuse` in this thread, unless it is for one of `texts`.

    Not where `in_operator()`: kernels make strings that are discarded (torch's argument parser formats what does not
    fit an
    overload before it tries the next one).
    """
    thread = threading.get_ident()
    outer = _watches.get(thread)
    with changed(partial(_watch, thread, outer)):
        _watch(thread, _Watch(refuse, in_operator, texts))
        yield


def let_go() -> None:
    """Ends what `refused` does in this thread before its block ends."""
    _watch(threading.get_ident(), None)


def _watch(thread: int, watch: _Watch | None) -> None:
    """torch's two places hold our functions while some thread has a watch."""
    global _plain_text, _plain_format
    if watch is None:
        _watches.pop(thread, None)
        if not _watches:
            if _tensor_str._str is _text:
                _tensor_str._str = _plain_text
            if torch.Tensor.__format__ is _formatted:
                torch.Tensor.__format__ = _plain_format  # type: ignore[method-assign]
        return
    _watches[thread] = watch
    if _tensor_str._str is not _text:
        _plain_text = _tensor_str._str
        stands_for(_text, _plain_text)
        _tensor_str._str = _text
    if torch.Tensor.__format__ is not _formatted:
        _plain_format = torch.Tensor.__format__
        stands_for(_formatted, _plain_format)
        torch.Tensor.__format__ = _formatted  # type: ignore[method-assign]
