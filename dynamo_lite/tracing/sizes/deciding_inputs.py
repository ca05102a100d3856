"""The inputs whose data alone decide a question: they may be given by value, `export(..., constants={"n": None})`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import fx

from dynamo_lite.capture.alias_analysis import draws
from dynamo_lite.program.trees.paths import path_in_words
from dynamo_lite.symbolic_shapes.expressions.expr import Node, Symbol, symbols_of
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.vocabulary.symbolic_numbers import SYMBOLIC

_MOST_ELEMENTS = 1 << 12
"""Of an input that is proposed: a grid, lengths, a mask; not an image."""


def advice(tracer: TracerView, asked: Node) -> str:
    """The option that gives the deciding inputs by value; "" where more than inputs decides."""
    recorder = tracer.recorder
    if recorder.levels or not tracer.sees_python:
        return ""
    found = [_maker(recorder, symbol) for symbol in symbols_of(asked) if symbol.unbacked]
    numbers = _inputs_behind(recorder, found)
    if not numbers:
        return ""
    paths = [tracer.inputs.key_paths[number] for number in sorted(numbers)]
    names = [*map(path_in_words, paths)]
    if all(len(path) == 1 for path in paths):
        given = "{" + ", ".join(f'"{name}": None' for name in names) + "}"
    else:  # the parts that decide, and not all of their containers
        given = repr(names)
    return f"give what decides by value, if each call has the same: export(..., constants={given})"


def _maker(recorder: Any, symbol: Symbol) -> fx.Node | None:
    """The first node whose value has the symbol in it."""
    return next((node for node in recorder.graph.nodes if symbol in _symbols(recorder, node.meta.get("val"))), None)


def _symbols(recorder: Any, value: Any) -> frozenset[Symbol]:
    if type(value) in SYMBOLIC:
        return symbols_of(value.node.core)
    if not isinstance(value, torch.Tensor) or not getattr(value, "_has_symbolic_sizes_strides", False):
        return frozenset()
    sizes = [size for size in value.shape if type(size) is torch.SymInt]
    return frozenset().union(*(symbols_of(recorder.env.unwrap(size)) for size in sizes))


def _inputs_behind(recorder: Any, makers: Iterable[fx.Node | None]) -> set[int]:
    """The numbers of the inputs that the nodes are computed from; none if they rest on anything else."""
    inputs = {node: number for number, node in enumerate(recorder.input_nodes)}
    found: set[int] = set()
    todo, seen = [*makers], set()
    while todo:
        node = todo.pop()
        if node is None or node.op == "get_attr" or (node.op == "call_function" and draws(node)):
            return set()
        if node in seen:
            continue
        seen.add(node)
        if node.op == "placeholder":
            if node not in inputs or not _is_small(node.meta.get("val")):
                return set()
            found.add(inputs[node])
        todo += node.all_input_nodes
    return found


def _is_small(value: Any) -> bool:
    if not isinstance(value, torch.Tensor) or value._has_symbolic_sizes_strides:
        return False
    return value.numel() <= _MOST_ELEMENTS
