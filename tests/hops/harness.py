"""What every program of these tests must do: equal eager, in value and in gradient, as exported, lowered and loaded."""

from __future__ import annotations

import copy
import io
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import fx, nn
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from dynamo_lite import export
from tests.hops.plain import PLAIN

Call = tuple[Any, ...]


class Program(NamedTuple):
    """A program and the calls it is compared on; the first one is what it is exported with.

    lowers, saves: whether torch's own lowering and serializer are tried (slow, or not able to); gradients: whether they
    are compared; parity: whether the operators are those of torch.export's strict mode.
    """

    name: str
    make: Callable[[], nn.Module]
    calls: Sequence[Call]
    lowers: bool = True
    saves: bool = True
    gradients: bool = False
    parity: bool = False
    dynamic_shapes: Any = None


def exported(program: Program) -> tuple[nn.Module, ExportedProgram]:
    torch.manual_seed(0)
    module = program.make()
    return module, export(module, _fresh(program.calls[0]), dynamic_shapes=program.dynamic_shapes)


def check_equal(program: Program) -> ExportedProgram:
    """The program's module, lowered program and loaded program equal eager on each call. Returns the program."""
    module, ep = exported(program)
    ways = {"module": ep.module()}
    if program.lowers:
        ways["lowered"] = ep.run_decompositions().module()
    if program.saves:
        ways["loaded"] = _loaded(ep).module()
    for call in program.calls:
        for name, run in ways.items():
            # What torch's own lowering and loading keep of gradients is not for us to say.
            assert_same(module, run, call, gradients=program.gradients and name == "module")
    return ep


@contextmanager
def plain() -> Iterator[None]:
    """Control flow as torch's documentation defines it: eager's own compiles the functions first (seconds)."""
    modules = (
        torch,
        torch._higher_order_ops,
        *(m for name, m in sys.modules.items() if name.startswith("tests.hops.") and name.endswith("_programs")),
    )
    saved = [(m, name, vars(m)[name]) for m in modules for name in PLAIN if name in vars(m)]
    for module, name, _ in saved:
        setattr(module, name, PLAIN[name])
    try:
        yield
    finally:
        for module, name, original in saved:
            setattr(module, name, original)


def assert_same(module: Callable[..., Any], run: Callable[..., Any], call: Call, gradients: bool) -> None:
    with plain():
        expected = _result(module, call, gradients)
    given = _result(run, call, gradients)
    assert pytree.tree_structure(expected) == pytree.tree_structure(given)
    for left, right in zip(pytree.tree_leaves(expected), pytree.tree_leaves(given), strict=True):
        if isinstance(left, torch.Tensor):
            torch.testing.assert_close(right, left, rtol=1e-5, atol=1e-5, equal_nan=True)
        else:
            assert left == right


def _result(run: Callable[..., Any], call: Call, gradients: bool) -> Any:
    args = _fresh(call)
    leaves = [a for a in pytree.tree_leaves(args) if isinstance(a, torch.Tensor) and a.is_floating_point()]
    if gradients:
        for leaf in leaves:
            leaf.requires_grad_()
    torch.manual_seed(1)
    result = run(*args)
    if not gradients:
        return pytree.tree_map_only(torch.Tensor, lambda t: t.detach(), (result, args))
    sums = [t.sum() for t in pytree.tree_leaves(result) if isinstance(t, torch.Tensor) and t.requires_grad]
    grads = torch.autograd.grad(sum(sums), leaves, allow_unused=True) if sums else [None] * len(leaves)
    detached = pytree.tree_map_only(torch.Tensor, lambda t: t.detach(), result)
    flags = [t.requires_grad for t in pytree.tree_leaves(result) if isinstance(t, torch.Tensor)]
    return detached, [torch.zeros(()) if g is None else g for g in grads], flags


def _fresh(call: Call) -> Call:
    return pytree.tree_map_only(torch.Tensor, lambda t: t.detach().clone(), call)


def _loaded(ep: ExportedProgram) -> ExportedProgram:
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.export.save(ep, buffer)
        buffer.seek(0)
        return torch.export.load(buffer)


def check_parity(program: Program) -> None:
    """The same operators as in torch.export's strict graph, sub-graph by sub-graph."""
    module, ours = exported(program)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = torch.export.export(
            copy.deepcopy(module), _fresh(program.calls[0]), dynamic_shapes=program.dynamic_shapes, strict=True
        )
    assert shape_of(ours.graph_module) == shape_of(theirs.graph_module)


def shape_of(module: fx.GraphModule) -> Any:
    """The operators of a graph, with those of its sub-graphs in their place and what a call is given, without names."""
    operators: Counter[str] = Counter()
    subgraphs = []
    for node in module.graph.nodes:
        if node.op == "call_function" and str(node.target) not in _UNCOUNTED:
            operators[str(node.target)] += 1
        elif node.op == "get_attr" and isinstance(child := getattr(module, str(node.target)), fx.GraphModule):
            operands = len([n for n in child.graph.nodes if n.op == "placeholder"])
            subgraphs.append((str(node.target), operands, shape_of(child)))
    return operators, sorted(subgraphs, key=repr)


_UNCOUNTED = {"<built-in function getitem>", "aten._assert_tensor_metadata.default"}
