"""Names of files that some file systems do not take."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

_CHARACTERS = re.compile(r'[<>:"\\|?*\x00-\x1f]')
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
_LONGEST = 180
"""Characters of a path in the repository: Windows allows 260 with the folders above."""


def unportable(names: Iterable[str]) -> list[str]:
    """Return the paths that Windows cannot hold, and those that differ from another in case only.

    Microsoft, "Naming Files, Paths, and Namespaces"."""
    names = sorted({*names})
    spelled = Counter(path.casefold() for path in {path for name in names for path in _prefixes(name)})
    twice = {path for path, count in spelled.items() if count > 1}
    return [
        name
        for name in names
        if len(name) > _LONGEST or _has_bad_part(name) or not twice.isdisjoint(_prefixes(name.casefold()))
    ]


def _prefixes(name: str) -> list[str]:
    """Return a path and the folders above it."""
    parts = name.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]


def _has_bad_part(name: str) -> bool:
    parts = [part for part in name.split("/") if part]
    return any(_CHARACTERS.search(part) or _RESERVED.fullmatch(part) or part[-1] in ". " for part in parts)
