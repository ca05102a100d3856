"""The compiled function: right answers, shared prefixes, the index of what failed, nothing swallowed."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_lite.guards import Guard, GuardSet, Source, child, guard_set, root


class Holder:
    """What sources lead into."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


def at(mod: Source, *names: str) -> Source:
    """`mod.a.b`, through the instance dicts."""
    for name in names:
        mod = _child(_child(mod, "dict"), "item", name)
    return mod


@functools.cache  # sources are made once each
def _child(parent: Source, step: str, key: Any = None) -> Source:
    return child(parent, step, key)


def test_a_check_gives_the_index_of_the_guard_that_fails() -> None:
    mod = root("function")
    guards = GuardSet([Guard("type", mod, Holder), *(Guard("equals", at(mod, n), 1) for n in "abc")])
    assert guards.failing(Holder(a=1, b=1, c=1)) == -1
    assert guards.failing(Holder(a=1, b=2, c=1)) == 2
    assert guards.failing(SimpleNamespace(a=1, b=1, c=1)) == 0


def test_each_prefix_is_read_once() -> None:
    mod = root("function")
    inner = at(mod, "inner")
    guards = GuardSet([Guard("equals", at(inner, name), 1) for name in "abcdef"])
    assert guards.code.count(".__dict__") == 2
    assert guards.code.count("'inner'") == 1


def test_what_a_read_raises_is_the_failure_of_its_guard() -> None:
    mod = root("function")
    guards = GuardSet([Guard("equals", at(mod, "a"), 1), Guard("equals", at(mod, "b", "c"), 2, line="the line\n")])
    failure = guards.check(Holder(a=1))
    assert failure is not None and failure.index == 1
    assert isinstance(failure.error, KeyError) and "KeyError" in failure.found
    assert "the line" in guards.explain(failure)
    broken = guards.check(Holder(a=1, b=5))
    assert broken is not None and isinstance(broken.error, AttributeError)


def test_the_type_is_asked_before_a_path_goes_through_it() -> None:
    """A changed object's own code does not run: its type fails first."""

    class Trap:
        @property
        def __dict__(self) -> Any:  # type: ignore[override]
            raise AssertionError("a guard ran code of the program")

    mod = root("function")
    inner = at(mod, "inner")
    guards = GuardSet([Guard("equals", at(inner, "a"), 1), Guard("type", inner, Holder)])
    assert guards.failing(Holder(inner=Holder(a=1))) == -1
    assert guards.failing(Holder(inner=Trap())) == 1


def test_explanations_say_expected_found_and_line() -> None:
    mod = root("module")
    guards = GuardSet([Guard("equals", at(mod, "eps"), 1e-5, line='  File "m.py", line 3, in forward\n')])
    text = str(guards.check(Holder(eps=0.5)))
    assert "L['self'].eps == 1e-05" in text
    assert "expected: 1e-05" in text and "found:    0.5" in text and "m.py" in text


def test_arguments_by_position_and_keyword() -> None:
    x, k = root("argument", 0), root("keyword", "k")
    guards = GuardSet(
        [
            Guard("arguments", None, 1),
            Guard("keywords", None, frozenset({"k"})),
            Guard("equals", x, 3),
            Guard("equals", k, "a"),
            Guard("python", None, "L['x'] < 5"),
        ],
        {"x": x, "k": k},
    )
    assert guards.failing(None, (3,), {"k": "a"}) == -1
    assert guards.failing(None, (3, 4), {"k": "a"}) == 0
    assert guards.failing(None, (3,), {}) == 1
    assert guards.failing(None, (3,), {"k": "b"}) == 3


def test_conditions_in_python_see_the_arguments() -> None:
    x, y = root("argument", 0), root("argument", 1)
    guards = GuardSet([Guard("python", None, "L['x'] < L['y'] // two")], {"x": x, "y": y}, {"two": 2})
    assert guards.failing(None, (1, 4)) == -1
    assert guards.failing(None, (2, 4)) == 0


def test_same_and_distinct() -> None:
    mod = root("function")
    guards = GuardSet([Guard("same", at(mod, "a"), None, None, at(mod, "b"))])
    shared: list[int] = []
    assert guards.failing(Holder(a=shared, b=shared)) == -1
    assert guards.failing(Holder(a=[], b=[])) == 0


@given(st.dictionaries(st.sampled_from("abc"), st.integers(0, 1)), st.dictionaries(st.sampled_from("abc"), st.none()))
def test_guards_on_a_dict_against_python(before: dict[str, int], now: dict[str, Any]) -> None:
    mod = root("function")
    d = at(mod, "d")

    def holds(kind: str, expected: Any) -> bool:
        return GuardSet([Guard(kind, d, expected)]).failing(Holder(d=now)) == -1

    assert holds("length", len(before)) == (len(now) == len(before))
    assert holds("keys", list(before)) == (list(now) == list(before))
    assert holds("present", list(before)) == (before.keys() <= now.keys()) if before else True
    if before:
        assert holds("absent", list(before)) == (not before.keys() & now.keys())
    assert holds("empty", None) == (not now)
    assert holds("filled", None) == bool(now)


def test_any_weights() -> None:
    mod, weight = root("function"), object()
    guards = GuardSet([Guard("type", mod, Holder), Guard("same_tensor", at(mod, "w"), weight)])
    assert guards.failing(Holder(w=weight)) == -1
    assert guards.failing(Holder(w=1)) == 1
    assert guards.failing(Holder(w=1), weights="any") == -1
    with pytest.raises(ValueError, match="weights"):
        guards.check(Holder(w=1), weights="none")


def test_the_tree_shows_each_place_below_the_one_it_is_reached_from() -> None:
    mod = root("module")
    guards = GuardSet([Guard("equals", at(mod, "cfg", "n"), 3), Guard("type", at(mod, "cfg"), Holder)])
    lines = guards.tree().splitlines()
    assert [line.strip().split("  ")[0] for line in lines] == [
        "L['self']",
        "L['self'].__dict__",
        "L['self'].cfg",
        "L['self'].cfg.__dict__",
        "L['self'].cfg.n",
    ]
    assert "== 3" in lines[-1]


def test_what_is_made_to_check_a_set_grows_with_the_number_of_its_guards() -> None:
    def lines(parts: int) -> int:
        inner = [at(root("function"), f"part{n}", "inner") for n in range(parts)]
        guards = [Guard(kind, place, expected) for place in inner for kind, expected in (("type", int), ("equals", 1))]
        return len(GuardSet(guards).code.splitlines())

    assert lines(200) - lines(100) == lines(300) - lines(200)


def test_the_function_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made, make = [], guard_set.Compiler
    monkeypatch.setattr(guard_set, "Compiler", lambda *parts: made.append(parts) or make(*parts))
    mod = root("function")
    guards = GuardSet([Guard("type", mod, Holder), *(Guard("equals", at(mod, n), 1) for n in "abc")])
    assert made == []
    for _ in range(2):
        assert guards.failing(Holder(a=1, b=1, c=1)) == -1
        assert guards.failing(Holder(a=1, b=2, c=1)) == 2
    assert len(made) == 1
