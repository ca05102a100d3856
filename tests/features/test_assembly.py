"""The records of features (dynamo_lite/tracing/feature.py), and what assembly refuses."""

from __future__ import annotations

import importlib
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite
from dynamo_lite.errors import InputMismatch, InternalError
from dynamo_lite.features import FEATURES
from dynamo_lite.tracing import assemble
from dynamo_lite.tracing.feature import Feature
from dynamo_lite.tracing.feature_state import FeatureState
from dynamo_lite.tracing.vocabulary.graph_breaks import GRAPH_BREAKS

FOLDER = Path(dynamo_lite.__file__).parent / "features"


def _files(feature: Feature) -> list[Path]:
    folder = FOLDER / feature.name
    return [*folder.rglob("*.py")] if folder.is_dir() else [folder.with_suffix(".py")]


def test_each_folder_and_file_is_a_feature_of_the_list() -> None:
    names = {path.stem for path in FOLDER.iterdir() if not path.name.startswith("__")}
    assert {feature.name for feature in FEATURES} == names


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
def test_a_feature_imports_what_it_needs(feature: Feature) -> None:
    """And needs what it imports; what it needs comes before it."""
    imported = set()
    for path in _files(feature):
        for line in path.read_text(encoding="utf-8").splitlines():
            words = line.split()
            if words[:1] == ["from"] and words[1].startswith("dynamo_lite.features."):
                imported.add(words[1].split(".")[2])
    assert imported - {feature.name} == {*feature.needs}
    names = [other.name for other in FEATURES]
    assert all(names.index(other) < names.index(feature.name) for other in feature.needs)


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
def test_a_record_is_complete(feature: Feature) -> None:
    states = set()
    for path in _files(feature):
        module = ".".join(("dynamo_lite.features", *path.relative_to(FOLDER).with_suffix("").parts))
        if path.stem != "__init__":
            own = [v for v in vars(importlib.import_module(module)).values() if isinstance(v, type)]
            states |= {kind for kind in own if issubclass(kind, FeatureState) and kind.__module__ == module}
    assert states == {*feature.state}
    assert {*feature.graph_breaks} <= {*GRAPH_BREAKS}


def test_a_record_is_small() -> None:
    assert len(fields(Feature)) <= 16


def test_the_engine_imports_no_feature() -> None:
    """`dynamo_lite/run/run.py` has the list; control flow and explain are above the features."""
    wrong = []
    for package in ("interpreter", "capture", "program", "tracing", "logging", "run"):
        for path in (FOLDER.parent / package).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            allowed = 1 if path.name == "run.py" and package == "run" else 0
            if len(re.findall(r"(?:import|from) dynamo_lite\.features", text)) != allowed:
                wrong.append(str(path.relative_to(FOLDER.parent)))
    assert wrong == []


def test_state_of_which_no_branch_is_told_cannot_be_defined() -> None:
    with pytest.raises(TypeError, match="neither `save` and `restore` nor a reason why it stays"):

        class Forgotten(FeatureState):
            """Some state."""


def test_states_are_put_back_in_pairs() -> None:
    """A class that is put back has no reason to stay, and the other way round."""
    states = [kind for feature in FEATURES for kind in feature.state]
    assert states
    for kind in states:
        assert bool(kind.stays) != (kind.restore is not FeatureState.restore), kind


def test_two_features_with_a_rule_for_one_callable_cannot_be_assembled() -> None:
    def rules() -> dict[int, Any]:
        return {id(len): len}

    with pytest.raises(InternalError, match="'two'"):
        assemble.Assembly([Feature("one", rules=rules), Feature("two", rules=rules)]).rules({})


def test_two_features_with_an_answer_to_one_event_cannot_be_assembled() -> None:
    on: dict[Any, Any] = {"identity": lambda tracer, left, right: True, ("items", set): print}
    for event in on:
        with pytest.raises(InternalError, match="'two'"):
            assemble.Assembly([Feature("one", on={event: on[event]}), Feature("two", on={event: on[event]})])


@pytest.mark.parametrize("event", ["identities", ("looked at", set), ("identity", set), "items"])
def test_a_listener_to_no_event_cannot_be_assembled(event: Any) -> None:
    with pytest.raises(InternalError, match="unknown event"):
        assemble.Assembly([Feature("one", on={event: print})])


def test_listeners_are_called_in_the_order_of_the_features() -> None:
    told: list[tuple[str, Any]] = []
    listeners = [Feature(name, on={"caught": lambda *args, name=name: told.append((name, args))}) for name in "ab"]
    assemble.Assembly(listeners).tell("caught", 1, 2)
    assert told == [("a", (1, 2)), ("b", (1, 2))]


class _Linear(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 4)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        y = self.linear(x)
        if x.shape[0] > 1:
            y = y.relu()
        return y.sin() if y.sum() > 0 else y.cos()


_GUARDED = {"size_branches"}
"""Features without which the example's answer to `x.shape[0] > 1` is a guard."""


@pytest.mark.parametrize("name", [feature.name for feature in FEATURES])
def test_the_rest_works_without_a_feature(name: str) -> None:
    module, x = _Linear(), torch.randn(5, 3)
    with assemble.without(name):
        program = dynamo_lite.export(module, (x,), dynamic_shapes=({0: dynamo_lite.Dim.AUTO},))
    for rows in (1, 2, 7):
        for sign in (1, -1):
            x = sign * torch.rand(rows, 3)
            if name in _GUARDED and rows == 1:
                with pytest.raises(InputMismatch, match="dimension 0 to be at least 2"):
                    program.module()(x)
            else:
                assert torch.equal(program.module()(x), module(x))
