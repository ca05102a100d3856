"""Higher-order operators: a call whose functions are sub-graphs becomes one node that reads them as attributes.

The functions have been recorded before (subgraphs.py); here the operator runs on FakeTensors, with its own rules for
what comes out (torch/_higher_order_ops/*.py), and is recorded in the form that torch.export gives it:

    true_graph_0 = self.true_graph_0
    cond = torch.ops.higher_order.cond(gt, true_graph_0, false_graph_0, (x, y))
    getitem = cond[0]
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import torch
from torch import fx

from dynamo_lite.capture._torch import FunctionWithNoFreeVars, HigherOrderOperator, OpOverload
from dynamo_lite.capture.errors import CaptureError
from dynamo_lite.capture.fakes import packed_sequences
from dynamo_lite.capture.fakes.cond_outputs import known_layouts
from dynamo_lite.capture.fakes.results import with_history
from dynamo_lite.capture.graph import profiler_regions
from dynamo_lite.capture.graph.level import Level
from dynamo_lite.capture.interfaces import OperatorRecording
from dynamo_lite.symbolic_shapes.torch_node.symbolic_types import SYMBOLIC_TYPES
from dynamo_lite.torch_internals._torch_dispatch import DisableTorchFunction, _AutoDispatchBelowAutograd
from dynamo_lite.torch_internals._torch_pytree import pytree

BRANCH = "Python.branch"
"""The second word of `torch_fn` of a torch.cond that stands for a branch of Python, not for a call of torch.cond."""


def mark_branch(graph: fx.Graph) -> None:
    """Mark the last torch.cond of a graph as one that stands for a branch of Python."""
    node = next(node for node in reversed(graph.nodes) if node.target is torch.ops.higher_order.cond)
    node.meta["torch_fn"] = (node.name, BRANCH)


_GRAD_MODE = "dynamo_lite_grad_mode"
"""Key of a sub-graph's `meta`: the grad mode that it is entered under (program/regions.py needs it)."""


def grad_mode(module: fx.GraphModule) -> bool:
    """The grad mode that a sub-graph made here is entered under."""
    return bool(module.meta[_GRAD_MODE])


def finish(
    recorder: OperatorRecording, levels: Sequence[Level], outputs: Sequence[Any], names: Sequence[str]
) -> list[Any]:
    """Ends the sub-graphs of one call: gives each its output and a free name of this level.

    levels: aligned (`levels.align`); outputs: the result of each, in fx's terms (nodes, numbers, tuples of them);
    names: the attribute names up to the number, which they share ("true_graph_", "false_graph_"). Returns the modules.
    """
    number = next(n for n in count() if not any(f"{name}{n}" in recorder.level.modules for name in names))
    modules = []
    for level, output, name in zip(levels, outputs, names):
        profiler_regions.drop(level.graph)
        level.graph.output(output)
        module = _module(level, f"{name}{number}")
        module.meta[_GRAD_MODE] = level.grad_enabled
        recorder.level.modules[f"{name}{number}"] = module
        modules.append(module)
    return modules


def _module(level: Level, name: str) -> fx.GraphModule:
    """The module of a sub-graph. (fx compiles the modules in it again, and those in them, when it makes one.)"""
    module = fx.GraphModule({inner: torch.nn.Module() for inner in level.modules}, level.graph, class_name=name)
    for inner, _ in [*module.named_children()]:
        setattr(module, inner, level.modules[inner])
    return module


def add_module(recorder: OperatorRecording, module: fx.GraphModule, name: str) -> fx.GraphModule:
    """A sub-graph that torch has made itself, under a free name of this level that starts with `name`."""
    number = next(n for n in count() if f"{name}{n}" not in recorder.level.modules)
    module.meta[_GRAD_MODE] = False
    recorder.level.modules[f"{name}{number}"] = module
    return module


