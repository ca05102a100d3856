"""The text of a tensor during a trace: it would show data that is not there, so it is refused.

repr(), str(), f-strings and the text of a container of tensors all end in two places of torch's, which are replaced
while a trace runs, for its thread only. Checked against torch 2.13.0 (torch/_tensor_str.py, torch/_tensor.py).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from torch import _tensor_str
from torch._subclasses.fake_tensor import FakeTensor


@contextmanager
def refused(refuse: Callable[[], NoReturn], in_operator: Callable[[], bool]) -> Iterator[None]:
    """While inside, the text of any tensor calls `refuse` in this thread.

    Not where `in_operator()`: kernels make texts that nobody sees (torch's argument parser formats what does not fit an
    overload before it tries the next one).
    """
    thread = threading.get_ident()
    text_of = _tensor_str._str

    def text(*args: Any, **kwargs: Any) -> str:
        if threading.get_ident() != thread:
            return text_of(*args, **kwargs)
        return "tensor(...)" if in_operator() else refuse()

    def formatted(self: Any, spec: str) -> str:
        return refuse() if threading.get_ident() == thread else object.__format__(self, spec)

    had_own = "__format__" in FakeTensor.__dict__
    assert not had_own  # torch 2.13: FakeTensor inherits Tensor.__format__
    _tensor_str._str = text
    FakeTensor.__format__ = formatted  # type: ignore[method-assign]
    try:
        yield
    finally:
        _tensor_str._str = text_of
        del FakeTensor.__format__
