"""Expressions of one environment as torch sees them: nodes, SymInts, sympy; and their values in the example."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dynamo_lite.symbolic_shapes.environment import ShapeEnv
from dynamo_lite.symbolic_shapes.expressions.evaluation import evaluate
from dynamo_lite.symbolic_shapes.expressions.expr import Int, Node, Symbol, as_int, symbols_of
from dynamo_lite.symbolic_shapes.expressions.floats import Float, float_const, float_symbols_of
from dynamo_lite.symbolic_shapes.expressions.relations import as_bool
from dynamo_lite.symbolic_shapes.expressions.sympy_bridge.converters import FromSympy, ToSympy
from dynamo_lite.symbolic_shapes.torch_node.interfaces import Environment
from dynamo_lite.symbolic_shapes.torch_node.sym_node import PYTYPES, SymNode, wrap
from dynamo_lite.symbolic_shapes.torch_node.symbolic_types import SYMBOLIC_TYPES
from dynamo_lite.symbolic_shapes.torch_node.sympy_functions import TORCH, TorchSymbols


class Expressions:
    """The nodes of one environment, and its translation from and to sympy.

    env: the environment that the nodes refer to.
    """

    def __init__(self, env: Environment, core: ShapeEnv) -> None:
        self._env = env
        self.core = core
        self.symbols = TorchSymbols()
        self.to_sympy = ToSympy(self.symbols, TORCH)
        self.from_sympy = FromSympy(self.symbols.back, TORCH)
        self.layouts: dict[Any, SymNode] = {}
        self._nodes: dict[tuple[Node, bool], SymNode] = {}
        self._constants: dict[tuple[type, Any], SymNode] = {}

    def constant(self, value: Any) -> SymNode:
        """The node of an int, float or bool."""
        key = (type(value), value if value == value else "nan")
        if value == 0 and type(value) is float:
            key = (float, str(value))  # 0.0 == -0.0
        found = self._constants.get(key)
        if found is None:
            core: Node = as_bool(value) if type(value) is bool else (
                float_const(value) if isinstance(value, float) else as_int(value))
            found = self._constants[key] = SymNode(core, self._env, type(value), value, layout=False)
        return found

    def node(self, core: Any, *, layout: bool = False) -> SymNode:
        """The one node of an expression."""
        key = (core, layout)
        found = self._nodes.get(key)
        if found is None:
            found = self._nodes[key] = self._new_node(core, layout)
        return found

    def _new_node(self, core: Any, layout: bool) -> SymNode:
        if isinstance(core, Int):
            value: Any = core.as_constant()
        elif isinstance(core, Float):
            value = core.value if core.op == "const" else None
        else:
            value = getattr(core, "value", None)
        if value is not None:
            return self.constant(value)
        return SymNode(core, self._env, PYTYPES.get(type(core), bool), None, layout)

    def node_of(self, value: Any) -> SymNode:
        """The node of a SymInt, SymFloat, SymBool or of a Python number."""
        return value.node if isinstance(value, SYMBOLIC_TYPES) else self.constant(value)

    def wrap(self, core: Any) -> Any:
        """The SymInt, SymFloat or SymBool (or Python number) of an expression of ours."""
        return wrap(self.node(core))

    def unwrap(self, value: Any) -> Any:
        """The `Int`, `Float` or `Bool` of a SymInt, SymFloat, SymBool or Python number."""
        return self.node_of(value).core

    def create_symintnode(self, sym: Any, *, hint: Any = None, source: Any = None) -> Any:
        return self.wrap(self.from_sympy(sym))

    def create_symfloatnode(self, sym: Any, *, hint: Any = None, source: Any = None) -> Any:
        return self.wrap(self.from_sympy(sym))

    def create_symboolnode(self, sym: Any) -> Any:
        return self.wrap(self.from_sympy(sym))

    @contextmanager
    def other_example(self, values: Mapping[Symbol, int]) -> Iterator[None]:
        """Within, symbols have these values in the example. Nothing else may be running in this environment."""
        before = {symbol: symbol.hint for symbol in values}
        try:
            self._put_example(values)
            yield
        finally:
            self._put_example(before)

    def _put_example(self, values: Mapping[Symbol, int | None]) -> None:
        for symbol, value in values.items():
            symbol.hint = value
        for node in (*self._nodes.values(), *self.layouts.values()):
            node.known_hint = node.constant

    def hint_of(self, node: Any, memo: dict[Any, Any] | None = None) -> Any:
        """The Python value of an expression in the example; None if it is unbacked.

        memo: earlier results of operators, of a caller during whose work no symbol gets another value.
        """
        if any(symbol.hint is None for symbol in float_symbols_of(node)):
            return None
        values: dict[Any, Any] = {s: s.hint for s in float_symbols_of(node)}
        if any(s.hint is None for s in symbols_of(node)):
            node = self.core.simplify(node)
            if any(s.hint is None for s in symbols_of(node)):
                return None
        return evaluate(node, values | {s: s.hint for s in symbols_of(node)}, memo)
