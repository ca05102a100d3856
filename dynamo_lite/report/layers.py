"""The nodes of a large program in folds: one for each layer, those that compute the same in one fold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

_LAYER = re.compile(r"^(?:.*?\.)??\d+(?=\.|$)")
"""The path of a module up to its first index: `model.layers.0` of `model.layers.0.mlp.act`."""
_FEW = 150
"""So many nodes are one list."""


@dataclass
class Layer:
    """Nodes that follow one another, of one layer.

    Attributes:
        title: the path of the layer; empty for nodes outside of any.
        nodes: their records (nodes.py).
        alike: the layers right after it whose nodes have the same operators and values.
    """

    title: str
    nodes: Sequence[dict[str, Any]]
    alike: list[Layer] = field(default_factory=list)


def layers(nodes: Sequence[dict[str, Any]]) -> list[Layer]:
    """The layers in the order of the program; one with all nodes where there are few."""
    if len(nodes) <= _FEW:
        return [Layer("", nodes)]
    found: list[Layer] = []
    for layer in _runs(nodes):
        if found and layer.title and found[-1].title and _computes(layer) == _computes(found[-1]):
            found[-1].alike.append(layer)
        else:
            found.append(layer)
    return found


def _runs(nodes: Sequence[dict[str, Any]]) -> Iterator[Layer]:
    for title, run in groupby(nodes, lambda node: _layer_of(node["module"])):
        yield Layer(title, [*run])


def _layer_of(module: str) -> str:
    found = _LAYER.match(module)
    return found[0] if found else ""


def _computes(layer: Layer) -> list[tuple[str, Any]]:
    return [(node["operator"], node["value"].get("shape")) for node in layer.nodes]
