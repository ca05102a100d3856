"""The nodes of a program: operator, users, metadata of the value, the lines that made it, the origins of its sizes."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import fx

from dynamo_lite.report.parts import parts_of
from dynamo_lite.report.sources import Sources, frames_of, innermost

_FROM_WEIGHT: Mapping[str, Mapping[int, tuple[int, int]]] = {
    "linear": {-1: (1, 0)},
    "embedding": {-1: (0, 1)},
    "matmul": {-1: (1, -1)},
    "mm": {-1: (1, -1)},
    "bmm": {-1: (1, -1)},
    "addmm": {-1: (2, -1)},
    "baddbmm": {-1: (2, -1)},
    "conv1d": {1: (1, 0)},
    "conv2d": {1: (1, 0)},
    "conv3d": {1: (1, 0)},
}
"""Operator → dimension of its result → (which argument, which of its dimensions) has that size."""
_SIZES = frozenset(
    {"size", "sizes", "shape", "output_size", "normalized_shape", "repeats", "s", "num_classes", "num_samples"}
)
_LENGTHS = frozenset({"end", "length", "n", "k", "split_size", "split_sizes"})
"""Arguments of torch's operators that are sizes of the result, and those that are its length along the argument `dim`.
Others (divisors, strides, dimensions) may be the same number, and are not the reason."""


class Nodes:
    """The nodes of a program and of the graphs that its control flow calls."""

    def __init__(self, program: Any, sources: Sources) -> None:
        self._sources = sources
        self._kinds = {spec.arg.name: _input_kind(spec) for spec in program.graph_signature.input_specs}
        self.ids: dict[fx.Node, str] = {}
        self._given: dict[fx.Node, Any] = {}
        self._parts = parts_of(program.graph_module)
        self.records: list[dict[str, Any]] = []
        self._graph(program.graph_module, "")

    def _graph(self, module: fx.GraphModule, path: str) -> None:
        for node in module.graph.nodes:
            self.ids[node] = f"n{len(self.ids)}"
        for node in module.graph.nodes:
            self.records.append(self._record(node, path))
        for node in module.graph.nodes:
            inner = getattr(module, str(node.target), None) if node.op == "get_attr" else None
            if isinstance(inner, fx.GraphModule):
                self._given.update(_operands(node, inner))
                self._graph(inner, f"{path}{node.target}.")

    def _record(self, node: fx.Node, path: str) -> dict[str, Any]:
        identifier, frames = self.ids[node], list(frames_of(node.meta.get("stack_trace")))
        modules = list(node.meta.get("nn_module_stack", {}).values())
        sources = node.meta.get("source_fn_stack") or []
        return {
            "id": identifier,
            "name": node.name,
            "graph": path,
            "part": self._parts.get(node, "") if node.op == "call_function" else "",
            "op": node.op,
            "operator": _operator(node),
            "input_kind": self._kinds.get(node.name, "") if node.op == "placeholder" and not path else "",
            "text": node.format_node() or f"return {node.args[0] if node.args else ''}",
            "inputs": [self.ids[n] for n in node.all_input_nodes if n in self.ids],
            "users": [self.ids[n] for n in node.users if n in self.ids],
            "value": describe(node.meta.get("val")),
            "module": _text(modules[-1][0]) if modules else "",
            "module_type": _text(modules[-1][1]) if modules else "",
            "called": _text(sources[-1][0]) if sources else "",
            "at": self._sources.at(frames, "nodes", identifier),
            "stack": self._sources.stack(frames),
            "sizes": list(self._sizes(node)),
        }

    def _sizes(self, node: fx.Node) -> Iterator[dict[str, Any]]:
        """Each size of a node's tensor: for a constant, where the same number comes from, one step back."""
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor):
            return
        for dim, size in enumerate(value.shape):
            row: dict[str, Any] = {"dim": dim, "size": str(size), "symbolic": not isinstance(size, int)}
            if node.op == "call_function":
                call = _call_of(node)
                row["written"] = isinstance(size, int) and size in _sizes_given(call, value.dim(), dim)
                row["from"] = self._step_back(call, value.dim(), dim, size)
            elif node in self._given:
                row["from"] = self._same_size(self._given[node], dim, size)
            yield row

    def _same_size(self, argument: Any, dim: int, size: Any) -> dict[str, Any] | None:
        """Dimension `dim` of another node, if it has that size."""
        shape = _shape(argument)
        if -len(shape) <= dim < len(shape) and str(shape[dim]) == str(size) and argument in self.ids:
            return {"node": self.ids[argument], "dim": dim % len(shape)}
        return None

    def _step_back(self, node: fx.Node, rank: int, dim: int, size: Any) -> dict[str, Any] | None:
        known = _FROM_WEIGHT.get(_operator(node).split(".")[1] if "." in _operator(node) else "", {})
        rule = known.get(dim, known.get(dim - rank))
        candidates = [(node.args[rule[0]], rule[1])] if rule is not None and len(node.args) > rule[0] else []
        candidates += [(argument, place) for argument in node.all_input_nodes for place in (dim, dim - rank)]
        candidates += [(a, d) for a in node.all_input_nodes for d in range(len(_shape(a)))]
        found = (self._same_size(argument, place, size) for argument, place in candidates)
        return next((row for row in found if row is not None), None)


