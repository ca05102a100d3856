"""Every case of ExportDB does what its file says."""

from __future__ import annotations

import pytest
import torch

from dynamo_lite.exportdb import catalogue
from dynamo_lite.exportdb.checking import check


@pytest.mark.parametrize("name", catalogue.names())
def test_a_case_does_what_it_says(name: str) -> None:
    torch.manual_seed(1)
    assert check(catalogue.load(name)) == []


def test_names_titles_and_tags_are_told_apart_and_fit_on_a_line() -> None:
    cases = list(catalogue.all_cases())
    assert len(cases) >= 110
    assert len({case.title for case in cases}) == len(cases)
    for case in cases:
        assert case.title and case.description and case.tags, case.name
        assert len(case.title) <= 80, case.name
        assert not case.title.endswith("."), case.name
        assert (case.error is None) == (not case.has_rewrite), case.name
