"""Comparisons of guards, one at a time."""

from __future__ import annotations

import ast


def separate_comparisons(guard: str) -> list[str]:
    """`2 <= size <= 9` as `2 <= size` and `size <= 9`; any other guard as it is."""
    if guard.count("<") + guard.count(">") < 2:
        return [guard]
    found = ast.parse(guard, mode="eval").body
    if not isinstance(found, ast.Compare) or len(found.ops) < 2:
        return [guard]
    terms = [found.left, *found.comparators]
    pairs = zip(terms, found.ops, found.comparators)
    return [ast.unparse(ast.Compare(left, [op], [right])) for left, op, right in pairs]
