"""Are two recordings the same program? Compared by operators, the structure of their arguments, and constants."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import torch
from torch import fx

from dynamo_lite.capture.carried import is_pure, order_matters
from dynamo_lite.capture.lifting import Lifted, LiftedKind
from dynamo_lite.capture.recorder import Recorder


def fingerprint(recorder: Recorder, outputs: Sequence[Any]) -> Any:
    """A value that is equal for two recordings of the same program, and differs otherwise.

    outputs: what the run returned, flat, as nodes and constants. Names and metadata do not count; a lifted constant
    counts by its value. Where nothing is changed in place, the place of a pure operator does not count either, nor
    whether one is computed twice or for nothing: equal expressions have equal digests.
    """
    lifted = {entry.node: entry for entry in recorder.lifted}
    ordered = order_matters(recorder.graph)
    digests: dict[fx.Node, str] = {}
    sequence: list[str] = []  # the operators whose place counts
    inputs = 0
    for node in recorder.graph.nodes:
        if node.op == "placeholder":
            entry = lifted.get(node)
            row: Any = ("input", inputs) if entry is None else (entry.kind.value, _identity(entry))
            inputs += entry is None
        else:
            row = (node.op, str(node.target), _shape(node.args, digests), _shape(node.kwargs, digests))
            if node.op == "get_attr":
                row = (node.op, _subgraph(recorder.modules[str(node.target)]))
            if ordered or not is_pure(node):
                row = (row, len(sequence))
        digests[node] = hashlib.sha256(repr(row).encode()).hexdigest()
        if isinstance(row[-1], int) and node.op != "placeholder":
            sequence.append(digests[node])
    return sequence, [_shape(value, digests) for value in outputs]


def _subgraph(module: fx.GraphModule) -> str:
    """The digest of a sub-graph: its operators in order, by their arguments."""
    numbers: dict[fx.Node, str] = {}
    rows: list[Any] = []
    for number, node in enumerate(module.graph.nodes):
        numbers[node] = str(number)
        what = _subgraph(getattr(module, str(node.target))) if node.op == "get_attr" else str(node.target)
        named = node.op in ("placeholder", "output")
        rows.append((node.op, None if named else what, _shape(node.args, numbers), _shape(node.kwargs, numbers)))
    return hashlib.sha256(repr(rows).encode()).hexdigest()


def _shape(value: Any, digests: dict[fx.Node, str]) -> Any:
    if isinstance(value, fx.Node):
        return ("node", digests[value])
    if isinstance(value, (list, tuple)):
        return ("sequence", *(_shape(v, digests) for v in value))
    if isinstance(value, dict):
        return tuple((key, _shape(v, digests)) for key, v in value.items())
    return (type(value).__qualname__, repr(value))


def _identity(entry: Lifted) -> Any:
    if entry.kind is not LiftedKind.CONSTANT:
        return entry.fqn
    tensor = entry.tensor
    if tensor.device.type == "meta" or isinstance(tensor, torch._subclasses.FakeTensor):
        return id(tensor)
    content = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    return (str(tensor.dtype), tuple(tensor.shape), hashlib.sha256(content).hexdigest())
