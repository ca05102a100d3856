"""All cases: by name, by error, by words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from dynamo_lite.exportdb.case import Case, load
from dynamo_lite.exportdb.keywords import KEYWORDS
from dynamo_lite.exportdb.lookup import case_for, names

__all__ = ["all_cases", "case_for", "load", "names", "search", "tags", "with_error"]


def all_cases() -> Iterator[Case]:
    """Every case, by name."""
    return map(load, names())


def with_error(error_id: str) -> list[Case]:
    """The cases that are refused with `error_id`, the one named after it first."""
    first = case_for(error_id)
    found = [case for case in all_cases() if case.error == error_id]
    return sorted(found, key=lambda case: (case.name != first, case.name))


def tags() -> Counter[str]:
    """How many cases each tag has."""
    return Counter(tag for case in all_cases() for tag in case.tags)


def search(text: str) -> list[Case]:
    """The cases that have, for each word of `text` (any case), a word that begins with it: best first.

    Those that `KEYWORDS` has for the text come first. A word in the name, the tags or the error counts more than one in
    the title, and that more than one in the source; a whole word counts more than a part of one.
    """
    words = text.lower().split()
    about = KEYWORDS.get(" ".join(words)) or KEYWORDS.get(re.sub(r"[-_\s]+", " ", text.lower()).strip(), ())
    scored = [(sum(_score(case, word) for word in words), case) for case in all_cases() if _has(case, words)]
    found = [case for _, case in sorted(scored, key=lambda row: (-row[0], row[1].name))]
    return [*map(load, about), *(case for case in found if case.name not in about)]


def _has(case: Case, words: list[str]) -> bool:
    everything = f"{case.name} {case.error or ''} {' '.join(case.tags)} {case.source}".lower()
    return all(re.search(rf"(?<![a-z0-9]){re.escape(word)}", everything) for word in words)


def _score(case: Case, word: str) -> int:
    heads = f"{case.name} {case.error or ''} {' '.join(case.tags)}".lower()
    title, source = case.title.lower(), case.source.lower()
    is_whole = re.compile(rf"(?<![a-z0-9]){re.escape(word)}(?![a-z0-9])").search
    part = 4 * (word in heads) + 2 * (word in title) + (word in source)
    return part + 4 * bool(is_whole(heads)) + 2 * bool(is_whole(title))
