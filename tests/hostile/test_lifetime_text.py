"""The words of the refusal for objects that a traceback keeps alive: one readable sentence."""

import pytest

from dynamo_lite import errors, export
from dynamo_lite.exportdb.cases import object_lifetime


def test_the_refusal_names_the_traceback() -> None:
    with pytest.raises(errors.UnrecordableValue) as caught:
        export(object_lifetime.Module(), object_lifetime.inputs())
    sentence = "and the traceback of an exception that left a function keeps objects alive in CPython"
    assert sentence in " ".join(str(caught.value).split())
