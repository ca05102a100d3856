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

if TYPE_CHECKING:
    from dynamo_lite.tracing.strings.formatting import TextsAtWork

_SHOWN = "tensor(...)"


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
        return made() if threading.get_ident() == thread else plain(self, spec)

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
