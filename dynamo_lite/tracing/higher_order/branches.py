"""The common part of torch.cond and torch.switch: functions of which the program runs one, chosen by a tensor.

Each function becomes a sub-graph; what they close over becomes operands of the call; their results must match.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from dynamo_lite.capture.fakes.cond_outputs import known_outputs
from dynamo_lite.capture.graph import subgraph_calls, subgraphs
from dynamo_lite.capture.kernels import functorch
from dynamo_lite.torch_internals._torch_pytree import pytree
from dynamo_lite.tracing.higher_order.subgraph import SharesMemory, TracedFunction, no_effects, record_call, trace
from dynamo_lite.tracing.interfaces import TracerView


class SwitchCall(NamedTuple):
    """A call of an operator that runs one of several functions."""

    operator: Any
    name: str  # for messages: "torch.cond"
    chosen_by: Any  # the predicate or index: a tensor or a symbolic value
    functions: tuple[Any, ...]
    words: tuple[str, ...]  # when each function runs, for messages: "if true"
    graphs: tuple[str, ...]  # the attribute names of the sub-graphs, up to a number that they share
    arguments: Callable[[list[Any], tuple[Any, ...]], tuple[Any, ...]]  # (modules, operands) → the operator's arguments
    select: Callable[[Any, list[torch.Tensor]], torch.Tensor]
    """(the value of `chosen_by` of one element of vmap, each function's result there) → the one that is chosen."""
    in_python: Any = None  # the same as a branch of Python's, for results that share memory


def record(tracer: TracerView, choice: SwitchCall, operands: Any) -> Any:
    """Trace the functions and record the call. Refuses ("cond-mismatch") results that do not match."""
    if functorch.active():
        return _transformed(tracer, choice, operands)
    may_mutate = not torch.is_grad_enabled()  # as torch: with gradients on, the backward needs the operands unchanged

    def arguments() -> Any:
        for leaf in pytree.tree_leaves(operands):
            if isinstance(leaf, torch.Tensor):
                tracer.recorder.lift(leaf)  # the operands come first, used or not
        return operands

    in_python = may_mutate and choice.in_python is not None
    try:
        traced = [
            trace(tracer, choice.name, fn, arguments, may_mutate=may_mutate, tells_aliases=in_python)
            for fn in choice.functions
        ]
    except SharesMemory:  # without gradients eager returns what the function returns
        return tracer.vm.interpret_function(choice.in_python, (choice.chosen_by, *choice.functions, operands), {})
    return _call(tracer, choice, traced, _merge_constants(tracer, choice, traced))


def _transformed(tracer: TracerView, choice: SwitchCall, operands: Any) -> Any:
    """The operator inside of functorch transforms.

    A choice per element of vmap is made between the results of all functions, as torch's rule has it
    (cond_batch_rule). One choice for all elements is a call outside of vmap, whose functions have vmap inside: the
    operators of a function are recorded as vmap makes them, on plain tensors. Under other transforms, refused.
    """
    if isinstance(choice.chosen_by, torch.Tensor) and functorch.is_batched(choice.chosen_by):
        with no_effects(tracer, choice.name):
            flat = [pytree.tree_flatten(tracer.vm.call(fn, tuple(operands), {})) for fn in choice.functions]
            results = [_Results(*result) for result in flat]
            constants = _merge_constants(tracer, choice, results)
            index = choice.chosen_by.reshape(())
            columns = enumerate(zip(*(result.leaves for result in results)))
            chosen = [constants[i] if i in constants else choice.select(index, list(c)) for i, c in columns]
        return pytree.tree_unflatten(chosen, results[0].spec)
    batches = functorch.batches()
    if batches is None:
        tracer.refuse("control-flow-in-transform", operator=choice.name)
    traced = [trace(tracer, choice.name, fn, lambda: operands, plain=batches.off) for fn in choice.functions]
    constants = _merge_constants(tracer, choice, traced)
    with functorch.suspended():
        result = _call(tracer, choice, traced, constants)
    return pytree.tree_map_only(torch.Tensor, batches.on, result)


class _Results(NamedTuple):
    leaves: list[Any]
    spec: pytree.TreeSpec


def _merge_constants(
    tracer: TracerView, choice: SwitchCall, results: Sequence[TracedFunction | _Results]
) -> dict[int, Any]:
    """The results that are one constant in all functions, by position. Refuses results that do not match."""
    constants: dict[int, Any] = {}
    first, *others = results
    for number, other in enumerate(others, 1):
        words = choice.words[0], choice.words[number]
        if first.spec != other.spec:
            _mismatch(tracer, choice, words, "structure", _structure(first.spec), _structure(other.spec))
        for index, (left, right) in enumerate(zip(first.leaves, other.leaves)):
            if _is_constant(tracer, choice, words, left, right):
                constants[index] = left
    return constants


def _is_constant(tracer: TracerView, choice: SwitchCall, words: tuple[str, str], left: Any, right: Any) -> bool:
    """Whether two results in one position are the same constant; refuses a pair that does not match."""
    tensors = isinstance(left, torch.Tensor), isinstance(right, torch.Tensor)
    if all(tensors):
        for name in ("dtype", "device", "layout", "ndim"):
            if getattr(left, name) != getattr(right, name):
                _mismatch(tracer, choice, words, name, getattr(left, name), getattr(right, name))
        return False
    if any(tensors):
        _mismatch(tracer, choice, words, "kind", _kind(left), _kind(right))
    if _is_size(left) and _is_size(right):
        return False
    if type(left) is not type(right) or left != right:
        _mismatch(tracer, choice, words, "value", repr(left), repr(right))
    return True


def _is_size(value: Any) -> bool:
    return type(value) is int or isinstance(value, torch.SymInt)


def _structure(spec: pytree.TreeSpec) -> str:
    return str(pytree.tree_unflatten(["*"] * spec.num_leaves, spec)).replace("'*'", "*")


def _kind(value: Any) -> str:
    return "a tensor" if isinstance(value, torch.Tensor) else f"a {type(value).__qualname__}"


def _mismatch(tracer: TracerView, choice: SwitchCall, words: tuple[str, str], what: str, left: Any, right: Any) -> None:
    (first, second), name = words, choice.name
    tracer.refuse("cond-mismatch", operator=name, what=what, left=left, right=right, first=first, second=second)


def _call(tracer: TracerView, choice: SwitchCall, traced: list[TracedFunction], constants: dict[int, Any]) -> Any:
    recorder = tracer.recorder
    levels = [function.level for function in traced]
    operands = recorder.guarded(subgraphs.operands_of, recorder, levels)
    outputs = [tuple(n for i, n in enumerate(t.outputs(tracer)) if i not in constants) for t in traced]
    modules = subgraph_calls.finish(recorder, levels, outputs, choice.graphs)
    known = known_outputs(recorder.fake_mode, recorder.env, outputs)
    results = iter(record_call(tracer, choice.operator, choice.arguments(modules, tuple(operands)), known))
    count = len(traced[0].leaves)
    leaves = [constants[i] if i in constants else next(results) for i in range(count)]
    return pytree.tree_unflatten(leaves, traced[0].spec)
