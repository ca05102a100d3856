"""Items of containers that C compares: two which are one object are equal, whatever their `__eq__` returns.

`a == b` of two lists, `x in items`, `items.index(x)` compare identity first (PyObject_RichCompareBool in CPython's
Objects/object.c) and call `__eq__` of a tensor only for two objects. The fake tensors of two arguments are two objects
also if the caller passes one tensor twice, so C calls it: then the result depends on identity, and becomes a guard.
"""

from __future__ import annotations

import bisect
import builtins
import itertools
import operator
from collections.abc import Iterable
from typing import Any

from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.sizes.decisions_in_c import HEAPS, at_work_in_c
from dynamo_lite.tracing.vocabulary.type_tests import is_fake, is_tensor
from dynamo_lite.value_types import COMPARED_BY_ITEM

_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
_METHODS = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__contains__", "index", "count", "remove")


def _members(kinds: Iterable[type]) -> list[Any]:
    return [vars(kind)[name] for kind in kinds for name in _METHODS if name in vars(kind)]


_FUNCTIONS = (
    *(operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge),
    *(operator.contains, operator.countOf, operator.indexOf),
    *(builtins.min, builtins.max, builtins.sorted, list.sort),
    *(bisect.bisect_left, bisect.bisect_right, bisect.insort_left, bisect.insort_right),
    *HEAPS,
)  # those that order items ask `==` of tensors only within tuples and lists
_BY_IDENTITY = frozenset(map(id, (*_FUNCTIONS, *_members((*COMPARED_BY_ITEM, *_VIEWS)))))


def found_as_one(tracer: TracerView, left: Any, right: Any) -> bool:
    """Whether a C container compares `left` and `right` by identity first, and both are the same object in eager.

    False if C does not compare them (`left == right` of the program's own, `map(operator.eq, a, b)`).
    """
    asked = tracer.sees_python and is_tensor(left) and is_tensor(right) and _compares_items()
    return asked and are_one(tracer, left, right)


def are_one(tracer: TracerView, left: Any, right: Any) -> bool:
    """Whether two tensors that a container of C's compares are one object; of two arguments a guard.

    An argument that is a tensor of the model's in the example only is refused.
    """
    if is_fake(left) and is_fake(right):
        return bool(tracer.vm.on_identity(left, right))
    number = tracer.recorder.input_number(left if is_fake(left) else right)
    other = right if is_fake(left) else left
    return number is not None and tracer.inputs.leaves[number] is other and bool(tracer.vm.on_identity(left, right))


def _compares_items() -> bool:
    handed_over = at_work_in_c()
    if handed_over is None:
        return False
    fn, operands = handed_over
    if any(type(operand) is itertools.groupby for operand in operands):
        return True
    return id(fn) in _BY_IDENTITY and not all(map(is_tensor, operands))
