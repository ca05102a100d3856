"""Strides of results: if the layout of a tensor differs between the sides, eager's strides depend on the side taken.

The result of the operator is contiguous then, and may be where the sides have equal strides that vary. Its values are
right; later queries of strides are rejected for it and for what is computed from it, up to operators whose results are
always contiguous.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import fx

from dynamo_lite.capture.kernels.layout_questions import CONTIGUOUS_RESULTS
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.torch_internals._torch_dispatch import DisableTorchFunction
from dynamo_lite.tracing.tensors.side_differences import SideDifferences
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

_ASKS = ("stride", "is_contiguous", "storage_offset", "as_strided", "as_strided_", "dim_order")
_FAILS = (torch.Tensor.view, torch.Tensor.view_as, torch.view_as_complex)
"""Functions that raise a RuntimeError for a tensor of another layout, which is a question where a handler takes it."""


def compare(tracer: Forking, a: torch.Tensor, b: torch.Tensor, result: Any = None) -> None:
    """Note whether two tensors that become one result may be laid out differently, or `result` differently from them:
    the sides may have equal strides that the operator does not keep."""
    if a.layout is not torch.strided:
        return
    tensors = [tensor for tensor in (a, b, result) if is_tensor(tensor)]
    if all(_is_contiguous(tracer, tensor) for tensor in tensors):
        return  # each in its own sizes
    if all(_strides_equal(tracer, a, other) for other in tensors[1:]):
        return
    tracer.layouts_differ = True
    if is_tensor(result):
        tracer.own(SideDifferences).laid_out[tracer.recorder.node_of(result)] = tracer.mark()
    else:
        tracer.own(SideDifferences).is_carried = True


def _strides_equal(tracer: Forking, a: torch.Tensor, b: torch.Tensor) -> bool:
    with DisableTorchFunction():
        rows = [*zip(a.stride(), b.stride(), a.shape, b.shape)]
    return all(are_equal(tracer, s, t) or (type(n) is int and type(m) is int and n == m == 1) for s, t, n, m in rows)


def _is_contiguous(tracer: Forking, tensor: torch.Tensor) -> bool:
    """Whether a tensor's strides are provably the products of its sizes, or of max(1, size). The two differ only for
    tensors without elements, whose strides the program cannot ask for (`Tensor.stride` excludes them)."""
    with DisableTorchFunction():
        shape, strides = list(tensor.shape), list(tensor.stride())
    plain: Any = 1
    clamped: Any = 1
    for size, stride in zip(reversed(shape), reversed(strides)):
        if not are_equal(tracer, stride, plain) and not are_equal(tracer, stride, clamped):
            return False
        plain, clamped = plain * size, clamped * torch.sym_max(1, size)
    return True


def are_equal(tracer: Forking, one: Any, other: Any) -> bool:
    """Whether two sizes are provably equal."""
    answer = one == other
    if type(answer) is bool:
        return answer
    env = tracer.recorder.env
    return env is not None and env.decide_node(answer.node) is True


def _may_be_laid_out(tracer: Forking, fake: torch.Tensor) -> bool:
    """Whether the layout of a tensor may come from such a result: it is one, or computed from one by operators that lay
    out their results as their arguments. What a sub-graph is given by its operator (an iteration) may be."""
    differences = tracer.own(SideDifferences)
    if differences.is_carried:
        return True
    levels = tracer.recorder.levels
    todo, seen = [tracer.recorder.node_of(fake)], set[fx.Node]()
    while todo:
        node = todo.pop()
        if node in differences.laid_out or levels.is_argument(node):
            return True
        if node not in seen and node.target not in CONTIGUOUS_RESULTS:
            seen.add(node)
            outside = levels.captured_by(node)
            todo += [*node.all_input_nodes, *(levels.nodes_of(outside) if is_tensor(outside) else ())]
    return False


def _rule(otherwise: Any, fails: bool = False) -> Callable[..., Any]:
    def rule(tracer: Forking, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        asks = not fails or (tracer.layouts_differ and tracer.recorder.context.goes_on(frozenset({RuntimeError})))
        if tracer.layouts_differ and asks and args and is_tensor(args[0]):
            fake = tracer.recorder.known_fake(args[0])
            if not any(fake is other for other in tracer.recorder.from_outside()) and _may_be_laid_out(tracer, fake):
                why = "the strides of a tensor are asked for behind a branch whose sides give one different strides"
                tracer.refuse("branch-unsupported", why=why)
        return NOT_HANDLED if otherwise is None else otherwise(tracer, fn, args, kwargs)

    return rule


def _note_contiguous(otherwise: Any) -> Callable[..., Any]:
    def rule(tracer: Forking, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if tracer.layouts_differ and args and is_tensor(args[0]):
            tracer.own(SideDifferences).contiguous.add(tracer.recorder.node_of(args[0]))
        return NOT_HANDLED if otherwise is None else otherwise(tracer, fn, args, kwargs)

    return rule


def attach(rules: dict[int, Any]) -> None:
    """Put the rules into a tracer's table, before those that are there."""
    for fn in [*(getattr(torch.Tensor, name) for name in _ASKS), torch.as_strided]:
        rules[id(fn)] = _rule(rules.get(id(fn)))
    for fn in _FAILS:
        rules[id(fn)] = _rule(rules.get(id(fn)), fails=True)
    rules[id(torch.Tensor.contiguous)] = _note_contiguous(rules.get(id(torch.Tensor.contiguous)))
