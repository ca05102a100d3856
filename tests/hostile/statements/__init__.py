"""Statements of each class of hostile programs, for the generator of random modules (dynamo_lite/lab/generated.py).

A file holds `STATEMENTS`, lines of `forward(self, x, y)` that use its names `z`, `k`, `vs` and assign `z`; `INIT`,
lines of `__init__` (or none); `HEADER`, lines at the top of the program's file (or none); `SIGNATURES`, other
parameters of `forward` (or none).
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from tests.export.generated import Vocabulary


def vocabularies() -> dict[str, Vocabulary]:
    """Name of a file → what its programs are written with."""
    found = {}
    for info in iter_modules(__path__):
        words = vars(import_module(f"{__name__}.{info.name}"))
        state = words["STATEMENTS"].splitlines()
        init, header = words.get("INIT", "").splitlines(), words.get("HEADER", "")
        found[info.name] = Vocabulary(state, init, header, words.get("SIGNATURES", []))
    return found


def all_statements() -> Vocabulary:
    """The statements of all files together."""
    found = vocabularies().values()
    state = [line for words in found for line in words.state]
    init = [line for words in found for line in words.init]
    signatures = [signature for words in found for signature in words.signatures]
    return Vocabulary(state, init, "".join(words.header for words in found), signatures)
