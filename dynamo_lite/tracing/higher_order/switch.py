"""torch.switch (torch 2.14 and later): each of its functions becomes a sub-graph."""

from __future__ import annotations

import functools
from typing import Any

import torch

from dynamo_lite.tracing.higher_order import branches
from dynamo_lite.tracing.interfaces import TracerView


def call_switch(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """SwitchOp.__call__(op, index, branches, operands), which torch.switch comes down to during a trace.

    torch.switch has clamped the index and flattened the operands. An index that is a constant takes its branch, as in
    eager.
    """
    op, index, functions, operands = _arguments(*args, **kwargs)
    if isinstance(index, int):
        tracer.note("the index of a torch.switch is a Python constant: only the branch that it picks is captured")
        return tracer.vm.call(functions[index], tuple(operands), {})
    numbers = range(len(functions))
    choice = branches.SwitchCall(
        op,
        "torch.switch",
        index,
        tuple(functions),
        tuple(f"from branch {number}" for number in numbers),
        tuple(f"branch{number}_graph_" for number in numbers),
        lambda modules, operands: (index, modules, operands),
        _select,
    )
    return branches.record(tracer, choice, operands)


def _arguments(op: Any, index: Any, branches: Any, operands: Any = ()) -> tuple[Any, ...]:
    return op, index, branches, operands


def _select(index: torch.Tensor, results: list[torch.Tensor]) -> torch.Tensor:
    numbered = list(enumerate(results))
    return functools.reduce(lambda out, row: torch.where(index == row[0], row[1], out), numbered[:-1], results[-1])
