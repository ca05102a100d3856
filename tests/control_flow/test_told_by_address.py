"""What a branch on data has merged, told by its address or by the dict of an object: right, or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import dynamo_lite
from dynamo_lite.errors import GraphBreak

_CALLS = (torch.ones(4), -torch.ones(4), torch.ones(4) * 2)


class Plain:
    a: Any = None


def key_of_either(x: Tensor) -> Any:
    y = x * 2
    z = x if x.sum() > 0 else y
    return x * {id(x): 1.0, id(y): 2.0}.get(id(z), 3.0)


def ids_compared(x: Tensor) -> Any:
    z = x if x.sum() > 0 else x * 2
    return x * (1 if id(z) == id(x) else 2)


def set_of_tensors(x: Tensor) -> Any:
    y = x * 2
    return x * len({x, y, x if x.sum() > 0 else y})


def dict_of_tensors(x: Tensor) -> Any:
    y = x * 2
    return x * {x: 1.0, y: 2.0}.get(x if x.sum() > 0 else y, 3.0)


def key_of_a_round(x: Tensor) -> Any:
    y, z = x * 2, x
    while z.sum() > 0:
        z, y = y, y - 3
    return x * {id(x): 2.0}.get(id(z), 3.0)


class Weight(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4))

    def forward(self, x: Tensor) -> Any:
        chosen = self.weight if x.sum() > 0 else x
        return x * {self.weight: 1.0}.get(chosen, 2.0)


class Node(Weight):
    def forward(self, x: Tensor) -> Any:
        y = x * self.weight
        node = y.grad_fn
        if x.sum() > 0:
            y = y + 1
        return x * (2 if y.grad_fn is node else 3)


def entry_or_attribute(x: Tensor) -> Any:
    made = Plain()
    made.a = 1.0
    if x.sum() > 0:
        made.__dict__["a"] = 5.0
    else:
        made.a = 5.0
    return x * made.a


def entry_of_a_given_dict(x: Tensor) -> Any:
    made, held = Plain(), {"a": x}
    made.__dict__ = held
    if x.sum() > 0:
        held["a"] = x * 5
    else:
        made.a = x * 6
    return made.a, held["a"]


@pytest.mark.parametrize(
    "program",
    [key_of_either, ids_compared, set_of_tensors, dict_of_tensors, key_of_a_round, Weight(), Node(), entry_or_attribute,
     entry_of_a_given_dict],
    ids=lambda program: getattr(program, "__name__", type(program).__name__),
)  # fmt: skip
def test_right_or_refused(program: Callable[[Tensor], Any]) -> None:
    try:
        exported = dynamo_lite.export(program, (_CALLS[0],)).module()
    except GraphBreak:
        return
    for call in _CALLS:
        torch.testing.assert_close(exported(call.clone()), program(call.clone()))


def key_of_one_result(x: Tensor) -> Any:
    z = x * 2 if x.sum() > 0 else x * 3
    return {z: 2.0}[z] * z, len({id(z), id(x)})


def keys_of_all_iterations(x: Tensor) -> Any:
    seen = {}
    for _ in range(3):
        x = x + 1 if x.sum() > 0 else x - 1
        seen[id(x)] = x
    return sum(seen.values())


def dict_set_on_one_side(x: Tensor) -> Any:
    made = Plain()
    made.a = x
    own = made.__dict__
    if x.sum() > 0:
        made.__dict__ = {"a": x * 2}
        made.__dict__ = own
    own["a"] = own["a"] + 1
    return made.a


@pytest.mark.parametrize("program", [key_of_one_result, keys_of_all_iterations, dict_set_on_one_side])
def test_what_nothing_mixes_up_is_taken(program: Callable[[Tensor], Any]) -> None:
    exported = dynamo_lite.export(program, (_CALLS[0],)).module()
    for call in _CALLS:
        torch.testing.assert_close(exported(call.clone()), program(call.clone()))
