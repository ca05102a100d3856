"""Where this Python keeps what stamps read: found where there are version tags, and never a wrong place."""

from __future__ import annotations

import sys

import pytest

from dynamo_lite.guards import Guard, GuardSet, root
from dynamo_lite.guards.source import child
from dynamo_lite.guards.stamps import layout as layouts
from dynamo_lite.guards.stamps import stamp as stamps


def test_there_is_a_layout_on_the_pythons_with_version_tags() -> None:
    found = layouts.layout()
    assert (found is not None) == ((3, 11) <= sys.version_info < (3, 13))
    if found is not None:
        values = {"a": 1}
        before = layouts.word(id(values) + found.version)
        values["a"] = 2
        assert layouts.word(id(values) + found.version) > before


@pytest.mark.skipif(layouts.layout() is None, reason="no version tags on this Python")
def test_a_wrong_place_does_not_pass_the_trial() -> None:
    found = layouts.layout()
    assert found is not None
    trials = layouts._tags_tell, layouts._lists_tell, layouts._cells_tell, layouts._functions_tell
    assert all(trial(found) for trial in trials)
    parts = (*found.function[1:], found.function[0])
    wrong = [found._replace(version=16), found._replace(list_size=0), found._replace(cell=0)]
    wrong += [found._replace(version=8), found._replace(function=parts)]
    for other in wrong:
        assert not all(trial(other) for trial in trials)


def test_without_a_layout_the_function_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stamps, "_usable", lambda: None)
    monkeypatch.setattr(stamps, "FEWEST", 1)

    class Holder:
        n = 1

    owner, mod = Holder(), root("function")
    owner.n = 1
    guards = GuardSet([Guard("type", mod, Holder), Guard("equals", child(child(mod, "dict"), "item", "n"), 1)])
    for _ in range(10):
        assert guards.failing(owner) == -1
    assert guards._same.stamp is None
    owner.n = 2
    assert guards.failing(owner) == 1
