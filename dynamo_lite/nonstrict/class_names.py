"""Renames the classes of fake tensors and symbolic sizes to their names in eager while CPython runs the program.

CPython and torch's C++ use the name of an object's class in error messages ("unsupported operand type(s) for +:
'Tensor' and 'str'"), which a program may catch and read. The name is taken from the class, so the class is renamed
during the run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import torch

from dynamo_lite.capture._torch import FakeTensor
from dynamo_lite.tracing.vocabulary.symbolic_numbers import PYTHON_TYPE
from dynamo_lite.undoing import changed

_NAMES: dict[type, str] = {FakeTensor: torch.Tensor.__name__} | {
    kind: number.__name__ for kind, number in PYTHON_TYPE.items()
}


@contextmanager
def named_as_eager() -> Iterator[None]:
    """A context in which the classes of fake tensors and symbolic sizes have the names that errors show in eager."""
    own = {kind: kind.__name__ for kind in _NAMES}
    with changed(partial(_name, own)):
        _name(_NAMES)
        yield


def _name(names: dict[type, str]) -> None:
    for kind, name in names.items():
        kind.__name__ = name
