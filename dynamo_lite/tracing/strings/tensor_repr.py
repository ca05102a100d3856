"""The text of a tensor during a trace: it would show data that is not there, so it is refused.

repr(), str(), f-strings and the text of a container of tensors all end in two places of torch's, which are replaced
while a trace runs, for its thread only. What the program makes of such a text is an `UnreadText` (formatting.py),
which is refused when it is read. Checked against torch 2.13.0 (torch/_tensor_str.py, torch/_tensor.py).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from dynamo_lite.torch_internals._torch_tensors import _tensor_str
from dynamo_lite.tracing.vocabulary.symbolic_numbers import real_type

if TYPE_CHECKING:
    from dynamo_lite.tracing.strings.formatting import TextsAtWork

_SHOWN = "tensor(...)"


def _check_format(tensor: torch.Tensor, spec: str) -> None:
    """Raises what eager does for a format that the tensor has not: one with dimensions has none but the empty one, one
    without has those of its number (torch/_tensor.py)."""
    if not spec:
        return
    kind, dtype = real_type(tensor), tensor.dtype
    if tensor.dim() or tensor.device.type == "meta" or kind is not torch.Tensor:
        raise TypeError(f"unsupported format string passed to {kind.__name__}.__format__")
    number: Any = 1j if dtype.is_complex else 1.0 if dtype.is_floating_point else True if dtype is torch.bool else 1
    format(number, spec)


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
    text_of = _tensor_str._str

    def text(*args: Any, **kwargs: Any) -> str:
        if threading.get_ident() != thread:
            return text_of(*args, **kwargs)
        return _SHOWN if in_operator() else made()

    def formatted(self: Any, spec: str) -> str:
        if threading.get_ident() != thread:
            return plain(self, spec)
        _check_format(self, spec)
        return made()

    def made() -> str:
        if not texts.defers_tensor():
            refuse()
        return _SHOWN

    plain = torch.Tensor.__format__
    _tensor_str._str = text
    torch.Tensor.__format__ = formatted  # type: ignore[method-assign]
    try:
        yield
    finally:
        _tensor_str._str = text_of
        torch.Tensor.__format__ = plain  # type: ignore[method-assign]
