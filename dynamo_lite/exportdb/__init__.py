"""ExportDB: what can and what cannot be exported, as small programs that run.

Each case is one file of `cases/`: a module that works, or one that is refused with the id of the error and the rewrite
that works. `python -m dynamo_lite exportdb list|show|search|check` reads them; docs/exportdb.md describes how to add
one. Names are imported on first use: errors.py imports this package to name the case of an error.

`lookup.py` alone is imported by errors, when one is worded; the rest by the command line and the documentation.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dynamo_lite.exportdb.case import Case as Case
    from dynamo_lite.exportdb.catalogue import all_cases as all_cases
    from dynamo_lite.exportdb.catalogue import load as load
    from dynamo_lite.exportdb.catalogue import search as search
    from dynamo_lite.exportdb.lookup import case_for as case_for

_LAZY = {"Case": "case", "all_cases": "catalogue", "load": "catalogue", "search": "catalogue", "case_for": "lookup"}

__all__ = ["Case", "all_cases", "case_for", "load", "search"]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
