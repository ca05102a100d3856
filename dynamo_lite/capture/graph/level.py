"""One sub-graph under construction (subgraphs.py)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch import fx


@dataclass
class Level:
    """One sub-graph. `captured` are the operands: what it takes from around, as (placeholder inside, value outside).

    `arguments` are its own placeholders, made by `argument`; `grad_enabled` is the mode that it is entered under.
    """

    graph: fx.Graph
    grad_enabled: bool
    may_mutate: bool
    arguments: list[fx.Node] = field(default_factory=list)
    captured: list[tuple[fx.Node, Any]] = field(default_factory=list)
    modules: dict[str, fx.GraphModule] = field(default_factory=dict)
    storages: set[int] = field(default_factory=set)
    own_storages: set[int] = field(default_factory=set)  # of the arguments of its own, which nothing may change

    @property
    def placeholders(self) -> list[fx.Node]:
        return [*self.arguments, *(node for node, _ in self.captured)]