def record(
    recorder: OperatorRecording,
    op: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    run_on: tuple[Any, ...] | None = None,
    below_autograd: bool = False,
    known: Sequence[torch.Tensor] | None = None,
) -> Any:
    """Runs `op` on fake tensors and records it; its sub-graphs are modules that `finish` made.

    run_on: the arguments to run it on instead of `args`, if the result must hold for other arguments as well.
    below_autograd: skips torch's rule for its gradient, which traces the sub-graphs again on symbols of torch's own;
    the result requires grad if an operand does.
    known: the result, new fake tensors, if it is known without the operator's own rule.
    Raises CaptureError for a function that is not such a module: it has not been traced.
    """
    assert isinstance(op, HigherOrderOperator)
    fakes = pytree.tree_map(lambda leaf: recorder.fake(_unpacked(leaf)), (args, kwargs))
    recorder.torch_function = op
    _check_packed(op, fakes)
    node_args, node_kwargs = pytree.tree_map(lambda leaf: _lower(recorder, op, leaf), fakes)
    was, recorder.running = recorder.running, True  # the texts that the operator's rule makes are not the program's
    try:
        # autocast inside a sub-graph is not a border of this graph
        with DisableTorchFunction(), known_layouts(), packed_sequences.known_sizes():
            given = fakes[0] if run_on is None else run_on
            if known is not None:
                out = _joined(known, fakes)
            else:
                out = _below_autograd(op, given, fakes) if below_autograd else op(*given, **fakes[1])
    except CaptureError:
        raise
    except Exception as error:
        raise CaptureError(
            "higher-order-rejected",
            f"{op.name()} cannot take this: {error}",
            "see torch's documentation of it for what its functions may return",
            {"function": op.name(), "reason": str(error).strip() or type(error).__name__},
        ) from error
    finally:
        recorder.running = was
    node = recorder.call_node(op, node_args, node_kwargs, op.name().rpartition("::")[2])
    recorder.bind_result(node, out)
    return out


def _check_packed(op: Any, fakes: Any) -> None:
    """In each call, torch runs the functions of an operator on tensors without data before it takes a gradient."""
    leaves = pytree.tree_leaves(fakes)
    if not torch.is_grad_enabled() or not any(isinstance(t, torch.Tensor) and t.requires_grad for t in leaves):
        return
    modules = [part for leaf in leaves if isinstance(leaf, fx.GraphModule) for part in leaf.modules()]
    graphs = [part.graph for part in modules if isinstance(part, fx.GraphModule)]
    found = next(filter(None, map(packed_sequences.among, graphs)), None)
    if found is not None:
        reason = (
            f"its function has {found} of a packed sequence, which torch would run without data to find its gradient; "
            "pack outside of it, or export under torch.no_grad()"
        )
        raise CaptureError("higher-order-rejected", reason, "", {"function": op.name(), "reason": reason})


def _below_autograd(op: Any, args: tuple[Any, ...], fakes: Any) -> Any:
    with _AutoDispatchBelowAutograd():
        out = op(*args, **fakes[1])
    return _joined(out, fakes)


def _joined(out: Any, fakes: Any) -> Any:
    """The results, with the autograd history that the operands give them."""
    anchors = [t for t in pytree.tree_leaves(fakes) if isinstance(t, torch.Tensor) and t.requires_grad]
    if not anchors or not torch.is_grad_enabled():
        return out

    def joined(tensor: Any) -> torch.Tensor:
        if not (tensor.is_floating_point() or tensor.is_complex()):
            return tensor
        return with_history(tensor, True, anchors, None, several=True)

    return pytree.tree_map_only(torch.Tensor, joined, out)


def _unpacked(leaf: Any) -> Any:
    """A sub-graph without the wrapper that some operators put around it."""
    return leaf.fn if isinstance(leaf, FunctionWithNoFreeVars) else leaf


def _lower(recorder: OperatorRecording, op: HigherOrderOperator, leaf: Any) -> Any:
    if isinstance(leaf, fx.GraphModule):
        name = next((name for name, module in recorder.level.modules.items() if module is leaf), None)
        if name is not None:
            return _attribute(recorder, name)
    if isinstance(leaf, OpOverload):
        return leaf  # out_dtype(aten.mm.default, torch.int32, x, y): which operator is part of the call
    if callable(leaf) and not isinstance(leaf, (torch.Tensor, type, *SYMBOLIC_TYPES)):
        raise CaptureError(
            "higher-order-operator",
            f"the higher-order operator {op.name()} was given a function that has not been traced",
            "call the torch function that it belongs to (torch.cond, ...)",
            {"function": op.name()},
        )
    return recorder.lower(leaf)


def attribute(recorder: OperatorRecording, module: fx.GraphModule) -> fx.Node:
    """The node that reads a sub-graph of this level."""
    return _attribute(recorder, next(name for name, own in recorder.level.modules.items() if own is module))


def _attribute(recorder: OperatorRecording, name: str) -> fx.Node:
    recorder.mark_grad_mode()  # the attribute belongs to the region that its call is in
    node = recorder.level.graph.create_node("get_attr", name, (), {}, name=name)
    context = recorder.context
    trace = context.stack_trace()
    if trace is not None:
        node.meta["stack_trace"] = trace
    node.meta["nn_module_stack"] = context.module_stack()
    return node
