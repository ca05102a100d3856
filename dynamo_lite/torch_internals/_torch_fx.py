"""The private torch API for symbolic tracing by torch.fx, and for its nodes.

Checked with torch 2.13.0, 2.14.1 and 2.15.0.
"""

from __future__ import annotations

import functools
import itertools
import operator
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import BuiltinFunctionType
from typing import Any

import torch
from torch._ops import HigherOrderOperator, OpOverload
from torch.fx._symbolic_trace import is_fx_symbolic_tracing as is_fx_symbolic_tracing
from torch.fx.graph import PythonCode
from torch.fx.traceback import get_current_meta

from dynamo_lite.symbolic_shapes.torch_versions import Symbol

DISABLES = "the import of the tracer"
"""The features that fail if one of these is missing."""

SYMBOLS = (
    Symbol("torch.fx._symbolic_trace:is_fx_symbolic_tracing", "a question of the program that eager answers"),
    Symbol("torch._ops:HigherOrderOperator", "operators with sub-graphs, as generated code names them"),
    Symbol("torch._ops:OpOverload", "operators, as generated code names them"),
    Symbol("torch.fx.graph:PythonCode", "the arguments of a graph module without code of its own"),
    Symbol("torch.fx.graph_module#_code", "the generated code of a graph module"),
    Symbol("torch.fx.graph_module#_lineno_map", "which line of the generated code is which node"),
    Symbol("torch.fx.graph_module#_prologue_start", "where the generated code begins"),
    Symbol("torch.fx.graph#_len", "how many nodes a graph has"),
    Symbol("torch.fx.traceback:get_current_meta", "the user's entries of nodes, of torch.fx.traceback.annotate"),
    Symbol("torch.fx.node#_args", "a node's arguments"),
    Symbol("torch.fx.node#_kwargs", "a node's keyword arguments"),
    Symbol("torch.fx.node#_update_args_kwargs", "a node's arguments, as its constructor sets them"),
)

__all__ = [
    "GENERATED_FILE",
    "annotated_entries",
    "call_function",
    "code_on_demand",
    "is_fx_symbolic_tracing",
    "node_at",
    "row_of",
]

_SETS_ARGUMENTS = hasattr(torch.fx.Node, "_update_args_kwargs") and torch.__version__.startswith("2.13.")


def call_function(
    graph: torch.fx.Graph, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], name: str
) -> torch.fx.Node:
    """graph.create_node("call_function", ...) for arguments that hold no SymInt, SymFloat or SymBool.

    create_node goes through all arguments to warn of such; a node that is made without arguments is given them here as
    its constructor does it.
    """
    if not _SETS_ARGUMENTS:
        return graph.create_node("call_function", function, args, kwargs, name=name)
    node = graph.create_node("call_function", function, (), {}, name=name)
    node._update_args_kwargs(args, kwargs)
    return node


def annotated_entries() -> dict[str, Any]:
    """The entries of `node.meta["custom"]` that the blocks `with torch.fx.traceback.annotate(...)` around give, without
    those of torch.compiler.disable, which is such a block around its function."""
    custom = get_current_meta().get("custom")
    if not isinstance(custom, dict):
        return {}
    return {key: value for key, value in custom.items() if not str(key).startswith("_torchdynamo_disable")}


GENERATED_FILE = "<eval_with_key>"
"""How the name of the file of a graph module's generated code begins."""


def node_at(module: torch.fx.GraphModule, line: int) -> torch.fx.Node | None:
    """The node computed in line `line` of the module's code, whose line 1 is `def forward`. None if no node is computed
    there, or if the graph has changed since its code was generated."""
    index = (getattr(module, "_lineno_map", None) or {}).get(line - 1)  # its lines count from 0
    if index is None:
        return None
    node = next(itertools.islice(module.graph.nodes, index, None), None)
    at = module._prologue_start + line - 2
    assigned = "".join(module._code.split("\n")[at : at + 1]).split("=")[0].split(":")[0]
    return node if node is not None and assigned.strip() == node.name else None


@contextmanager
def code_on_demand(graph: torch.fx.Graph) -> Iterator[Callable[[torch.fx.GraphModule], None]]:
    """Within, a graph module made of `graph` gets no code; the function yielded has it generate its own code later.

    The code is generated at the first access to `forward` or `code`: most consumers of an exported program make a
    module of their own of its graph. If code generation might reject part of the graph (torch warns then), the code is
    generated at once.
    """
    if not _DEFERS or not all(map(_has_plain_code, graph.nodes)):
        yield _has_code
        return
    graph.python_code = _no_code  # type: ignore[method-assign]
    try:
        yield _generate_later
    finally:
        del graph.python_code


_DEFERS = torch.__version__.startswith("2.13.")
_GENERATED = ("_code", "_lineno_map", "_prologue_start")
"""The attributes that GraphModule.recompile sets on the module, besides `forward` on its class."""


_PICKLING = tuple(name for name in ("__reduce__", "__reduce_package__") if name in vars(torch.fx.GraphModule))
"""Methods that hand the module's attributes over."""


def _with_code(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def called(self: torch.fx.GraphModule, *args: Any) -> Any:
        _ = self.code
        return method(self, *args)

    return called


def _no_code(*args: Any, **kwargs: Any) -> PythonCode:
    return PythonCode("def forward(self):\n    pass\n", {}, None)


def _has_code(module: torch.fx.GraphModule) -> None:
    pass


def _generate_later(module: torch.fx.GraphModule) -> None:
    cls = type(module)  # torch makes one for each graph module
    for name in _GENERATED:
        del module.__dict__[name]
        setattr(cls, name, _Generated(module, name))
    cls.forward = _Generated(module, "forward")  # type: ignore[assignment]
    for name in _PICKLING:
        setattr(cls, name, _with_code(getattr(torch.fx.GraphModule, name)))


class _Generated:
    """An attribute of a graph module that generating its code sets."""

    def __init__(self, module: torch.fx.GraphModule, name: str) -> None:
        self.module, self.name = weakref.ref(module), name

    def __get__(self, instance: Any, cls: type) -> Any:
        module = self.module()
        if module is None:
            raise AttributeError(self.name)
        if type(module).__dict__["forward"].__class__ is _Generated:
            module.recompile()
        if self.name in module.__dict__:
            return module.__dict__[self.name]
        return type(module).__dict__[self.name].__get__(instance, cls)


def _has_plain_code(node: torch.fx.Node) -> bool:
    if node.op == "call_function":
        target = node.target
        if not isinstance(target, (OpOverload, HigherOrderOperator)) and type(target) is not BuiltinFunctionType:
            return False
    elif node.op not in ("placeholder", "output", "get_attr"):
        return False
    args, kwargs = node._args, node._kwargs  # node.args is a call of Python
    return _are_plain(args) and (not kwargs or _are_plain(kwargs.values()))


row_of: Callable[[torch.fx.Node], tuple[Any, ...]] = operator.attrgetter("op", "name", "target", "_args", "_kwargs")
"""(kind, name, target, arguments, keyword arguments) of a node."""


def _are_plain(values: Any) -> bool:
    for value in values:
        kind = type(value)
        if kind not in _PLAIN and not (kind in _SEQUENCES and _are_plain(value)):
            return False
    return True


_SEQUENCES = frozenset({list, tuple, torch.fx.immutable_collections.immutable_list})
_PLAIN = frozenset(
    {
        torch.fx.Node, bool, int, float, complex, str, type(None), torch.dtype, torch.device, torch.layout,
        torch.memory_format,
    }
)  # fmt: skip
