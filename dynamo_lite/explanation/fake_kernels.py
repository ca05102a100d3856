"""Compares the fake kernels of a program's custom operators with the real ones.

A program is recorded with the results of the fake kernels. A wrong dtype, device or size makes the rest of the program
wrong, and the results of the example need not show it.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram

from dynamo_lite.torch_internals._torch_pytree import pytree

_TORCHS = frozenset({"aten", "prim", "prims", "profiler", "export", "higher_order", "_c10d_functional", "quantized"})
"""The namespaces of torch's own operators, whose kernels torch compares."""


def mismatches(program: ExportedProgram, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None) -> list[str]:
    """Describe the results of real kernels of custom operators on the example that differ from the fake ones'.

    Operators within a branch or a loop are not looked at, nor sizes that may vary. The state of the program and the
    arguments are as before afterwards.
    """
    if not any(_is_custom(node) for node in program.graph.nodes):
        return []
    leaves = pytree.tree_leaves(copy.deepcopy((args, dict(kwargs or {}))))
    comparison = _Comparison(copy.deepcopy(program.module()))
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            comparison.run(*leaves, enable_io_processing=False)
    except Exception as error:  # operators recorded for a fake kernel's sizes need not run on others
        comparison.differences.append(f"the program does not run on the example: {type(error).__name__}: {error}")
    return comparison.differences


def _is_custom(node: fx.Node) -> bool:
    return node.op == "call_function" and getattr(node.target, "namespace", "aten") not in _TORCHS


class _Comparison(fx.Interpreter):
    """Runs a program node by node. `found`: a line for each custom operator with other results than the fake kernel."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__(module, garbage_collect_values=True)
        self.differences: list[str] = []

    def run_node(self, n: fx.Node) -> Any:
        result = super().run_node(n)
        if _is_custom(n):
            said, given = pytree.tree_leaves(n.meta.get("val")), pytree.tree_leaves(result)
            for place, (fake, real) in enumerate(zip(said, given)):
                where = f"{n.target}" if len(given) == 1 else f"result {place} of {n.target}"
                self.differences += [f"{where}: {text}" for text in _differences(fake, real)]
        return result


def _differences(fake: Any, real: Any) -> list[str]:
    if not (isinstance(fake, torch.Tensor) and isinstance(real, torch.Tensor)):
        return []
    rows = [("dtype", fake.dtype, real.dtype), ("device", fake.device, real.device)]
    if len(fake.shape) != len(real.shape):
        rows.append(("shape", list(fake.shape), list(real.shape)))
    else:
        sizes = enumerate(zip(fake.shape, real.shape))
        rows += [(f"dimension {at}", said, given) for at, (said, given) in sizes if type(said) is int]
    unequal = [row for row in rows if row[1] != row[2]]
    return [f"the fake kernel returns {what} {said}, the real one gives {given}" for what, said, given in unequal]
