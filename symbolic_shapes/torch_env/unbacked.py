"""Unbacked symbols: values that only run time knows, made by operators such as item() and nonzero()."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dynamo_lite.symbolic_shapes.expressions.expr import Symbol
from dynamo_lite.symbolic_shapes.expressions.floats import float_symbol
from dynamo_lite.symbolic_shapes.expressions.relations import eq
from dynamo_lite.symbolic_shapes.proofs.facts import Origin
from dynamo_lite.symbolic_shapes.torch_env.expressions import Expressions
from dynamo_lite.symbolic_shapes.torch_node.interfaces import Environment


class UnbackedSymbols:
    """Makes the symbols of operators with data-dependent results.

    torch keeps lists in attributes of the environment, which it also assigns (torch/fx/experimental/
    symbolic_shapes.py, compute_unbacked_bindings): symbols in `pending_fresh_unbacked_symbols` must be found in the
    result of the operator that made them.
    """

    def __init__(self, env: Environment, expressions: Expressions) -> None:
        self._env = env
        self._expressions = expressions
        self.core, self.wrap, self.from_sympy = expressions.core, expressions.wrap, expressions.from_sympy
        self._ignore_fresh = 0
        self._float_count = 0

    def _fresh(self, node: Any) -> Any:
        symbol = self._expressions.to_sympy(node)
        self._env.unbacked_created += 1
        if not self._ignore_fresh:
            self._env.pending_fresh_unbacked_symbols.append(symbol)
        return node

    def create_unbacked_symint(self, source: Any = None) -> Any:
        return self.wrap(self._fresh(self.core.unbacked(source=source, origin=self._env.where())))

    def create_unbacked_symfloat(self) -> Any:
        symbol = float_symbol(f"zuf{self._float_count}")
        self._float_count += 1
        self._env.float_origins[symbol] = self._env.where()
        return self.wrap(self._fresh(symbol))

    def create_unbacked_symbool(self) -> Any:
        # compute_unbacked_bindings recognises a bool by exactly this form.
        return self.wrap(eq(self._fresh(self.core.unbacked(lo=0, hi=1, origin=self._env.where())), 1))

    def is_unbacked_symint(self, symbol: Any) -> bool:
        node = self._expressions.symbols.from_sympy.get(symbol)
        return isinstance(node, Symbol) and node.unbacked

    @contextmanager
    def ignore_fresh_unbacked_symbols(self) -> Iterator[None]:
        """Within, new unbacked symbols need not appear in the operator's result."""
        self._ignore_fresh += 1
        try:
            yield
        finally:
            self._ignore_fresh -= 1

    def rename_to(self, orig_s: Any, new_s: Any) -> None:
        """The symbol was made again for a value that has one already."""
        self._env.unbacked_renamings[orig_s] = new_s
        self.eliminate(orig_s, new_s)

    def eliminate(self, orig_s: Any, new_s: Any) -> None:
        same = eq(self.from_sympy(orig_s), self.from_sympy(new_s))
        self.core.assume(same, Origin("operator", note="the same value"), "axiom")
