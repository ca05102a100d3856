"""`y.shape == (n, 3)` where the facts do not decide a size or a number: the comparison is a bool of the run.

C compares two lists or tuples item by item and needs each answer at once. As one condition the answer may be asserted,
be the condition of a captured branch, or be left unread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.sizes import item_equality
from dynamo_lite.tracing.vocabulary.symbolic_numbers import SYMBOLIC
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor
from dynamo_lite.value_types import HOLD_NO_FUNCTIONS

_LISTS, _TUPLES = frozenset({list}), frozenset({tuple, torch.Size})


def equal(tracer: TracerView, left: Any, right: Any, wanted: bool) -> Any:
    """`left == right` (`!=` if not `wanted`), for two lists or two tuples of constants, numbers and tensors of one
    number, one of which may vary; else NOT_HANDLED."""
    kinds = {type(left), type(right)}
    if not (kinds <= _LISTS or kinds <= _TUPLES) or not any(map(_may_vary, (*left, *right))):
        return NOT_HANDLED
    if len(left) != len(right):
        return not wanted
    conditions = _conditions(tracer, left, right)
    if conditions is None:
        return NOT_HANDLED
    whole: Any = True
    for condition in conditions:
        if condition is False:
            return not wanted
        whole = condition if whole is True else whole & condition
    return whole if wanted else torch.sym_not(whole)


def _may_vary(value: Any) -> bool:
    return type(value) in SYMBOLIC or is_tensor(value)


def _conditions(tracer: TracerView, left: Sequence[Any], right: Sequence[Any]) -> list[Any] | None:
    """Whether each item equals its counterpart: a SymBool or False (those that do are left out). None if the items are
    not all constants and numbers."""
    found = []
    for mine, theirs in zip(left, right, strict=True):
        if mine is theirs:
            continue
        if not (_is_plain(mine) and _is_plain(theirs)):
            return None
        if is_tensor(mine) and is_tensor(theirs) and item_equality.are_one(tracer, mine, theirs):
            continue
        condition = mine == theirs
        if is_tensor(condition):
            condition = condition.item()
        if type(condition) is torch.SymBool and condition.node.has_hint():
            known = condition.node.shape_env.decide_node(condition.node)
            condition = condition if known is None else known
        if condition is not True:
            found.append(condition)
    return found


def _is_plain(item: Any) -> bool:
    """Whether C runs no code of the program to compare it: a constant, a number, a tensor of one."""
    if is_tensor(item):
        return all(type(size) is int and size == 1 for size in item.shape)
    return type(item) in HOLD_NO_FUNCTIONS or type(item) in SYMBOLIC
