"""The comparison that judges the cases sees what it has to see."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from dynamo_lite.exportdb import case as cases
from dynamo_lite.exportdb import catalogue
from dynamo_lite.exportdb.checking import check
from dynamo_lite.exportdb.comparison import difference


@dataclass
class Pair:
    left: Tensor
    right: int


ONE = torch.ones(2)

EQUAL = [
    (ONE, ONE.clone()),
    (ONE, ONE + 1e-7),
    ([ONE, {"a": 1}], [ONE, {"a": 1}]),
    (Pair(ONE, 1), Pair(ONE.clone(), 1)),
    (torch.tensor(float("nan")), torch.tensor(float("nan"))),
]

DIFFERENT = [
    (ONE, ONE + 1),
    (ONE, ONE.double()),
    (ONE, torch.ones(1, 2)),
    (ONE, [ONE]),
    ((ONE,), [ONE]),
    (1, 1.0),
    (True, 1),
    ({"a": ONE}, {"a": ONE, "b": ONE}),
    (Pair(ONE, 1), Pair(ONE, 2)),
    (Pair(ONE, 1), Pair(ONE + 1, 1)),
    (nn.Parameter(ONE), None),
    ("a", "b"),
]


@pytest.mark.parametrize(("got", "want"), EQUAL)
def test_equal(got: object, want: object) -> None:
    assert difference(got, want) is None


@pytest.mark.parametrize(("got", "want"), DIFFERENT)
def test_different(got: object, want: object) -> None:
    assert difference(got, want) is not None
    assert difference(want, got) is not None


def test_shapes_alone() -> None:
    assert difference(ONE, ONE + 1, values=False) is None
    assert difference(ONE, torch.ones(3), values=False) is not None


# What `check` must object to: (case, attribute of its file, replacement, words of the problem).
class Plain(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


class Counts(nn.Module):
    n: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("n", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        self.n.add_(1)
        return x * 1


WRONG = [
    ("data_dependent_branch", "Module", Plain, "should be refused"),
    ("data_dependent_branch", "ERROR", "python-state", "is refused with data-dependent-branch"),
    ("data_dependent_branch", "Rewrite", Plain, "does not do what the module does"),
]


@pytest.mark.parametrize(("name", "attribute", "value", "words"), WRONG)
def test_check_objects(name: str, attribute: str, value: object, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = catalogue.load(name)
    assert check(case) == []
    if attribute == "ERROR":  # read from the file's text
        monkeypatch.setattr(cases.Case, "error", property(lambda self: value))
    else:
        monkeypatch.setattr(case.file, attribute, value)
    assert words in "\n".join(check(case))


def test_check_objects_to_a_line_that_is_not_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases.Case, "marked_line", property(lambda self: 1))
    assert "not at the marked line 1" in "\n".join(check(catalogue.load("data_dependent_branch")))


def test_check_objects_to_other_results_and_other_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """The eager module and the exported one are made apart, so the second may be another."""
    case = catalogue.load("class_method")
    monkeypatch.setattr(cases.Case, "module", lambda self: Plain())
    assert check(case) == []
    made = iter([Plain(), Counts()])  # checking makes eager's module first, export makes the other
    monkeypatch.setattr(cases.Case, "module", lambda self: next(made))
    assert "differs from eager" in "\n".join(check(case))
    same = iter([type("Times", (Plain,), {"forward": lambda self, x: x * 1})(), Counts()])
    monkeypatch.setattr(cases.Case, "module", lambda self: next(same))
    assert check(case) == []  # a buffer that eager does not have does not matter
    swapped = iter([Counts(), type("Frozen", (Counts,), {"forward": lambda self, x: x + self.n * 0})()])
    monkeypatch.setattr(cases.Case, "module", lambda self: next(swapped))
    assert "the buffer n differs" in "\n".join(check(case))
