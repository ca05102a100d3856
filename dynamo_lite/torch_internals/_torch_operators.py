"""The private torch API for operators and higher-order operators.

Checked with torch 2.13.0, 2.14.1 and 2.15.0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from torch._higher_order_ops.flex_attention import create_fw_bw_graph as create_fw_bw_graph
from torch._ops import HigherOrderOperator as HigherOrderOperator
from torch._ops import OpOverload as OpOverload

from dynamo_lite.symbolic_shapes.torch_versions import Symbol
from dynamo_lite.undoing import attributes, changed

DISABLES = "every export and trace"
"""The features that fail if one of these is missing."""

SYMBOLS = (
    Symbol("torch._higher_order_ops.cond:_merge_output", "the result of torch.cond, from those of its two sides"),
    Symbol(
        "torch._higher_order_ops.flex_attention:create_fw_bw_graph",
        "flex_attention_backward: the joint graph of score_mod",
    ),
    Symbol("torch._decomp:meta_table", "decompositions of operators on packed sequences"),
    Symbol("torch._subclasses.fake_impls:op_implementations_dict", "decompositions of operators on packed sequences"),
    Symbol("torch._ops:HigherOrderOperator", "operators that take functions"),
    Symbol("torch._ops:OpOverload", "operators"),
)

__all__ = [
    "HigherOrderOperator",
    "OpOverload",
    "create_fw_bw_graph",
    "fake_rules",
    "merged_cond_output",
    "merging_cond_outputs",
]


def merged_cond_output(one: Any, other: Any, mode: Any) -> Any:
    """torch's rule for what torch.cond returns of two results of its sides, tensors or numbers."""
    module: Any = import_module("torch._higher_order_ops.cond")  # the package has a function of that name
    return module._merge_output(one, other, mode)


@contextmanager
def merging_cond_outputs(rule: Callable[..., Any]) -> Iterator[None]:
    """A context in which `rule(torch's rule, one, other, mode)` merges the results of torch.cond's branches."""
    module: Any = import_module("torch._higher_order_ops.cond")  # the package has a function of that name
    torchs = module._merge_output

    def merge(one: Any, other: Any, mode: Any) -> Any:
        return rule(torchs, one, other, mode)

    with changed(attributes(module, "_merge_output")):
        module._merge_output = merge
        yield


@contextmanager
def fake_rules(rules: Mapping[OpOverload, Callable[..., Any]]) -> Iterator[None]:
    """A context in which FakeTensorMode answers operators by `rule(mode, operator, *arguments)`, and not by their
    decompositions."""
    implementations: Any = import_module("torch._subclasses.fake_impls").op_implementations_dict
    metas: Any = import_module("torch._decomp").meta_table  # of an operator in there, no decomposition is tried
    before = [(table, {op: table[op] for op in rules if op in table}) for table in (implementations, metas)]

    def undo() -> None:
        for table, had in before:
            for op in rules:
                table.pop(op, None)
            table.update(had)

    with changed(undo):
        implementations.update(rules)
        metas.update(rules)
        yield
