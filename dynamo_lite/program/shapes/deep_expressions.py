"""Room on Python's stack for expressions of sizes that are nested hundreds of times."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

from dynamo_lite.undoing import changed

DEPTH: Final = 20_000


@contextmanager
def deep_expressions() -> Iterator[None]:
    """Within, the recursion limit is at least DEPTH: sympy's functions call themselves for each part of a sum, and no
    code of the program runs that could recurse without end."""
    limit = sys.getrecursionlimit()
    with changed(partial(sys.setrecursionlimit, limit)):
        sys.setrecursionlimit(max(limit, DEPTH))
        yield
