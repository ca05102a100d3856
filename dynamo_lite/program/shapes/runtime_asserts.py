"""Facts that only run time can check become `aten._assert_scalar` nodes, right after the last value they are about.

The facts and their order are determined in symbolic_shapes/size_guards/runtime_asserts.py; this file finds the nodes
that bind the symbols and writes the conditions. Each graph asserts the facts about symbols that it binds itself: the
branches of a `cond` are graphs of their own.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import fx

from dynamo_lite import origin_names
from dynamo_lite.capture import CaptureError
from dynamo_lite.capture.graph.size_nodes import SizeNodes
from dynamo_lite.capture.graph.writer import in_root
from dynamo_lite.program._torch import CallMethodKey, ConvertIntKey, DivideByKey
from dynamo_lite.symbolic_shapes.expressions.expr import Symbol, symbols_of
from dynamo_lite.symbolic_shapes.expressions.floats import has_unknown_float
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, le
from dynamo_lite.symbolic_shapes.proofs.facts import Fact
from dynamo_lite.symbolic_shapes.size_guards.runtime_asserts import RuntimeAssert, schedule
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv
from dynamo_lite.symbolic_shapes.torch_node.symbolic_types import SYMBOLIC_TYPES
from dynamo_lite.torch_internals._torch_pytree import pytree

_READS = {"size": torch.ops.aten.sym_size.int, "stride": torch.ops.aten.sym_stride.int}


def insert_runtime_asserts(graphs: Iterable[fx.Graph], env: TorchShapeEnv, *, given: Sequence[Bool] = ()) -> None:
    """Adds the assertions to the graphs of a program (before `rematerialise`: sizes are still `env`'s).

    Facts about floats that run time knows only are asserted at the end of the program.

    given: relations on the inputs that are checked before the program runs.
    Raises CaptureError ("unbound-size") for a fact that the program relies on, about a value that no graph computes.
    """
    of_floats = [fact for fact in env.core.facts if has_unknown_float(fact.relation)]
    facts = [f for f in env.core.facts if f not in of_floats and any(s.unbacked for s in symbols_of(f.relation))]
    if not facts and not of_floats and not env.of_subgraphs:
        return
    bound: list[tuple[fx.Graph, dict[Symbol, _Binding]]] = []
    everywhere: dict[Symbol, None] = {}
    for graph in graphs:  # a size of a sub-graph's input is bound where the graph around it makes it
        bindings = {symbol: place for symbol, place in _bindings(graph, env).items() if symbol not in everywhere}
        everywhere |= dict.fromkeys(bindings)
        bound.append((graph, bindings))
    _check_bound(facts, set(everywhere))
    facts += [fact for fact in env.of_subgraphs if _unbacked(fact) <= everywhere.keys()]
    about_inputs = [
        f for f in env.core.facts if f not in of_floats and not any(s.unbacked for s in symbols_of(f.relation))
    ]
    outside: set[Symbol] = set()
    for graph, bindings in bound:
        # A sub-graph may state facts about symbols bound by the outer graph as well, which it gets as an argument.
        visible = bindings.keys() | outside if graph is not bound[0][0] else set(bindings)
        outside |= set(bindings)
        mine = [f for f in facts if _unbacked(f) & bindings.keys() and _unbacked(f) <= visible]
        last = of_floats if graph is bound[0][0] else []
        if mine or last:
            order = [s for s in everywhere if s in visible and s not in bindings] + list(bindings)
            limits = [le(symbol.as_int(), sys.maxsize - 1) for symbol in bindings if symbol in env.size_like]
            wanted = schedule([*about_inputs, *mine], order, given=[*given, *limits])
            _Inserter(graph, env, bindings).insert(wanted, [f for f in last if f.kind != "axiom"])


def _unbacked(fact: Fact) -> set[Symbol]:
    return {symbol for symbol in symbols_of(fact.relation) if symbol.unbacked}


def _check_bound(facts: Sequence[Fact], bound: set[Symbol]) -> None:
    """Symbols that no node binds were made for values that are not in the program (a trial run, a dropped branch).

    Facts among such values are then left out; one that ties them to the program is kept.
    """
    tied, grown = set(bound), True
    lost: Fact | None = None
    while grown:
        grown = False
        for fact in facts:
            symbols = symbols_of(fact.relation)
            inside = {s for s in symbols if not s.unbacked or s in tied}
            if inside and len(inside) < len(symbols):
                tied |= symbols
                grown, lost = True, lost or fact
    if lost is not None:
        names = ", ".join(sorted(s.name for s in _unbacked(lost) - bound))
        raise CaptureError(
            "unbound-size",
            f"the program relies on {lost}, and {names} is not a value that the graph computes",
            "take the value from a tensor that the program keeps",
            {"size": names},
        )


# -- where symbols are bound ------------------------------------------------------------------------------------------


class _Binding:
    """The node that makes a symbol's value known, and the way to it inside of the node's result."""

    def __init__(self, node: fx.Node, path: pytree.KeyPath) -> None:
        self.node, self.path = node, path


def _bindings(graph: fx.Graph, env: TorchShapeEnv) -> dict[Symbol, _Binding]:
    """The unbacked symbols that the nodes of a graph bind, in order."""
    found: dict[Symbol, _Binding] = {}
    for node in graph.nodes:
        if node.op == "placeholder":
            for symbol, path in _in_input(node.meta.get("val"), env):
                found.setdefault(symbol, _Binding(node, path))
        for name, path in (node.meta.get("unbacked_bindings") or {}).items():
            core = env.symbols.from_sympy[name]
            if isinstance(core, Symbol):
                found.setdefault(core, _Binding(node, path))
    return found


def _in_input(value: Any, env: TorchShapeEnv) -> Iterator[tuple[Symbol, pytree.KeyPath]]:
    sizes: list[tuple[Any, pytree.KeyPath]] = []
    if isinstance(value, torch.SymInt):
        sizes = [(value, ())]
    elif isinstance(value, torch.Tensor):
        sizes = [(size, (CallMethodKey("size"), pytree.SequenceKey(i))) for i, size in enumerate(value.shape)]
    for size, path in sizes:
        atom = env.unwrap(size).as_atom()
        if isinstance(atom, Symbol) and atom.unbacked:
            yield atom, path


# -- writing them -----------------------------------------------------------------------------------------------------


class _Inserter:
    """Goes through a graph once, front to back; knows the size nodes before the cursor and adds behind it."""

    def __init__(self, graph: fx.Graph, env: TorchShapeEnv, bindings: dict[Symbol, _Binding]) -> None:
        self._graph, self._env, self._bindings = graph, env, bindings
        self._sizes = SizeNodes(env, self._make, self._make_first)
        self._cursor: fx.Node = graph._root
        self._last_input: fx.Node = graph._root
        self._origin: dict[str, Any] = {}

    def insert(self, asserts: Sequence[RuntimeAssert], last: Sequence[Fact] = ()) -> None:
        """Adds each assertion behind the node that binds its last symbol, and those of `last` at the end."""
        waiting: dict[fx.Node, list[RuntimeAssert]] = {}
        for wanted in asserts:
            waiting.setdefault(self._bindings[wanted.after].node, []).append(wanted)
        nodes = list(self._graph.nodes)
        inputs = [node for node in nodes if node.op == "placeholder"]
        for node in inputs:
            self._see(node)
        self._cursor = self._last_input = inputs[-1] if inputs else self._graph._root
        for node in inputs:
            self._assert(waiting.get(node, ()), node)
        for node in nodes:
            if node.op in ("placeholder", "output"):
                continue
            self._cursor = node
            self._see(node)
            if node in waiting:
                while self._cursor.next.target is operator.getitem:
                    self._cursor = self._cursor.next
                    self._see(self._cursor)
                self._assert(waiting[node], node)
        for fact in last:
            message = f"Runtime assertion failed for expression {fact.relation}, from {fact.origin}"
            self._record(fact.relation, message)

    def _see(self, node: fx.Node) -> None:
        """From here on the node's number, or the sizes of its tensor, can be used."""
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor):
            self._sizes.add_tensor(node, value, first=node.op == "placeholder")
        elif isinstance(value, (torch.SymInt, torch.SymFloat)):
            self._sizes.add_value(node, value)

    def _assert(self, asserts: Sequence[RuntimeAssert], node: fx.Node) -> None:
        if not asserts:
            return
        copied = ("stack_trace", "nn_module_stack", "source_fn_stack")
        self._origin = {key: node.meta[key] for key in copied if key in node.meta}
        for wanted in asserts:
            known = f"{wanted.after} is known after the node {node.name}"
            message = f"{wanted.message} ({self._where(wanted.relation)}{known})"
            self._record(wanted.relation, message)

    def _where(self, relation: Any) -> str:
        """The expressions that the numbers of data in a relation come from, as the begin of a list."""
        text = origin_names.where(relation, self._env.float_origins, self._env.size_like)
        return f"{text}; " if text else ""

    def _record(self, relation: Any, message: str) -> None:
        for symbol in sorted(symbols_of(relation), key=lambda s: s.id):
            self._bind(symbol)
        condition = self._sizes.of(self._env.wrap(relation))
        self._make(torch.ops.aten._assert_scalar.default, (condition, _plain(message)), None)

    def _bind(self, symbol: Symbol) -> None:
        """Makes a node for an unbacked symbol's value, if it is not simply a node's value or a size."""
        binding = self._bindings.get(symbol)
        if binding is None or not binding.path:
            return
        node, path = binding.node, list(binding.path)
        while path and isinstance(path[0], pytree.SequenceKey):
            node = self._item(node, path[0].idx)
            del path[0]
        if len(path) == 2 and isinstance(path[0], CallMethodKey) and path[0].name == "size":
            self._see(node)  # a size: read when needed
            return
        core = symbol.as_int()
        while path:
            key = path.pop(0)
            if isinstance(key, CallMethodKey):
                node = self._read(key.name, node, path)
            elif isinstance(key, ConvertIntKey):
                node = self._make(torch.sym_ite, (node, 1, 0), self._env.wrap(core))
            elif isinstance(key, DivideByKey):
                divisor = self._sizes.of(key.divisor) if isinstance(key.divisor, SYMBOLIC_TYPES) else key.divisor
                node = self._make(operator.floordiv, (node, divisor), self._env.wrap(core))
        self._sizes.add_value(node, self._env.wrap(core))

    def _read(self, method: str, node: fx.Node, path: list[Any]) -> fx.Node:
        value = getattr(node.meta["val"], method)()
        if method == "storage_offset":
            return self._make(torch.ops.aten.sym_storage_offset.default, (node,), value)
        index = path.pop(0).idx
        return self._make(_READS[method], (node, index), value[index])

    def _item(self, node: fx.Node, index: int) -> fx.Node:
        for user in node.users:
            if user.target is operator.getitem and user.args[1] == index:
                return user
        return self._make(operator.getitem, (node, index), node.meta["val"][index])

    def _make(self, function: Any, args: tuple[Any, ...], value: Any) -> fx.Node:
        with self._graph.inserting_after(self._cursor):
            node = self._cursor = self._graph.call_function(function, args)
        node.meta = {**self._origin, "val": value, "torch_fn": (node.name, f"{type(function).__name__}.{node.name}")}
        return node

    def _make_first(self, function: Any, args: tuple[Any, ...], value: Any) -> fx.Node:
        """A size of an input: behind the placeholders, where the recorder reads them too."""
        cursor, before = self._cursor, self._last_input
        self._cursor = before
        node = self._make(function, args, value)
        in_root(node)
        self._last_input, self._cursor = node, node if cursor is before else cursor
        return node


def _plain(text: str) -> str:
    """A message that survives being pasted into generated Python and C++ strings."""
    return " ".join(text.split()).replace('"', "'").replace("\\", "/").replace("{", "(").replace("}", ")")


__all__ = ["insert_runtime_asserts"]
