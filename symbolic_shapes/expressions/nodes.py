"""The common base of expressions of every sort: interned, and kept alive by the newest of their parts."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

next_id = itertools.count().__next__
"""Ids of nodes, by age; none is used twice."""


OPERATIONS: dict[str, Callable[..., Any]] = {}
"""Python operators of expressions that are defined in files which import the classes of expressions.

operators.py fills it when the package is imported."""


class Node:
    """An interned expression of any sort. Equality and hash are identity."""

    __slots__ = ("__weakref__", "_floats", "_made", "id")
    id: int
    _floats: Any
    """The float symbols inside (`floats.float_symbols_of`), once computed."""
    _made: dict[Any, Any] | None
    """The nodes of which this one is the newest part, by how they are made."""

    def __reduce__(self) -> Any:
        raise TypeError("interned expressions do not pickle: convert them to sympy first")

    def __deepcopy__(self, memo: dict[int, Any]) -> Node:
        return self

    def __copy__(self) -> Node:
        return self


class Bool(Node):
    """A proposition. `&`, `|` and `~` combine; `==` is identity of canonical forms."""

    __slots__ = ("_negation", "_symbols", "args")
    args: tuple[Node, ...]
    _negation: Bool | None
    _symbols: frozenset[Any] | None

    def __and__(self, other: Bool | bool) -> Bool:
        return OPERATIONS["and"](self, other)

    def __or__(self, other: Bool | bool) -> Bool:
        return OPERATIONS["or"](self, other)

    def __invert__(self) -> Bool:
        return OPERATIONS["not"](self)

    def __bool__(self) -> bool:
        raise TypeError(f"the truth of {self!r} is not known: ask `ShapeEnv.evaluate`")

    def __repr__(self) -> str:
        return OPERATIONS["to_python"](self)


_age = operator.attrgetter("id")


def made_of(parts: Sequence[Node]) -> dict[Any, Any]:
    """The table for the nodes that are made of these parts: their newest one's."""
    newest = max(parts, key=_age) if len(parts) > 1 else parts[0]
    if newest._made is None:
        newest._made = {}
    return newest._made
