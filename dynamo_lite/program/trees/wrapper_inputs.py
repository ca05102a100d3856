"""Inputs that wrap other tensors: the properties that a call must agree on beyond shape and dtype."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram

from dynamo_lite.capture.fakes.wrapper_subclasses import is_wrapper, parts
from dynamo_lite.torch_internals._torch_pytree import pytree
from dynamo_lite.value_types import WRITABLE


def difference(given: torch.Tensor, expected: torch.Tensor) -> str | None:
    """Why the program cannot take `given`, after "a tensor"; None if it fits `expected`, an input's fake tensor.

    Compares the class, its context (the second value of `__tensor_flatten__`), and the inner tensors. A program for
    plain tensors is recorded operators, which take wrappers as well: only the opposite case is checked.
    """
    if not is_wrapper(expected):
        return None
    if type(given) is not type(expected):
        return f"of class {type(expected).__qualname__}, not {type(given).__qualname__}"
    inside, wanted = parts(given), parts(expected)
    if inside.tensors.keys() != wanted.tensors.keys():
        return f"around {', '.join(wanted.tensors)}, not {', '.join(inside.tensors)}"
    if not _same(inside.others, wanted.others):
        return f"with {wanted.others!r}, not {inside.others!r}"
    if not _same(inside.context, wanted.context):
        return f"that keeps {wanted.context!r} beside its tensors, not {inside.context!r}"
    for name, inner in wanted.tensors.items():
        text = _inner_difference(inside.tensors[name], inner, given, expected)
        if text is not None:
            return f"whose {name} is a tensor {text}"
    return None


def _inner_difference(given: Any, expected: Any, outer: Any, expected_outer: Any) -> str | None:
    if given.dtype != expected.dtype:
        return f"of dtype {expected.dtype}, not {given.dtype}"
    sizes = [_at_run_time(size, outer, expected_outer) for size in expected.shape]
    if list(given.shape) != sizes:
        return f"of shape {sizes}, not {list(given.shape)}"
    return difference(given, expected)


def _at_run_time(size: Any, outer: torch.Tensor, expected_outer: torch.Tensor) -> Any:
    """The size that a tensor inside has in this call: a symbolic one is a size of the wrapper's."""
    if not isinstance(size, torch.SymInt):
        return size
    dims = zip(outer.shape, expected_outer.shape)
    return next(int(n) for n, symbol in dims if isinstance(symbol, torch.SymInt) and symbol.node.expr == size.node.expr)


def _same(given: Any, expected: Any) -> bool:
    try:
        return bool(given == expected)
    except Exception:  # a class without a usable ==
        return given is expected


def class_guards(name: str, leaf: Any) -> Iterator[str]:
    """The same as Python over `L['name']`, as far as it can be written: checked after `torch.export.load`."""
    if not is_wrapper(leaf):
        return
    yield f"type({name}).__qualname__ == {type(leaf).__qualname__!r}"
    tensors, _, context = parts(leaf)
    if _is_writable(context):
        yield f"{name}.__tensor_flatten__()[1] == {context!r}"
    for attribute, inner in tensors.items():
        yield f"{name}.{attribute}.dtype == {inner.dtype}"
        if inner.shape == leaf.shape:
            yield f"{name}.{attribute}.size() == {name}.size()"
        else:
            yield f"tuple({name}.{attribute}.size()) == {tuple(inner.shape)!r}"


def admit(values: Iterable[Any]) -> None:
    """Names the wrappers' classes to `torch.load(weights_only=True)`: a saved program holds its example inputs."""
    torch.serialization.add_safe_globals([type(value) for value in values if is_wrapper(value)])


def _is_writable(value: Any) -> bool:
    if type(value) in (tuple, list):
        return all(map(_is_writable, value))
    if type(value) is dict:
        return all(type(key) is str and _is_writable(part) for key, part in value.items())
    return type(value) in WRITABLE and not (isinstance(value, float) and value != value)


def undecomposable(program: ExportedProgram) -> str | None:
    """The name of an input, a constant or an output that wraps tensors; None if there is none (torch takes parameters
    apart)."""
    signature = program.graph_signature
    state = {*signature.inputs_to_parameters, *signature.inputs_to_buffers}
    others = [node for node in program.graph.nodes if node.op == "placeholder" and node.name not in state]
    (end,) = program.graph.find_nodes(op="output")
    found = next((node.name for node in others if is_wrapper(node.meta.get("val"))), None)
    if found is not None:
        return found
    results = [result for result in pytree.tree_leaves(end.args) if isinstance(result, fx.Node)]
    return next((f"the output {node.name}" for node in results if is_wrapper(node.meta.get("val"))), None)
