"""Random modules written with the statements of the hostile classes: equal to eager, or refused."""

from __future__ import annotations

import pytest

from tests.export.generated import body, probe
from tests.export.verdict import judge

from .statements import all_statements, vocabularies

MIXED = all_statements()


@pytest.mark.parametrize("seed", range(60))
def test_mixed_programs_are_equal_or_refused(seed: int) -> None:
    complaint = judge(program := probe(seed, MIXED)).complaint(program)
    assert complaint is None, f"{complaint}\n{body(seed, MIXED)}"


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", vocabularies())
def test_programs_of_one_class_are_equal_or_refused(name: str, seed: int) -> None:
    words = vocabularies()[name]
    complaint = judge(program := probe(seed, words)).complaint(program)
    assert complaint is None, f"{complaint}\n{body(seed, words)}"
