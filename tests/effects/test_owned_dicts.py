"""A change of the dict that belongs to an object is a change of that object, whenever CPython makes the dict."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import dynamo_lite
from dynamo_lite.errors import GraphBreak, UnsupportedEffect

X = torch.ones(2)


class Box:
    """Its `__dict__` does not exist before somebody asks for it."""

    shared: dict[str, Any]

    def __init__(self, others: Any = None) -> None:
        self.n = 0
        self.others = others


class Annotated:
    pass


def _plain(value: int) -> int:
    return value


class Program(nn.Module):
    def __init__(self, body: Callable[..., Any], others: Any) -> None:
        super().__init__()
        self.box, self.body = Box(others), body
        self.weight = nn.Parameter(torch.ones(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        seen = self.body(self, x)
        return x * (self.box.n + (seen or 0))


def _getter(s: Any, x: Any) -> None:
    operator.attrgetter("__dict__")(s.box)["n"] += 1


def _lookup(s: Any, x: Any) -> None:
    object.__getattribute__(s.box, "__dict__")["n"] += 1


def _count(space: dict[str, Any]) -> int:
    space["count"] = space.get("count", 0) + 1
    return int(space["count"])


def _borg(s: Any, x: Any) -> int:
    one = Box()
    one.__dict__ = Box.shared
    one.n += 1
    return one.n


def _borg_entry(s: Any, x: Any) -> int:
    one = Box()
    one.__dict__ = Box.shared
    vars(one)["n"] += 1
    return one.n


def _in_a_branch(s: Any, x: Any) -> None:
    def count(y: torch.Tensor) -> torch.Tensor:
        vars(s.box)["n"] = s.box.n + 1
        return y + 1

    torch.cond(x.sum() > 0, count, lambda y: y - 1, (x,))


OLD: dict[str, Callable[[Any, Any], Any]] = {
    "vars": lambda s, x: vars(s.box).update(n=s.box.n + 1),
    "dunder dict": lambda s, x: s.box.__dict__.__setitem__("n", s.box.n + 1),
    "attrgetter": _getter,
    "object's lookup": _lookup,
    "a function's": lambda s, x: _count(vars(_plain)),
    "a function's annotations": lambda s, x: _count(_plain.__annotations__),
    "a class's annotations": lambda s, x: _count(Annotated.__annotations__),
    "a parameter's": lambda s, x: _count(vars(s.weight)),
    "an argument's": lambda s, x: _count(vars(x)),
    "given to a new object": _borg,
    "given to a new object, an entry": _borg_entry,
    "in a branch": _in_a_branch,
}
"""Each changes an object from outside, so that the next call gives something else."""


@pytest.mark.parametrize("others", [None, []], ids=["atoms", "containers"])
@pytest.mark.parametrize("name", OLD)
def test_a_change_of_an_older_object_is_refused(name: str, others: Any) -> None:
    Box.shared = {"n": 0, "others": others}
    spaces: list[dict[str, Any]] = [vars(_plain), Box.shared]
    module = Program(OLD[name], others)
    with pytest.raises(GraphBreak) as caught:
        dynamo_lite.export(module, (X.clone(),))
    assert caught.value.id in ("python-state", "subgraph-effect")
    assert module.box.n == 0 and vars(module.weight) == {} and not hasattr(_plain, "count")
    assert [space for space in spaces if "count" in space or space.get("n", 0)] == []


def _in_a_branch_alone(s: Any, x: Any) -> None:
    def count(y: torch.Tensor) -> torch.Tensor:
        box = Box()
        vars(box)["n"] = box.n + 1
        return y * box.n

    torch.cond(x.sum() > 0, count, lambda y: y - 1, (x,))


def _function(s: Any, x: Any) -> int:
    def made() -> None: ...

    made.__annotations__["count"] = 1
    return _count(vars(made)) + _count(made.__annotations__)


YOUNG: dict[str, Callable[[Any, Any], Any]] = {
    "an object": lambda s, x: _count(vars(Box())),
    "an object with containers": lambda s, x: _count(vars(Box([]))),
    "a function": _function,
    "a tensor": lambda s, x: _count(vars(x + 1)),
    "in a branch": _in_a_branch_alone,
}


@pytest.mark.parametrize("name", YOUNG)
def test_a_change_of_the_programs_own_object_is_nobodys_business(name: str) -> None:
    module = Program(YOUNG[name], None)
    program = dynamo_lite.export(module, (X.clone(),)).module()
    torch.testing.assert_close(program(X), module(X))


class _Bare(nn.Module):
    """Nothing has asked for its `__dict__`: CPython makes it when the program does."""

    def forward(self, x: Tensor) -> Tensor:
        if "mean" not in self._buffers:
            self.register_buffer("mean", x.mean(0))
        return x - self.mean


def test_a_buffer_that_is_new_on_a_bare_module() -> None:
    with pytest.raises(UnsupportedEffect) as caught:
        dynamo_lite.export(_Bare(), (torch.randn(2, 3),))
    assert caught.value.id == "new-state-tensor"
