"""A dialect of sympy: which class represents which operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


class NotConvertible(TypeError):
    """An expression with no counterpart on the other side."""


@dataclass
class Heads:
    """The vocabulary of one dialect of sympy.

    to_sympy: operator -> function of converted arguments. Keys are the operators of `Apply` and `Float` nodes, and
        "mod", "natural_mod" (of numbers that are not negative) and "min", which are written out where recognised, and
        "natural_pow" ("pow" of integers).
    from_sympy: sympy class -> function of converted arguments (looked up along the class's MRO).
    raw: sympy class -> function (expr, convert) for those that need to see the sympy arguments themselves.
    """

    to_sympy: dict[str, Callable[..., Any]] = field(default_factory=dict)
    from_sympy: dict[type, Callable[..., Any]] = field(default_factory=dict)
    raw: dict[type, Callable[..., Any]] = field(default_factory=dict)

    def extended(self, **tables: Mapping[Any, Callable[..., Any]]) -> Heads:
        """A copy with further or other entries."""
        return Heads(*({**getattr(self, name), **tables.get(name, {})} for name in ("to_sympy", "from_sympy", "raw")))
