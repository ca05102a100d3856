"""The text of a tensor during a trace: it would show data that is not there, so it is refused.

repr(), str(), f-strings and the text of a container of tensors all end in two places of torch's, which are replaced
while a trace runs, for its thread only. An f-string with a tensor in it is a `TensorText`: most are messages of checks
that hold, which nobody reads; any use of it is refused. Checked against torch 2.13.0 (torch/_tensor_str.py,
torch/_tensor.py).
"""

from __future__ import annotations

import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import torch
from torch import _tensor_str

_SHOWN = "tensor(...)"
_LOOKS = frozenset(map(id, (isinstance, callable, id, type, print, warnings.warn, torch._assert)))
"""The ids of functions that do not ask what a text says: print() and warnings.warn() are skipped or refused."""

_CONTAINERS = frozenset({list, tuple, dict, set, frozenset, deque})


class TensorText(str):
    """A text with a tensor's data in it, which is not known. Any use but `is` and `isinstance` calls `refuse()`."""

    __slots__ = ("refuse",)
    refuse: Callable[[], NoReturn]


def _used(self: TensorText, *args: Any, **kwargs: Any) -> NoReturn:
    self.refuse()


_NO_USES = {"__new__", "__doc__", "__getattribute__", "__init__", "__init_subclass__", "__subclasshook__", "__class__"}
for _name in {*vars(str), "__radd__", "__bool__"} - _NO_USES:
    setattr(TensorText, _name, _used)


def joined(parts: Sequence[str]) -> str:
    """An f-string of these parts."""
    unknown = next((part for part in parts if type(part) is TensorText), None)
    return "".join(parts) if unknown is None else _text(unknown.refuse)


def _text(refuse: Callable[[], NoReturn]) -> TensorText:
    text = TensorText(_SHOWN)
    text.refuse = refuse
    return text


def check_call(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Before a call that runs natively: refuses one that may read a TensorText. An exception may have it to show."""
    if id(fn) in _LOOKS or (isinstance(fn, type) and issubclass(fn, BaseException)):
        return
    todo, seen = [*args, *kwargs.values()], set()
    while todo:
        value = todo.pop()
        if type(value) is TensorText:
            value.refuse()
        elif type(value) in _CONTAINERS and id(value) not in seen:
            seen.add(id(value))
            todo += value
            todo += value.values() if type(value) is dict else ()


@contextmanager
def refused(
    refuse: Callable[[], NoReturn], in_operator: Callable[[], bool], in_f_string: Callable[[], bool]
) -> Iterator[None]:
    """While inside, the text of any tensor calls `refuse` in this thread; `in_f_string()`: it is a `TensorText`.

    Not where `in_operator()`: kernels make texts that nobody sees (torch's argument parser formats what does not fit an
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
        return _text(refuse) if in_f_string() else refuse()

    plain = torch.Tensor.__format__
    _tensor_str._str = text
    torch.Tensor.__format__ = formatted  # type: ignore[method-assign]
    try:
        yield
    finally:
        _tensor_str._str = text_of
        torch.Tensor.__format__ = plain  # type: ignore[method-assign]
