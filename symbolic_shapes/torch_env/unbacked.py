"""Unbacked symbols: values that only run time knows, made by operators such as item() and nonzero()."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dynamo_lite.symbolic_shapes.environment import ShapeEnv
from dynamo_lite.symbolic_shapes.expressions.expr import Symbol
from dynamo_lite.symbolic_shapes.expressions.floats import float_symbol
from dynamo_lite.symbolic_shapes.expressions.relations import eq
from dynamo_lite.symbolic_shapes.proofs.facts import Origin
from dynamo_lite.symbolic_shapes.torch_env.expressions import Expressions
from dynamo_lite.symbolic_shapes.torch_node._torch import ShapeEnvSettings


class Unbacked(Expressions):
    """The part of `TorchShapeEnv` that operators with data-dependent results call.

    torch keeps its books in plain attributes (torch/fx/experimental/symbolic_shapes.py, compute_unbacked_bindings):
    symbols in `pending_fresh_unbacked_symbols` must be found in the result of the operator that made them.
    """

    def __init__(self, core: ShapeEnv, where: Callable[[], Origin], settings: ShapeEnvSettings) -> None:
        super().__init__(core, where, settings)
        self.pending_fresh_unbacked_symbols: list[Any] = []
        self.ignorable_fresh_unbacked_symbols: list[Any] = []
        self.unbacked_renamings: dict[Any, Any] = {}
        self.real_tensor_prop_unbacked_vals: dict[Any, Any] = {}
        self.unbacked_created = 0
        self._ignore_fresh = 0
        self._float_count = 0

    def _fresh(self, node: Any) -> Any:
        symbol = self.to_sympy(node)
        self.unbacked_created += 1
        if not self._ignore_fresh:
            self.pending_fresh_unbacked_symbols.append(symbol)
        return node

    def create_unbacked_symint(self, source: Any = None) -> Any:
        return self.wrap(self._fresh(self.core.unbacked(source=source, origin=self.where())))

    def create_unbacked_symfloat(self) -> Any:
        symbol = float_symbol(f"zuf{self._float_count}")
        self._float_count += 1
        return self.wrap(self._fresh(symbol))

    def create_unbacked_symbool(self) -> Any:
        # compute_unbacked_bindings recognises a bool by exactly this form.
        return self.wrap(eq(self._fresh(self.core.unbacked(lo=0, hi=1, origin=self.where())), 1))

    def is_unbacked_symint(self, symbol: Any) -> bool:
        node = self.symbols.from_sympy.get(symbol)
        return isinstance(node, Symbol) and node.unbacked

    @contextmanager
    def ignore_fresh_unbacked_symbols(self) -> Iterator[None]:
        """Within, new unbacked symbols need not appear in the operator's result."""
        self._ignore_fresh += 1
        try:
            yield
        finally:
            self._ignore_fresh -= 1

    def set_real_tensor_prop_unbacked_vals(self, k: Any, v: Any) -> None:
        raise NotImplementedError("propagation of real tensors beside the fake ones")

    def _rename_unbacked_to(self, orig_s: Any, new_s: Any) -> None:
        """The symbol was made again for a value that has one already."""
        self.unbacked_renamings[orig_s] = new_s
        self._eliminate_unbacked(orig_s, new_s)

    def _eliminate_unbacked(self, orig_s: Any, new_s: Any) -> None:
        same = eq(self.from_sympy(orig_s), self.from_sympy(new_s))
        self.core.assume(same, Origin("operator", note="the same value"), "axiom")
