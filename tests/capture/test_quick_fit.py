"""The quick look at a call's arguments: what it lets through, the whole check lets through, with the same leaves."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.export import Dim
from torch.utils import _pytree as pytree

import dynamo_lite
from dynamo_lite.errors import InputMismatch
from dynamo_lite.program.input_check import InputCheck

LEAVES: Any = st.sampled_from(
    [
        torch.ones(2, 3), torch.ones(4, 3), torch.ones(3), torch.ones(2, 3, dtype=torch.float64),
        nn.Parameter(torch.ones(2, 3)), torch.ones(2, 3, device="meta"), 1, 2, True, 1.0, "a", None,
    ]
)  # fmt: skip
TREES: Any = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.tuples(inner),
        st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    ),
    max_leaves=3,
)
CALLS: Any = st.tuples(st.lists(TREES, min_size=2, max_size=2), st.dictionaries(st.just("k"), TREES, max_size=1))


def _program(x: Any, y: Any, *, k: Any = None) -> torch.Tensor:
    return x["a"][0] * 2 + y[0] + (0 if k is None else k)


def _checks() -> list[InputCheck]:
    args: tuple[Any, ...] = ({"a": [torch.ones(2, 3), 1]}, (torch.ones(2, 3),))
    static = dynamo_lite.export(_program, args)
    keyword = dynamo_lite.export(_program, args, {"k": 1})
    b = Dim("b", min=2, max=3)
    shapes = {"x": {"a": [{0: b}, None]}, "y": ({0: b},)}
    dynamic = dynamo_lite.export(_program, args, dynamic_shapes=shapes)
    return [InputCheck.of(program) for program in (static, keyword, dynamic)]


CHECKS = _checks()


def _near(first: Any, second: Any, kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return ({"a": [first, 1]}, (second,)), kwargs


NEAR: Any = st.builds(_near, LEAVES, LEAVES, st.dictionaries(st.just("k"), LEAVES, max_size=1))


@given(st.sampled_from(CHECKS), st.one_of(CALLS, NEAR))
def test_what_it_lets_through_the_whole_check_lets_through(check: InputCheck, call: Any) -> None:
    args, kwargs = tuple(call[0]), call[1]
    leaves = check._quick(args, kwargs)
    if leaves is None:
        return
    check._check_names(args, kwargs)
    check._compare("", (args, kwargs), check.in_spec, iter(check.expected))
    assert [*map(id, leaves)] == [*map(id, pytree.tree_leaves((args, kwargs)))]


def test_the_calls_that_fit_are_known() -> None:
    static, keyword, dynamic = CHECKS
    args: tuple[Any, ...] = ({"a": [torch.zeros(2, 3), 1]}, (nn.Parameter(torch.zeros(2, 3)),))
    other: tuple[Any, ...] = ({"a": [torch.zeros(3, 3), 1]}, (torch.zeros(3, 3),))
    assert static._quick(args, {}) is not None and static._quick(other, {}) is None
    assert keyword._quick(args, {"k": 1}) is not None and keyword._quick(args, {"k": True}) is None
    assert dynamic._quick(other, {}) is not None


def test_sizes_are_checked_all_the_same() -> None:
    check = CHECKS[2]
    with pytest.raises(InputMismatch):
        check.check(({"a": [torch.zeros(9, 3), 1]}, (torch.zeros(9, 3),)), {})
    with pytest.raises(InputMismatch):
        check.check(({"a": [torch.zeros(2, 3), 1]}, (torch.zeros(3, 3),)), {})
