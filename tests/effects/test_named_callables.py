"""Callables by name, as the process has them now: the answers are kept as long as the names stand for the same."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from dynamo_lite.tracing.policy.named_callables import loaded

NAMES = ("of_tests:plain", "of_tests:Class.method", "of_tests:Class.static", "of_tests:Class.of_class", "of_tests:late")


class Class:
    def method(self) -> None:
        """A function, as the class has it."""

    @staticmethod
    def static() -> None:
        """A function behind a descriptor."""

    @classmethod
    def of_class(cls) -> None:
        """A new bound method at each look."""


def plain() -> None:
    """A function of a module."""


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    made = ModuleType("of_tests")
    made.plain = plain  # type: ignore[attr-defined]
    made.Class = type("Class", (Class,), dict(vars(Class)))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "of_tests", made)
    return made


def _expected(module: ModuleType) -> dict[int, str]:
    held = vars(module)["Class"].__dict__
    found = {
        "plain": vars(module).get("plain"),
        "Class.method": held.get("method"),
        "Class.static": held["static"].__func__,
        "Class.of_class": held["of_class"].__func__,
        "late": vars(module).get("late"),
    }
    return {id(value): f"of_tests.{name}" for name, value in found.items() if value is not None}


def test_the_same_answer_while_nothing_changes(module: ModuleType) -> None:
    assert loaded(NAMES) == _expected(module)
    assert loaded(NAMES) is loaded(NAMES)


@pytest.mark.parametrize("name", ["plain", "late"])
def test_a_name_of_the_module_is_assigned(module: ModuleType, name: str) -> None:
    before = loaded(NAMES)
    setattr(module, name, lambda: None)
    assert loaded(NAMES) == _expected(module) != before


@pytest.mark.parametrize("name", ["method", "static", "of_class"])
def test_a_name_of_a_class_is_assigned(module: ModuleType, name: str) -> None:
    before, kind = loaded(NAMES), type(vars(Class)[name])
    new = (lambda *args: None) if name == "method" else kind(lambda *args: None)  # type: ignore[call-arg]
    setattr(vars(module)["Class"], name, new)
    assert loaded(NAMES) == _expected(module) != before


def test_a_name_goes(module: ModuleType) -> None:
    before = loaded(NAMES)
    del vars(module)["plain"], vars(module)["Class"].method
    assert loaded(NAMES) == _expected(module) != before


def test_the_module_goes_and_comes(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    before = loaded(NAMES)
    monkeypatch.delitem(sys.modules, "of_tests")
    assert loaded(NAMES) == {}
    monkeypatch.setitem(sys.modules, "of_tests", module)
    assert loaded(NAMES) == before
