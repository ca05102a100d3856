"""Results whose gradient would be another one than eager's: a program that has the forward of an autograd.Function, and
not its backward.

So it is where `run_decompositions()` has inlined the call (torch's own passes keep no backward), and where a program
was exported under `torch.no_grad()`. It computes what eager computes; a gradient that flows through there raises.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx, nn
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind

from dynamo_lite.errors import LostGradient
from dynamo_lite.program._torch import never_compiled
from dynamo_lite.torch_internals._torch_autograd import autograd_function_apply
from dynamo_lite.torch_internals._torch_pytree import pytree


@dataclass(frozen=True)
class LostGradients:
    """Which results these are, by their number among the tensors of the result; and why."""

    results: tuple[int, ...]
    why: str

    @never_compiled
    def hook(self, module: Any, args: Any, result: Any) -> None:
        """A forward hook of the program's module."""
        if torch.compiler.is_compiling() or not torch.is_grad_enabled():
            return
        tensors = [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]
        for number in self.results:
            if tensors[number].requires_grad:
                tensors[number].register_hook(self.refuse)

    def refuse(self, gradient: torch.Tensor) -> None:
        """A hook of a tensor."""
        raise LostGradient(self.why)


def refuse_lost(module: nn.Module, program: Any) -> None:
    """Makes the module of a program refuse the gradients that the program has not."""
    lost = getattr(program, "lost_gradients", None)
    if lost is not None:
        module.register_forward_hook(lost.hook)


def flows_from(starts: Iterable[fx.Node], results: Iterable[Any]) -> tuple[int, ...]:
    """The numbers of those among `results` that a gradient flows from to one of the nodes `starts`."""
    reached: set[fx.Node] = set()
    todo = [*starts]
    while todo:
        node = todo.pop()
        if node in reached or node.target in _STOPS or not _may_have_gradient(node.meta.get("val")):
            continue
        reached.add(node)
        todo += node.users
    return tuple(number for number, node in enumerate(results) if isinstance(node, fx.Node) and node in reached)


_STOPS = frozenset({torch.ops.aten.detach.default})


def _may_have_gradient(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return value.is_floating_point() or value.is_complex()
    return isinstance(value, (tuple, list))


def of_decomposed(program: ExportedProgram) -> LostGradients | None:
    """The gradients that a program loses when it is decomposed."""
    graph, modules = program.graph, dict(program.graph_module.named_children())
    starts = [node for node in graph.nodes if _has_function(node, modules)]
    if not starts:
        return getattr(program, "lost_gradients", None)
    values = next(node for node in graph.nodes if node.op == "output").args[0]
    kinds = [spec.kind for spec in program.graph_signature.output_specs]
    results = [value for value, kind in zip(values, kinds) if kind is OutputKind.USER_OUTPUT]
    tensors = [value for value in results if isinstance(value, fx.Node) and _is_tensor(value)]
    return LostGradients(flows_from(starts, tensors), _DECOMPOSED)


_DECOMPOSED = (
    "run_decompositions() has left out the backward of an autograd.Function, as torch's passes do: this gradient would "
    "be that of the operators of its forward. Train the program before it is decomposed"
)


def _is_tensor(node: fx.Node) -> bool:
    return isinstance(node.meta.get("val"), torch.Tensor)


def _has_function(node: fx.Node, modules: Mapping[str, Any]) -> bool:
    """Whether a node is the call of a Function, or has one in its sub-graphs."""
    if node.target is autograd_function_apply:
        return True
    inner = [modules.get(str(n.target)) for n in node.all_input_nodes if n.op == "get_attr"]
    return any(
        _has_function(inside, dict(module.named_children()))
        for module in inner
        if isinstance(module, fx.GraphModule)
        for inside in module.graph.nodes
    )


def to_json(lost: LostGradients) -> Any:
    """For the program's file."""
    return [[*lost.results], lost.why]


def from_json(data: Any) -> LostGradients:
    """The inverse of `to_json`."""
    results, why = data
    return LostGradients(tuple(results), why)
