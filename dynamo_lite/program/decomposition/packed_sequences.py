"""Operators on packed sequences, which stay operators in a decomposed program.

torch's decompositions of recurrent layers make a step for each of the batch sizes, which they read: data, that no trace
has. The program keeps `aten.lstm.data` and its kin, whose kernels read them, and which autograd differentiates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.export import ExportedProgram

from dynamo_lite.capture.fakes import packed_sequences
from dynamo_lite.program.shapes.torch_symbols import all_graphs


def has_packed(program: ExportedProgram) -> bool:
    """Whether a graph of the program has one of the operators."""
    graphs = all_graphs(program.graph, dict(program.graph_module.named_children()))
    return any(packed_sequences.among(graph) is not None for graph in graphs)


def without_packed(table: Mapping[Any, Callable[..., Any]] | None) -> Mapping[Any, Callable[..., Any]]:
    """A table of decompositions (None: torch's default), without those that would read the batch sizes."""
    kept: Any = torch.export.default_decompositions() if table is None else table.copy()  # type: ignore[attr-defined]
    for op in (*packed_sequences.RECURRENT, packed_sequences.PAD):
        if op in kept:
            kept.pop(op)
    return kept