def _operands(attribute: fx.Node, inner: fx.GraphModule) -> dict[fx.Node, Any]:
    """Maps the placeholders of a sub-graph to operands of its first call: the last arguments of the operator."""
    placeholders = [node for node in inner.graph.nodes if node.op == "placeholder"]
    call = next(iter(attribute.users), None)
    given = [*_leaves(call.args)] if call is not None else []
    return dict(zip(reversed(placeholders), reversed(given)))


def _leaves(arguments: Any) -> Iterator[Any]:
    if isinstance(arguments, (tuple, list)):
        for part in arguments:
            yield from _leaves(part)
    else:
        yield arguments


def describe(value: Any) -> dict[str, Any]:
    """The record of a value; for a tensor its sizes, dtype, device and strides."""
    if isinstance(value, torch.Tensor):
        return {
            "kind": "tensor",
            "shape": [str(size) for size in value.shape],
            "dtype": str(value.dtype).removeprefix("torch."),
            "device": str(value.device),
            "strides": [str(step) for step in value.stride()] if value.layout is torch.strided else [],
            "requires_grad": value.requires_grad,
        }
    if isinstance(value, (tuple, list)):
        return {"kind": "several", "parts": [describe(part) for part in value]}
    if value is None:
        return {"kind": "none"}
    return {"kind": "number", "text": str(value), "type": type(value).__name__}


def _operator(node: fx.Node) -> str:
    """ "aten.linear.default", or the name of the callee."""
    if node.op != "call_function":
        return str(node.target)
    return str(node.target) if "." in str(node.target) else getattr(node.target, "__name__", str(node.target))


def _input_kind(spec: Any) -> str:
    kind = spec.kind.name.lower().replace("_", " ")
    return f"{kind} {spec.target}" if spec.target else kind


def _shape(node: Any) -> tuple[Any, ...]:
    value = node.meta.get("val") if isinstance(node, fx.Node) else None
    return tuple(value.shape) if isinstance(value, torch.Tensor) else ()


def _call_of(node: fx.Node) -> fx.Node:
    """Of a part of an operator's results, the call of the operator."""
    made = node.args[0] if node.target is operator.getitem else None
    return made if isinstance(made, fx.Node) and hasattr(made.target, "_schema") else node


def _sizes_given(call: fx.Node, rank: int, dim: int) -> Iterator[int]:
    """The numbers of a call that may be the size of dimension `dim` of its result."""
    if not any(_shape(argument) for argument in call.all_input_nodes):  # arange, full: no tensor has the size
        yield from _numbers(call.args)
        return
    schema = getattr(call.target, "_schema", None)
    parameters = schema.arguments if schema is not None else []
    given = {p.name: call.args[i] if i < len(call.args) else p.default_value for i, p in enumerate(parameters)}
    given.update(call.kwargs)
    along = given.get("dim")
    for name, argument in given.items():
        if name in _SIZES:
            each = [*argument] if isinstance(argument, (tuple, list)) else []
            yield from _numbers(each[dim] if len(each) == rank else argument)
        elif name in _LENGTHS and isinstance(along, int) and along % rank == dim:
            yield from _numbers(argument)


def _numbers(arguments: Any) -> Iterator[int]:
    if isinstance(arguments, (tuple, list)):
        for part in arguments:
            yield from _numbers(part)
    elif type(arguments) is int:
        yield arguments


def _text(value: Any) -> str:
    return value if isinstance(value, str) else getattr(value, "__qualname__", str(value))


__all__ = ["Nodes", "describe", "frames_of", "innermost"]
