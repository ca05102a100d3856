"""A program rejects other shapes, dtypes, structures and constants; it names the input, the expected and the given."""

from __future__ import annotations

import pytest

import dynamo_lite

from .rejections import REJECTIONS, Rejection


@pytest.mark.parametrize("row", REJECTIONS, ids=lambda row: row.name)
def test_wrong_call_is_rejected(row: Rejection) -> None:
    args, kwargs = row.example()
    program = dynamo_lite.export(row.program(), args, kwargs).module()
    program(*args, **kwargs)
    wrong, named = row.wrong()
    with pytest.raises(Exception) as caught:
        program(*wrong, **named)
    text = str(caught.value)
    assert [word for word in row.words if word not in text] == [], text
