"""Read-only views of an environment in the shape of torch's tables: sympy symbol -> range, value, run-time assert."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import sympy

from dynamo_lite.symbolic_shapes.expressions.expr import Symbol, symbols_of
from dynamo_lite.symbolic_shapes.expressions.floats import Float
from dynamo_lite.symbolic_shapes.torch_node._torch import RuntimeAssert
from dynamo_lite.symbolic_shapes.torch_node.interfaces import Environment


class _View(Mapping[Any, Any]):
    def __init__(self, env: Environment) -> None:
        self._env = env

    def _keys(self) -> list[Any]:
        return [s for s, node in self._env.symbols.from_sympy.items() if self._has(node)]

    def _has(self, node: Any) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        return iter(self._keys())

    def __len__(self) -> int:
        return len(self._keys())

    def __contains__(self, key: Any) -> bool:
        node = self._env.symbols.from_sympy.get(key)
        return node is not None and self._has(node)


class Ranges(_View):
    """Symbol -> ValueRanges, as the facts have it now."""

    def __getitem__(self, key: Any) -> Any:
        if key not in self:
            raise KeyError(key)
        return self._env.bound_sympy(key)


class BackedValues(_View):
    """Symbol -> its value in the example, for those that have one."""

    def _has(self, node: Any) -> bool:
        return node.hint is not None

    def __getitem__(self, key: Any) -> Any:
        if key not in self:
            raise KeyError(key)
        node: Any = self._env.symbols.from_sympy[key]
        return sympy.Float(node.hint) if isinstance(node, Float) else sympy.Integer(node.hint)


class Replacements(_View):
    """Symbol -> an equal expression, for those that an equation was solved for."""

    def _has(self, node: Any) -> bool:
        return isinstance(node, Symbol) and node in self._env.core.knowledge.solved

    def __getitem__(self, key: Any) -> Any:
        if key not in self:
            raise KeyError(key)
        return self._env.replace(key)


def runtime_asserts(env: Environment) -> dict[Any, list[RuntimeAssert]]:
    """Facts of kind "check" by the newest unbacked symbol in them (None: no unbacked symbol)."""
    found: dict[Any, list[RuntimeAssert]] = {}
    for fact in env.core.facts:
        if fact.kind == "check":
            unbacked: list[Symbol] = [s for s in symbols_of(fact.relation) if s.unbacked]
            newest = env.symbols(max(unbacked, key=lambda s: s.id)) if unbacked else None
            found.setdefault(newest, []).append(
                RuntimeAssert(env.to_sympy(fact.relation), str(fact.origin), fact.origin.stack))
    return found
