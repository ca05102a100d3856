"""Tensors and sizes of the run where flattening a result does not find them: in a closure, a set, a key, an iterator.

A program's results other than tensors are constants. One that holds a fake tensor would pass it to the caller.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterable
from typing import Any

import torch

from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.vocabulary.symbolic_numbers import SYMBOLIC
from dynamo_lite.tracing.vocabulary.type_tests import is_fake

_PLAIN = (type(None), bool, int, float, complex, str, bytes)


def first_holder(tracer: TracerView, constants: Iterable[tuple[str, Any]]) -> tuple[str, Any] | None:
    """Return the first of (path, constant) from which a tensor or a size of this run can be reached, or that is an
    iterator of the run, which the first caller would exhaust.

    Objects that the run made are followed. Older ones hold none of them at the end: the journal has each such write.
    """
    asked = [(path, constant) for path, constant in constants if not _is_plain(constant)]
    if asked:
        tracer.heap.refresh()
    return next(((path, constant) for path, constant in asked if _holds(tracer, constant)), None)


def _is_plain(constant: Any) -> bool:
    """Whether it is an atom, or a list of some: the names of a container's fields."""
    if type(constant) is list or type(constant) is tuple:
        return all(type(item) in _PLAIN for item in constant)
    return type(constant) in _PLAIN


def _holds(tracer: TracerView, constant: Any) -> bool:
    heap = tracer.heap
    if hasattr(type(constant), "__next__") and heap.is_new(constant):
        return True
    seen: set[int] = set()
    todo = [constant]
    while todo:
        value = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, weakref.ReferenceType):
            value = value()
        if _is_of_run(value) or (isinstance(value, torch.Tensor) and heap.is_new(value)):
            return True
        if heap.is_new(value):
            todo.extend(_parts(value))
    return False


def _is_of_run(value: Any) -> bool:
    return type(value) in SYMBOLIC or is_fake(value)


def _parts(value: Any) -> list[Any]:
    if isinstance(value, BaseException):
        return [value.args, vars(value)]  # its traceback leads to every frame that it passed
    return gc.get_referents(value)
