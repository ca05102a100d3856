"""`__hash__`, `__eq__`, `__bool__` and the like of the program's classes are called as often as CPython calls them."""

from __future__ import annotations

import enum
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite
from tests.export.generated import Signature, Vocabulary, probe_of
from tests.export.verdict import judge

from .statements.special_methods import HEADER, INIT, STATEMENTS

WITH_DICT = Signature("x, y, d", "(torch.randn(2, 3), torch.randn(2, 3), {'a': torch.ones(3), 'b': torch.ones(3)})")
WORDS = Vocabulary(STATEMENTS.splitlines(), INIT.splitlines(), HEADER)


@pytest.mark.parametrize("number", range(len(WORDS.state)))
def test_each_statement(number: int) -> None:
    program = replace(probe_of([WORDS.state[number], "return z"], WORDS, WITH_DICT), any_refusal=number in REFUSED)
    complaint = judge(program).complaint(program)
    assert complaint is None, f"{complaint}\n{WORDS.state[number]}"


REFUSED = [number for number, line in enumerate(WORDS.state) if "if z.sum() > 0" in line or "self." in line]


@pytest.mark.parametrize("around", [["if z.sum() > 0:", "{}", "else:", "    z = z - 1"], ["for i in range(3):", "{}"]])
@pytest.mark.parametrize("number", range(0, len(WORDS.state), 7))
def test_each_statement_in_a_block(number: int, around: list[str]) -> None:
    body = [line.replace("{}", f"    {WORDS.state[number]}") for line in around]
    program = replace(probe_of([*body, "return z"], WORDS, WITH_DICT), any_refusal=True)
    complaint = judge(program).complaint(program)
    assert complaint is None, f"{complaint}\n{WORDS.state[number]}"


class Key:
    def __init__(self, number: int) -> None:
        self.number, self.log = number, []

    def __hash__(self) -> int:
        self.log.append("hash")
        return self.number % 2

    def __eq__(self, other: object) -> bool:
        self.log.append("eq")
        return isinstance(other, Key) and self.number == other.number


class Name(str, enum.Enum):  # noqa: UP042
    n = "n"


class Holder(nn.Module):
    def __init__(self, body: Callable[[Any, torch.Tensor], torch.Tensor], keys: Any) -> None:
        super().__init__()
        self.body, self.table, self.n = body, keys, 1

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(self, x)


def _writes_another_key(module: Any, x: torch.Tensor) -> torch.Tensor:
    module.table["name"] = 2
    y = x * module.table["name"]
    del module.table["name"]
    return y


@pytest.mark.parametrize("kind", [dict, OrderedDict])
def test_a_table_from_outside_that_is_written_to(kind: Any) -> None:
    """No key is hashed or compared for the journal: the log of each is what the user's own code left."""
    keys = [Key(1), Key(3), Key(2)]
    table = kind((key, key.number) for key in keys)
    before = [[*key.log] for key in keys]
    x = torch.ones(2)
    program = dynamo_lite.export(Holder(_writes_another_key, table), (x,)).module()
    assert torch.equal(program(x), x * 2)
    if kind is dict:  # an OrderedDict hashes its keys when it is iterated over
        assert [key.log for key in keys] == before


def _set_by_name(module: Any, x: torch.Tensor) -> torch.Tensor:
    setattr(module, Name.n, 5)
    return x * module.n


def _set_and_read_by_name(module: Any, x: torch.Tensor) -> torch.Tensor:
    object.__setattr__(module, Name.n, 5)
    y = x * getattr(module, Name.n) + hasattr(module, Name.n)
    delattr(module, Name.n)
    module.n = 1
    return y


@pytest.mark.parametrize("body", [_set_by_name, _set_and_read_by_name])
def test_a_name_that_is_a_subclass_of_str_is_written(body: Callable[..., Any]) -> None:
    """`class Name(str, Enum)`: the write is undone after the export."""
    module, x = Holder(body, {}), torch.ones(2)
    program = dynamo_lite.export(module, (x,)).module()
    assert module.n == 1
    assert torch.equal(program(x), body(Holder(body, {}), x))


def test_a_name_that_is_a_subclass_of_str_is_read() -> None:
    module, x = Holder(lambda module, x: x * getattr(module, Name.n), {}), torch.ones(2)
    trace = dynamo_lite.trace(module, (x,))
    assert trace.guards.check(module, (x,)) is None
    module.n = 2
    assert trace.guards.check(module, (x,)) is not None
