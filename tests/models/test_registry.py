"""The registry itself: every core model builds, runs, is deterministic per seed, and its fresh inputs differ."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tests.models.compare import difference, leaves, run
from tests.models.registry import CORE, LONG, Case, Model, add, load
from tests.models.report import Outcome, causes

CORE_MODELS = load(CORE)


def tensors(value: object) -> list[Tensor]:
    return [leaf for _, leaf in leaves(value) if isinstance(leaf, Tensor)]


@pytest.mark.parametrize("name", CORE_MODELS)
def test_inputs_keep_their_shapes_and_change_their_values(name: str) -> None:
    case = CORE_MODELS[name].case()
    first, again, other = case.inputs(0), case.inputs(0), case.inputs(1)
    assert difference(again, first, 0.0) is None
    assert difference(other, first, 0.0) is not None
    assert [(path, getattr(leaf, "shape", leaf)) for path, leaf in leaves(other)] == [
        (path, getattr(leaf, "shape", leaf)) for path, leaf in leaves(first)
    ]


@pytest.mark.parametrize("name", CORE_MODELS)
def test_eager_runs_and_depends_on_the_inputs(name: str) -> None:
    case = CORE_MODELS[name].case()
    first, other = run(case.module, case.inputs(0)).output, run(case.module, case.inputs(1)).output
    assert difference(other, first, 0.0) is not None
    assert all(torch.isfinite(tensor).all() for tensor in tensors(first) if tensor.is_floating_point())


def test_a_name_is_taken_once() -> None:
    name = next(iter(CORE_MODELS))
    with pytest.raises(ValueError, match=name):
        add(Model(name, lambda: Case(torch.nn.Identity(), lambda seed: ((), {})), LONG, "torch"))


@pytest.mark.parametrize(
    ("got", "words"),
    [
        (torch.zeros(2), "float32[2], eager has"),
        (torch.zeros(3, dtype=torch.float64), "float64[3], eager has"),
        (torch.full((3,), 0.5), "by up to 0.5"),
        ([torch.zeros(3)], "other structure"),
        (0, "0 != tensor"),
    ],
)
def test_difference_finds_one(got: object, words: str) -> None:
    problem = difference(got, torch.zeros(3), 1e-5)
    assert problem is not None and words in problem


def test_difference_looks_into_objects_that_no_registry_knows() -> None:
    class Cache:
        def __init__(self, value: float) -> None:
            self.layers = [{"keys": torch.full((2,), value)}]

    assert difference(Cache(1.0), Cache(1.0), 0.0) is None
    assert "layers[0]['keys']" in (difference(Cache(1.0), Cache(2.0), 0.0) or "")


def test_failures_are_counted_by_cause() -> None:
    refused = "DataDependent: [data-dependent-value] aten.item.default needs the data"
    results = [
        Outcome("a", {"ours": 1.0}, {"ours": refused}),
        Outcome("b", {"ours": 1.0}, {"ours": "WRONG: out[0] differs"}),
        Outcome("c", {"ours": 1.0}, {}),
        Outcome("d", {"ours": 1.0}, {"ours": refused}),
        Outcome("e", {}, {"ours": "TypeError: [1] is not callable"}),
    ]
    assert causes(results, "ours").splitlines()[2:] == [
        "| refused: data-dependent-value | 2 | a, d |",
        "| failed: TypeError | 1 | e |",
        "| failed: WRONG | 1 | b |",
    ]
    assert causes(results[2:3], "ours") == "None."
