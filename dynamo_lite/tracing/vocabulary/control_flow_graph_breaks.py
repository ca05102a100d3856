"""Graph breaks of branches, loops and operators that take functions: rows of the table in graph_breaks.py."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from dynamo_lite import errors


class GraphBreakRow(NamedTuple):
    error: type[errors.GraphBreak]
    what: str
    instead: str
    instead_by_name: Mapping[str, str] = MappingProxyType({})
    """The text of `instead` for particular values of the template's `name`."""


OF_CONTROL_FLOW: dict[str, GraphBreakRow] = {
    "control-flow-in-transform": GraphBreakRow(
        errors.UnsupportedCall,
        "{operator} is called in torch.vmap, torch.func.grad or another transform: no sub-graph can take its tensors.",
        "apply the transform inside of the branch or step, or choose between values with torch.where.",
    ),
    "control-flow-gradient": GraphBreakRow(
        errors.UnsupportedCall,
        "A gradient goes through a loop on data, a branch that cannot be run on to the end of the step (in a loop, too "
        "many ways), or another operator with a function of its own (torch.cond, map, scan, flex_attention): "
        "which operators it has is known at run time only.",
        "take the gradient inside of each branch (torch.func.grad of it), or outside, of what the program returns.",
    ),
    "branch-differs": GraphBreakRow(
        errors.DataDependent,
        "The sides of a branch on data leave {what}: {why}.",
        "give it the same kind of value on both sides, or pick between tensors with torch.where.",
    ),
    "branch-unsupported": GraphBreakRow(
        errors.DataDependent,
        "A branch on data cannot be captured: {why}.",
        "compute both sides and pick with torch.where, or use torch.cond.",
    ),
    "branch-gradient": GraphBreakRow(
        errors.DataDependent,
        "A branch on data draws random numbers ({operator}) for what requires grad: torch.cond runs a side again for "
        "its gradient, and would draw other ones. (What goes by a contiguous tensor's shape alone is drawn before.)",
        "draw in front of the branch (a mask that the branch uses), or export in eval mode, or under torch.no_grad().",
    ),
    "loop-gradient": GraphBreakRow(
        errors.DataDependent,
        "A loop on data computes with a tensor that requires grad; {why}.",
        "carry floating-point tensors in the place of numbers, or export under torch.no_grad(), if no gradient is to "
        "flow through the program.",
    ),
    "subgraph-effect": GraphBreakRow(
        errors.UnsupportedEffect,
        "A function given to {operator} changes {what}; whether and how often it runs is known at run time only.",
        "return the new value from the function, and change the object after the call.",
    ),
    "subgraph-mutates": GraphBreakRow(
        errors.UnsupportedEffect,
        "{operator}, in a function given to a control-flow operator, changes a tensor made outside of it in place.",
        "clone() the tensor first, or return the new value and copy_() it outside.",
    ),
    "subgraph-alias": GraphBreakRow(
        errors.UnsupportedCall,
        "A function given to {operator} returns {what}; the results of a sub-graph have memory of their own.",
        "return a clone().",
    ),
    "subgraph-output": GraphBreakRow(
        errors.UnsupportedCall,
        "A function given to {operator} returns {what}; a sub-graph returns tensors, integers and containers of them.",
        "return its parts, and build the object from the result outside.",
    ),
    "subgraph-raises": GraphBreakRow(
        errors.UnsupportedCall,
        "A function given to {operator} raises {error}; whether it runs is known at run time only.",
        "check what can be checked before the call, and let the function return a value for every input.",
    ),
    "cond-mismatch": GraphBreakRow(
        errors.UnsupportedCall,
        "The branches of {operator} return different things ({what}): {left} {first}, {right} {second}.",
        "return the same structure with the same kinds, dtypes and devices from all branches; sizes may differ.",
    ),
    "loop-mismatch": GraphBreakRow(
        errors.UnsupportedCall,
        "The function given to {operator} returns {what}.",
        "return the structure, dtypes and sizes that the next step takes.",
    ),
    "higher-order-rejected": GraphBreakRow(
        errors.UnsupportedCall,
        "The operator {function} does not take this: {reason}",
        "see torch's documentation of the operator for what its functions may take and return.",
    ),
    "higher-order-operator": GraphBreakRow(
        errors.UnsupportedCall,
        "The higher-order operator {function} is not captured yet.",
        "write out what it does: torch.where for a choice, a Python loop for a known number of steps, torch.func.jvp.",
    ),
}
