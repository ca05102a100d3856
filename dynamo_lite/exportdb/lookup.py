"""Which case shows an error: the one with the error's own name. Imports no case, and not torch."""

from __future__ import annotations

from functools import cache
from pathlib import Path

CASES = Path(__file__).parent / "cases"


@cache
def names() -> tuple[str, ...]:
    """The names of all cases, sorted."""
    return tuple(sorted(path.stem for path in CASES.glob("*.py") if path.stem != "__init__"))


def case_for(error_id: str) -> str | None:
    """The case that shows the error `error_id` first ("data-dependent-branch" → "data_dependent_branch"), if any.

    `show` of that case lists the other cases with the same error.
    """
    name = error_id.replace("-", "_")
    return name if name in names() else None
