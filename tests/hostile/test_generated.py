"""Random modules written with the statements of the hostile classes: equal to eager, or refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.export.generated import Vocabulary, body, probe
from tests.export.verdict import judge

from .statements import all_statements, vocabularies

MIXED = all_statements()


def _complaint(seed: int, words: Vocabulary) -> str | None:
    """What is wrong with the answer; a program that raises in eager must raise the same in export."""
    program = replace(made := probe(seed, words), allowed=made.allowed | {"raises"})
    return judge(program).complaint(program)


@pytest.mark.parametrize("seed", range(60))
def test_mixed_programs_are_equal_or_refused(seed: int) -> None:
    complaint = _complaint(seed, MIXED)
    assert complaint is None, f"{complaint}\n{body(seed, MIXED)}"


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", vocabularies())
def test_programs_of_one_class_are_equal_or_refused(name: str, seed: int) -> None:
    words = vocabularies()[name]
    complaint = _complaint(seed, words)
    assert complaint is None, f"{complaint}\n{body(seed, words)}"
