"""Names of placeholders, as torch.export gives them (placeholder_naming_pass in torch/_export/utils.py)."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable, Sequence

from torch import nn
from torch.fx import GraphModule, Node

# Names used by the code that fx generates (torch/fx/graph.py, _register_custom_builtin, and `_format_target` for a
# module called "0"): an argument of that name would hide it. Other builtins may be hidden, as torch.export does
# ("input", "max").
_BY_FX = frozenset({"self", "torch", "device", "inf", "nan", "NoneType", "fx_pytree", "pytree", "getattr"})
RESERVED = _BY_FX | frozenset(keyword.kwlist)

_NUMBERED = re.compile(r"(.+?)(?:_\d+)+")
_NOT_IDENTIFIER = re.compile(r"[^a-zA-Z0-9]")


# Names that `ExportedProgram.module()` uses itself: the attributes of torch's GraphModule, and those set by
# torch/export/_unlift.py. A parameter, buffer or submodule of the root would collide with them.
_OF_GRAPH_MODULE = frozenset(dir(GraphModule)) - frozenset(dir(nn.Module)) | {
    *("meta", "range_constraints", "validate_inputs", "_codegen", "_graph", "_in_spec", "_out_spec", "_guards_fn"),
    *("_code", "_lineno_map", "_prologue_start", "_wrapped_call", "_origin", "shape_env", "_tracer_cls"),
    *("_tracer_extras", "_replace_hooks", "_create_node_hooks", "_erase_node_hooks", "_deepcopy_hooks"),
}
# Names in all generated code; others depend on the graph (program/build.py looks).
HIDDEN = "the code that torch generates uses that name itself, and would find the argument"
_OF_GENERATED_CODE = frozenset({"self", "torch", "pytree", "fx_pytree"})


def unusable_keyword(name: str) -> str | None:
    """Why torch's generated code cannot have a keyword argument of this name, or None.

    A keyword argument keeps its name as a parameter of that code, since callers write it.
    """
    if not name.isidentifier() or keyword.iskeyword(name):
        return "it is not a Python identifier, and the code that torch generates has a parameter of that name"
    return HIDDEN if name in _OF_GENERATED_CODE else None


def unusable_fqn(fqn: str) -> str | None:
    """Why `ExportedProgram.module()` cannot hold a parameter or buffer under this name, or None."""
    first, *rest = parts = fqn.split(".")
    for part in parts:
        if keyword.iskeyword(part):
            return f"torch's generated code reads it as an attribute, and {part!r} is a keyword of Python"
        if '"' in part or "\\" in part or "\n" in part:
            return f"torch's generated code puts the name {part!r} between quotes as it is"
    if first in _OF_GRAPH_MODULE or (first == "self" and not rest):
        return f"the module that ExportedProgram.module() makes uses the name {first!r} itself"
    return None


def sanitize(text: str) -> str:
    """Every character that is not an ASCII letter or digit becomes an underscore."""
    return _NOT_IDENTIFIER.sub("_", text)


def is_reserved(name: str) -> bool:
    """Whether the placeholder of an argument called `name` would have a name that generated code cannot have."""
    return sanitize(name).lower() in RESERVED


def rename_placeholder(node: Node, name: str) -> None:
    """Renames a new placeholder to `name`, which no other node has: later nodes get other names.

    fx keeps no record of a name that is only assigned (torch/fx/graph.py, _Namespace).
    """
    if node.name == node.target == name:  # fx has taken it as it is
        return
    node.name = node.target = name
    node.graph._graph_namespace._used_names.add(name)


def unique(name: str, used: set[str]) -> str:
    """`name`, or `name_1`, `name_2`, ... if it is taken. The result is added to `used`."""
    candidate, number = name, 0
    while candidate in used:
        number += 1
        candidate = f"{name}_{number}"
    used.add(candidate)
    return candidate


def lifted_names(prefixed: Iterable[tuple[str, str]], used: set[str]) -> list[str]:
    """Names for (prefix, FQN) pairs: ("p_", "layers.0.weight") is p_layers_0_weight. Adds them to `used`.

    A leading "self_" goes, as in torch.export: self_attn.weight is p_attn_weight.
    """
    return [unique(prefix + sanitize(fqn.removeprefix("self_")).lower(), used) for prefix, fqn in prefixed]


def input_names(paths: Iterable[Sequence[str]]) -> list[str]:
    """Names for the flat inputs from their paths: ("cache", "0", "key") is cache_0_key. All distinct, none reserved.

    fx writes `sum_1 = sum` for an input called as a builtin, and would lose an input `sum_1`: beside one, `sum` is
    reserved.
    """
    wanted = ["_".join(sanitize(part).lower() for part in path) for path in paths]
    numbered = {match[1] for name in wanted if (match := _NUMBERED.fullmatch(name))}
    used = {*RESERVED, *(name for name in numbered if hasattr(builtins, name))}
    return [unique(name, used) for name in wanted]
