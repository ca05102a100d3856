"""Sizes that represent Python numbers: their types, and the number of one where Python needs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from dynamo_lite.interpreter.datamodel.c_types import elements_of
from dynamo_lite.symbolic_shapes.proofs.facts import Origin
from dynamo_lite.symbolic_shapes.torch_node.symbolic_types import PYTHON_TYPE as PYTHON_TYPE
from dynamo_lite.tracing.vocabulary.type_tests import is_fake

SYMBOLIC = frozenset(PYTHON_TYPE)
NUMBERS = (*PYTHON_TYPE, int, float)


@dataclass(frozen=True)
class Specialization:
    """A number that the program needed: `expression` is `value` in every call that the exported program admits.

    `origin` is the program's line, `why` the operation that needed the number; `unrolls`: a loop of that length.
    """

    expression: str
    value: int | float
    origin: Origin
    why: str
    unrolls: bool = False

    def __str__(self) -> str:
        return f"{self.expression} == {self.value}: {self.why}, at {self.origin}"


def real_type(value: Any) -> type:
    """Return the type that the program would see without the trace."""
    if is_fake(value):
        return nn.Parameter if vars(value).get("_is_param") else torch.Tensor
    return PYTHON_TYPE.get(type(value), type(value))


def shape_text(shape: Sequence[Any]) -> str:
    """`[s0, 3]`: a shape for a message. The text of a size itself would take its number."""
    return f"[{', '.join(str(size.node if type(size) in SYMBOLIC else size) for size in shape)}]"


def number(size: Any) -> Any:
    """Return the int, float or bool of a symbolic size; the environment records that the program depends on it.

    Raises: GuardOnDataDependentSymNode if it is known at run time only.
    """
    kind = PYTHON_TYPE[type(size)]
    return kind(size.node.evaluate())


def items_of(value: Any) -> list[Any] | None:
    """Return the contents of a list, tuple or dict, bypassing any override of a subclass; None for other values."""
    if issubclass(type(value), dict):
        return list(dict.values(value))
    return elements_of(value) if issubclass(type(value), (list, tuple)) else None


def holds_size(value: Any, depth: int = 8) -> bool:
    """Whether a value is a symbolic size, or a list, tuple or dict with one in it."""
    if type(value) in SYMBOLIC:
        return True
    items = items_of(value) if depth else None
    return items is not None and any(holds_size(item, depth - 1) for item in items)


def concrete(value: Any) -> Any:
    """Return the value with numbers in place of symbolic sizes. Lists and dicts are filled in place: code that is given
    them must find the same objects. (The environment now knows the sizes to be these numbers.)"""
    if type(value) in SYMBOLIC:
        return number(value)
    if not holds_size(value):
        return value
    if issubclass(type(value), dict):
        for key, item in list(dict.items(value)):
            dict.__setitem__(value, key, concrete(item))
        return value
    items = [concrete(item) for item in items_of(value) or ()]
    if issubclass(type(value), list):
        list.__setitem__(value, slice(None), items)
        return value
    if type(value) is tuple or type(value) is torch.Size:
        return type(value)(items)
    return tuple.__new__(type(value), items)  # a named tuple: its __new__ may be the program's
