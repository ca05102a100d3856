"""Evaluates the recorded program on the example: real tensors for the nodes of an unfinished graph."""

from __future__ import annotations

from functools import reduce
from typing import Any

import torch
from torch import fx

from dynamo_lite.capture.graph.lifting import modes_off


class NoShadow(Exception):
    """The value of a node is not available: an input is a fake tensor itself, or an operator cannot be run here."""


class Shadow:
    """Runs the nodes of a recorder's graph on copies of the example's tensors, each once, in order, on demand."""

    def __init__(self, recorder: Any, leaves: list[Any]) -> None:
        self._recorder = recorder
        self._values: dict[fx.Node, Any] = {}
        self._leaves = leaves

    def value_of(self, node: fx.Node) -> Any:
        """The node's value on the example (a tensor that later in-place operators of the program change).

        Raises NoShadow.
        """
        if node.graph is not self._recorder.level.graph:
            raise NoShadow("a sub-graph")
        with modes_off(), torch.no_grad():
            for current in node.graph.nodes:
                if current not in self._values:
                    self._values[current] = self._run(current)
                if current is node:
                    break
        return self._values[node]

    def tensor(self, fake: torch.Tensor) -> torch.Tensor:
        """Return the real tensor behind a fake one. Raises NoShadow."""
        node = self._recorder.level.nodes.get(fake)
        if node is None:
            raise NoShadow("a tensor that no operator made")
        value = self.value_of(node)
        if not isinstance(value, torch.Tensor):
            raise NoShadow(str(node))
        return value

    def find_hints(self, question: Any) -> bool:
        """Give the symbols of a question that only run time knows their values on the example; whether all have one."""
        from dynamo_lite.symbolic_shapes.expressions.expr import symbols_of
        from dynamo_lite.symbolic_shapes.expressions.floats import float_symbols_of

        env = self._recorder.env
        asked: set[Any] = {*symbols_of(question), *float_symbols_of(question)}
        for symbol in asked:
            if symbol.hint is None:
                self._find_hint(symbol)
        return env.hint_of(question) is not None

    def _find_hint(self, symbol: Any) -> None:
        env = self._recorder.env
        for node in self._recorder.graph.nodes:
            for name, path in (node.meta.get("unbacked_bindings") or {}).items():
                if env.symbols.from_sympy.get(name) is symbol:
                    value = self.value_of(node)
                    with modes_off():
                        found = reduce(lambda part, key: key.get(part), path, value)
                        symbol.hint = found if isinstance(found, float) else int(found)
                    return

    def _run(self, node: fx.Node) -> Any:
        if node.op == "placeholder":
            return self._placeholder(node)
        if node.op != "call_function" or not callable(node.target):
            raise NoShadow(f"{node.op} {node.target}")
        if node.meta.get("val") is None and not hasattr(node.target, "_schema"):
            return None  # the border of a region
        args, kwargs = fx.map_arg((node.args, node.kwargs), lambda n: self._values[n])
        try:
            return node.target(*args, **kwargs)
        except Exception as error:
            raise NoShadow(str(error)) from error

    def _placeholder(self, node: fx.Node) -> Any:
        inputs = dict(zip(self._recorder.input_nodes, self._leaves))
        if node in inputs:
            value = inputs[node]
        else:
            value = next((lifted.tensor for lifted in self._recorder.lifted if lifted.node is node), None)
        if isinstance(value, torch.Tensor):
            if value.device.type == "meta" or type(value).__name__ == "FakeTensor":
                raise NoShadow("an input without data")
            return value.detach().clone()
        return value
