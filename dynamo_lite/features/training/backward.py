"""`loss.backward()`: torch.autograd.grad for the leaves that the loss reaches, accumulated into their `.grad`.

torch's own Python (torch.autograd.backward) is interpreted, up to the call of the engine: its checks and errors are
eager's. The engine is asked for the gradients of the leaves instead of accumulating them, since the leaves are fake
tensors; the accumulation below follows torch/csrc/autograd/functions/accumulate_grad.h.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import fx

from dynamo_lite.features.training import gradients, hooks
from dynamo_lite.features.training.gradients import Gradients
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.torch_internals._torch_dispatch import DisableTorchFunction
from dynamo_lite.torch_internals._torch_operators import OpOverload
from dynamo_lite.tracing.higher_order.autograd import with_engine
from dynamo_lite.tracing.interfaces import TracerView

_ACCUMULATE_GRAD = "torch::autograd::AccumulateGrad"


def call_backward(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """torch.autograd.backward(tensors, ...), Tensor.backward(self, ...)"""
    name = "torch.Tensor.backward" if fn is torch.Tensor.backward else "torch.autograd.backward"
    if not tracer.sees_python:
        tracer.refuse(
            "backward-in-forward", function=name, where=", which strict=False does not follow (strict=True does)"
        )
    if tracer.recorder.levels and not tracer.recorder.levels.merge_state:
        tracer.refuse("backward-in-forward", function=name, where=" within a loop on data or another sub-graph")
    return with_engine(tracer, fn, args, kwargs, name)


def call_engine(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """_engine_run_backward(outputs, gradients, retain_graph, create_graph, inputs, allow_unreachable=,
    accumulate_grad=)"""
    if not kwargs.get("accumulate_grad") or not tracer.sees_python:
        return NOT_HANDLED
    outputs, given, retain_graph, create_graph, inputs = args
    outputs = tuple(gradients.lifted(tracer, tensor) for tensor in outputs)
    leaves = [gradients.lifted(tracer, tensor) for tensor in inputs] or _leaves(outputs)
    if not leaves:
        return NOT_HANDLED  # the engine raises
    before = set(tracer.recorder.graph.nodes)
    asked = {**kwargs, "accumulate_grad": False}
    # The sides of a branch are run again from the same autograd graph.
    keeps = retain_graph or bool(tracer.recorder.levels)
    engine_args = (outputs, given, keeps, create_graph, tuple(leaves))

    def accumulate(leaf: torch.Tensor, gradient: torch.Tensor, is_own: bool = False) -> None:
        tracer.recorder.guarded(_accumulate, tracer, leaf, gradient, is_own, bool(create_graph))

    with hooks.attached(tracer, leaves, accumulate) as done:
        found = fn(*engine_args, **asked)
    with torch.set_grad_enabled(bool(create_graph)):
        shared = _shared([gradient for gradient in found if gradient is not None])
        for leaf, gradient in zip(leaves, found):
            if gradient is not None and id(leaf) not in done:
                is_own = id(gradient) not in shared and _is_made_after(tracer, gradient, before)
                accumulate(leaf, gradient, is_own)
    return ()


def _leaves(outputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The leaves that require grad and that the outputs reach, each once, in the order of the walk."""
    with DisableTorchFunction():
        found = {id(tensor): tensor for tensor in outputs if tensor.grad_fn is None and tensor.requires_grad}
        todo: list[Any] = [tensor.grad_fn for tensor in outputs if tensor.grad_fn is not None]
        seen = set(todo)
        while todo:
            node = todo.pop()
            if node.name() == _ACCUMULATE_GRAD:
                found.setdefault(id(node.variable), node.variable)
            for following, _ in node.next_functions:
                if following is not None and following not in seen:
                    seen.add(following)
                    todo.append(following)
    return list(found.values())


def _accumulate(
    tracer: TracerView, leaf: torch.Tensor, gradient: torch.Tensor, is_own: bool, create_graph: bool
) -> None:
    slot = tracer.own(Gradients).of(leaf)
    slot.read_first |= not slot.is_written
    if slot.is_left and slot.value is slot.start and slot.start is not None:
        return gradients.add_to_left(tracer, slot, gradient)  # which may be reset before it is used
    gradients.check_read(tracer, slot)
    old = slot.value
    if gradient.layout is not torch.strided:
        tracer.refuse("backward-in-forward", function="backward()", where=", of which one is sparse")
    if old is None and gradients.BEGIN.copies and not create_graph and _fits(leaf, gradient):
        new = gradient.clone()
    elif old is None:
        new = gradient if is_own and not create_graph and _fits(leaf, gradient) else _copied(leaf, gradient)
    elif create_graph:
        new = gradients.lifted(tracer, old) + gradient
    else:
        gradients.lifted(tracer, old).add_(gradient)  # eager adds in place: who holds the tensor sees it
        new = old
    gradients.put(tracer, slot, new)


def _fits(leaf: torch.Tensor, gradient: torch.Tensor) -> bool:
    """Whether a gradient has the layout that eager gives to `.grad`."""
    with DisableTorchFunction():  # not the program's questions: with other strides, the values are the same
        wanted, given = leaf.stride(), gradient.stride()
    return all(type(stride) is int for stride in (*wanted, *given)) and wanted == given


def _copied(leaf: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
    """A copy with memory of its own, in the layout of the leaf if that has no gaps."""
    if gradient.requires_grad:
        return gradient.clone()
    return torch.empty_like(leaf).detach().copy_(gradient)


def _shared(found: Sequence[torch.Tensor]) -> set[int]:
    """The ids of the gradients whose memory belongs to several of them."""
    by_memory: dict[int, list[int]] = {}
    for gradient in found:
        if gradient.layout is torch.strided:
            by_memory.setdefault(int(gradient.untyped_storage()._cdata), []).append(id(gradient))
    return {key for keys in by_memory.values() if len(keys) > 1 for key in keys}


def _is_made_after(tracer: TracerView, gradient: torch.Tensor, before: set[fx.Node]) -> bool:
    """Whether an operator of the backward has made the memory of a gradient."""
    node: Any = tracer.recorder.node_of(gradient)
    while node not in before and isinstance(node.target, OpOverload):
        if all(returned.alias_info is None for returned in node.target._schema.returns):
            return len(node.target._schema.returns) > 0
        node = next(iter(node.all_input_nodes), None)
        if node is None:
            return False
    return False
