"""Loops (scan) in the module of a program: the iterations are run one after the other, as any other code.

torch's scan has a derivative of its own (ScanAutogradImpl in torch/_higher_order_ops/scan.py, torch 2.13.0). It takes
what the loop carries for constants, so that second derivatives are other numbers than eager's, and torch.func's
transforms have no rule for it. Where nothing traces the call, the iterations are the operators that eager runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

from dynamo_lite.program.modules.sub_graphs import copy_children
from dynamo_lite.program.modules.taken_sides import is_traced


def iterations_one_by_one(
    combine: Callable[..., Any], init: Sequence[Any], xs: Sequence[Any], additional_inputs: Sequence[Any]
) -> tuple[Any, ...]:
    """As torch's operator: the last values that are carried, and for each other result of `combine` those of all
    iterations in one tensor. `xs` have a row for each iteration; without one the operator answers."""
    if torch.compiler.is_compiling() or is_traced() or not xs or not xs[0].shape[0]:
        found: tuple[Any, ...] = torch.ops.higher_order.scan(combine, init, xs, additional_inputs)
        return found
    carried: Sequence[Any] = init
    results: list[Sequence[Any]] = []
    for number in range(xs[0].shape[0]):
        found = tuple(combine(*carried, *(rows[number] for rows in xs), *additional_inputs))
        carried, rest = found[: len(init)], found[len(init) :]
        results.append(rest)
    return *carried, *(_stacked(rows) for rows in zip(*results))


def _stacked(rows: Sequence[Any]) -> torch.Tensor | None:
    return torch.stack(tuple(rows)) if isinstance(rows[0], torch.Tensor) else None


def run_iterations(module: fx.GraphModule) -> None:
    """Replace torch's operator by `iterations_one_by_one` in `module` and in its sub-graphs."""
    parts = [name for name, part in module.named_modules() if isinstance(part, fx.GraphModule) and _found(part)]
    copy_children(module, filter(None, parts))
    for name in parts:
        part: Any = module.get_submodule(name)
        for node in _found(part):
            node.target = iterations_one_by_one
        part.recompile()


def _found(part: fx.GraphModule) -> list[fx.Node]:
    return [node for node in part.graph.nodes if node.target is torch.ops.higher_order.scan]
