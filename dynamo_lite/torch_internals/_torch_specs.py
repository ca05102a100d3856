"""The private parts of torch's ShapesSpec and its relatives (torch.fx.experimental.dynamic_spec).

Checked with torch 2.14.1 and 2.15.0; torch 2.13 has none. The module is looked up, not imported: a program that uses
it has imported it.
"""

from __future__ import annotations

import sys
from typing import Any

from dynamo_lite.symbolic_shapes.torch_versions import Symbol

ATTACHED = "_dynamic_spec"
"""The attribute that `@dynamic_spec(...)` sets on a function."""


def dynamic_spec() -> Any:
    """The module, if it is loaded; else None."""
    return sys.modules.get("torch.fx.experimental.dynamic_spec")


def named_arguments(params: Any) -> dict[str, Any]:
    """The entries of a ParamsSpec by parameter name, "*args" and "**kwargs" included."""
    found = dict(params._named_args)
    if params._varargs is not None:
        found["*args"] = list(params._varargs)
    if params._varkw is not None:
        found["**kwargs"] = dict(params._varkw)
    return found


def params_of(spec: Any) -> Any:
    """The ParamsSpec of a ShapesSpec, or None."""
    return spec._params


def items_of(spec: Any) -> Any:
    """The entries of a TensorSpec or SeqSpec (a list), of a DictSpec or ObjectSpec (a dict)."""
    for name in ("_specs", "_entries", "_fields"):
        if name in vars(spec):
            return vars(spec)[name]
    raise TypeError(f"{type(spec).__name__} has no entries")


def expression(size: Any) -> Any:
    """The sympy expression of a SymInt or SymBool made of variables. (`node.expr` is refused by their environment.)"""
    return size.node._expr


DISABLES = "dynamic_shapes=ShapesSpec(...) and @dynamic_spec"
"""The features that fail if one of these is missing."""

SYMBOLS = (
    Symbol(
        "torch.fx.experimental.dynamic_spec:ShapesSpec._params",
        "the part of a ShapesSpec about the arguments",
        since=(2, 14),
        instead="there is no ShapesSpec: nothing to read",
    ),
    Symbol("torch.fx.experimental.dynamic_spec:ParamsSpec._named_args", "the arguments by name", since=(2, 14)),
    Symbol("torch.fx.experimental.dynamic_spec:ParamsSpec._varargs", "the specification of *args", since=(2, 14)),
    Symbol("torch.fx.experimental.dynamic_spec:ParamsSpec._varkw", "the specification of **kwargs", since=(2, 14)),
    Symbol("torch.fx.experimental.dynamic_spec:TensorSpec._specs", "the sizes of a tensor", since=(2, 14)),
    Symbol("torch.fx.experimental.dynamic_spec:SeqSpec._entries", "the items of a list", since=(2, 14)),
    Symbol("torch.fx.experimental.dynamic_spec:DictSpec._entries", "the items of a dict", since=(2, 14)),
    Symbol("torch.fx.experimental.dynamic_spec:ObjectSpec._fields", "the attributes of an object", since=(2, 14)),
    Symbol("torch.fx.experimental.dynamic_spec#_dynamic_spec", "the attribute that @dynamic_spec sets", since=(2, 14)),
    Symbol("torch.fx.experimental.sym_node:SymNode._expr", "the expression of a derived size"),
)

__all__ = ["ATTACHED", "dynamic_spec", "expression", "items_of", "named_arguments", "params_of"]
