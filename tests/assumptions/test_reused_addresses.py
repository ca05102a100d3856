"""The log has ids of objects. One that the run made and that died states nothing about what is at its address later."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import torch

from dynamo_lite import trace


class Old:
    def __init__(self) -> None:
        self.a = 1


class Young(Old):
    pass


OBJECTS = [Old() for _ in range(1500)]


def made() -> list[Any]:
    return [Young() for _ in range(1500)]


def looks_into_what_dies(x: torch.Tensor) -> torch.Tensor:
    for new in made():
        if "gone" in new.__dict__:
            x = x + 1
    total = 0
    for old in OBJECTS:
        total += old.a
    return x * total


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="the collector is not shown the dicts of instances")
def test_a_dict_that_the_guards_ask_for_has_no_rows_of_one_that_died() -> None:
    found = trace(looks_into_what_dies, (torch.ones(2),))
    about = [guard.text for guard in found.guards if "OBJECTS" in guard.text]
    assert any(text.endswith(".a == 1") for text in about)
    assert not [text for text in about if "gone" in text]


def looks_into_its_own(x: torch.Tensor) -> torch.Tensor:
    return x + 1 if "gone" in OBJECTS[0].__dict__ else x * 2


def test_a_dict_that_the_program_asks_for_has_its_rows() -> None:
    found = trace(looks_into_its_own, (torch.ones(2),))
    assert found.guards.check(looks_into_its_own, (torch.ones(2),)) is None
    OBJECTS[0].gone = 1  # type: ignore[attr-defined]
    try:
        assert found.guards.check(looks_into_its_own, (torch.ones(2),)) is not None
    finally:
        del OBJECTS[0].gone  # type: ignore[attr-defined]
