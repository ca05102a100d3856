"""torch.cond: both branches become sub-graphs; what they close over becomes operands of the call."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from dynamo_lite.capture.graph import subgraph_calls, subgraphs
from dynamo_lite.capture.kernels import functorch
from dynamo_lite.torch_internals._torch_pytree import pytree
from dynamo_lite.tracing.higher_order.subgraph import SYMBOLIC, Traced, no_effects, trace
from dynamo_lite.tracing.interfaces import Trace

_NAME = "torch.cond"


def call_cond(tracer: Trace, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """CondOp.__call__(op, pred, true_fn, false_fn, operands), which torch.cond comes down to during a trace.

    A predicate that is a constant takes its branch, as in eager.
    """
    op, pred, true_fn, false_fn, operands = _arguments(*args, **kwargs)
    if isinstance(pred, (bool, int, float)):
        tracer.note("the predicate of a torch.cond is a Python constant: only the branch that it picks is captured")
        return tracer.vm.call(true_fn if pred else false_fn, tuple(operands), {})
    _check_predicate(pred)
    if not isinstance(operands, (tuple, list)):
        raise RuntimeError(f"Expect operands to be a tuple of tensors, but got a {type(operands).__qualname__}.")
    if functorch.active():
        return _transformed(tracer, op, pred, true_fn, false_fn, operands)
    may_mutate = not torch.is_grad_enabled()  # as torch: with gradients on, the backward needs the operands unchanged
    branches = [_branch(tracer, function, operands, may_mutate) for function in (true_fn, false_fn)]
    constants = _merge_constants(tracer, *branches)
    return _call(tracer, op, pred, branches, constants)


def _arguments(op: Any, pred: Any, true_fn: Any, false_fn: Any, operands: Any = ()) -> tuple[Any, ...]:
    return op, pred, true_fn, false_fn, operands


def _check_predicate(pred: Any) -> None:
    if isinstance(pred, torch.Tensor):
        if pred.numel() != 1:
            raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got shape {list(pred.shape)}.")
    elif not isinstance(pred, SYMBOLIC):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {type(pred).__qualname__}.")


def _branch(tracer: Trace, function: Any, operands: Any, may_mutate: bool) -> Traced:
    def arguments() -> Any:
        recorder = tracer.recorder
        for leaf in pytree.tree_leaves(operands):
            if isinstance(leaf, torch.Tensor):
                recorder.lift(leaf)  # the operands come first, used or not
        return operands

    return trace(tracer, _NAME, function, arguments, may_mutate=may_mutate)


def _transformed(tracer: Trace, op: Any, pred: Any, true_fn: Any, false_fn: Any, operands: Any) -> Any:
    """torch.cond inside of functorch transforms.

    A predicate per element chooses between the results of both branches, as torch's rule has it (cond_batch_rule).
    One predicate for all elements of vmap is a torch.cond outside of it, whose branches have vmap inside: the
    operators of a branch are recorded as vmap makes them, on plain tensors. Under other transforms, refused.
    """
    if isinstance(pred, torch.Tensor) and functorch.is_batched(pred):
        with no_effects(tracer, _NAME):
            results = [pytree.tree_flatten(tracer.vm.call(fn, tuple(operands), {})) for fn in (true_fn, false_fn)]
            (left, spec), (right, _) = results
            constants = _merge_constants(tracer, *(_Results(leaves, spec) for leaves, spec in results))
            choice = pred.reshape(())
            pairs = enumerate(zip(left, right))
            chosen = [constants[i] if i in constants else torch.where(choice, *pair) for i, pair in pairs]
        return pytree.tree_unflatten(chosen, spec)
    batches = functorch.batches()
    if batches is None:
        tracer.refuse("control-flow-in-transform", operator=_NAME)
    branches = [trace(tracer, _NAME, fn, lambda: operands, plain=batches.off) for fn in (true_fn, false_fn)]
    constants = _merge_constants(tracer, *branches)
    with functorch.outside():
        result = _call(tracer, op, pred, branches, constants)
    return pytree.tree_map_only(torch.Tensor, batches.on, result)


class _Results(NamedTuple):
    leaves: list[Any]
    spec: pytree.TreeSpec


def _merge_constants(tracer: Trace, true: Traced | _Results, false: Traced | _Results) -> dict[int, Any]:
    """The results that are the same constant in both branches, by position. Refuses results that do not match."""
    if true.spec != false.spec:
        _mismatch(tracer, "structure", _structure(true.spec), _structure(false.spec))
    constants: dict[int, Any] = {}
    for index, (left, right) in enumerate(zip(true.leaves, false.leaves)):
        tensors = isinstance(left, torch.Tensor), isinstance(right, torch.Tensor)
        if all(tensors):
            for name in ("dtype", "device", "layout", "ndim"):
                if getattr(left, name) != getattr(right, name):
                    _mismatch(tracer, name, getattr(left, name), getattr(right, name))
        elif any(tensors):
            _mismatch(tracer, "kind", _kind(left), _kind(right))
        elif not (_is_size(left) and _is_size(right)):
            if type(left) is not type(right) or left != right:
                _mismatch(tracer, "value", repr(left), repr(right))
            constants[index] = left
    return constants


def _is_size(value: Any) -> bool:
    return type(value) is int or isinstance(value, torch.SymInt)


def _structure(spec: pytree.TreeSpec) -> str:
    return str(pytree.tree_unflatten(["*"] * spec.num_leaves, spec)).replace("'*'", "*")


def _kind(value: Any) -> str:
    return "a tensor" if isinstance(value, torch.Tensor) else f"a {type(value).__qualname__}"


def _mismatch(tracer: Trace, what: str, left: Any, right: Any) -> None:
    tracer.refuse("cond-mismatch", what=what, left=left, right=right)


def _call(tracer: Trace, op: Any, pred: Any, branches: list[Traced], constants: dict[int, Any]) -> Any:
    recorder = tracer.recorder
    operands = tracer.recorder.guarded(subgraphs.operands_of, tracer.recorder, [b.level for b in branches])
    outputs = [tuple(n for i, n in enumerate(b.outputs(tracer)) if i not in constants) for b in branches]
    names = ("true_graph_", "false_graph_")
    modules = subgraph_calls.finish(recorder, [b.level for b in branches], outputs, names)
    results = iter(op(pred, *modules, tuple(operands)))
    count = len(branches[0].leaves)
    leaves = [constants[i] if i in constants else next(results) for i in range(count)]
    return pytree.tree_unflatten(leaves, branches[0].spec)
