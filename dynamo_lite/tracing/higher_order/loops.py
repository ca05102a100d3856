"""map, while_loop, scan and associative_scan: the function that runs once a step becomes a sub-graph.

The wrappers in torch._higher_order_ops, which flatten containers and move dimensions, are interpreted as they are;
these rules answer the operator that they call. A step gets fake values of its own (a slice of a mapped tensor, a
carried value); values that it closes over become additional inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.graph import subgraph_calls, subgraphs
from dynamo_lite.capture.graph.unrecorded import unrecorded
from dynamo_lite.torch_internals._torch_pytree import pytree
from dynamo_lite.tracing.higher_order.subgraph import TracedFunction, record_call, trace
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.vocabulary.symbolic_numbers import shape_text


def call_map(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """MapImpl.__call__(op, f, xs, pos_args): f(*slices, *pos_args) for each slice along the first dimension."""
    op, function, xs, given = _positional(args, kwargs, ("f", "xs", "pos_args"))
    name = "torch._higher_order_ops.map"
    step = _trace_step(tracer, name, function, _slices(tracer, name, xs), given)
    _check_tensors(tracer, name, step.leaves)
    operands = tracer.recorder.guarded(subgraphs.operands_of, tracer.recorder, [step.level])
    (body,) = _finish(tracer, [step], [tuple(step.outputs(tracer))], ("body_graph_",))
    results = record_call(tracer, op, (body, list(xs), operands))
    return pytree.tree_unflatten(list(results), step.spec)


def call_scan(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """ScanOp.__call__(op, combine_fn, init, xs, additional_inputs): combine_fn(*carry, *slices) → (carry, y)."""
    op, function, init, xs, given = _positional(args, kwargs, ("combine_fn", "init", "xs", "additional_inputs"))
    name = "torch._higher_order_ops.scan"
    examples = [*_copies(tracer, name, init), *_slices(tracer, name, xs)]
    step = _trace_step(tracer, name, function, examples, given)
    spec = step.spec
    if spec.type is not tuple or spec.num_children != 2 or spec.child(0).num_leaves != len(init):
        is_flat = spec.type in (tuple, list) and len(init) <= spec.num_leaves == spec.num_children
        if not is_flat:  # the sub-graph of an exported program gives (*carry, *outputs)
            tracer.refuse("loop-mismatch", operator=name, what="something else than a pair (carry, output)")
    _check_carry(tracer, name, init, step.leaves[: len(init)])
    _check_tensors(tracer, name, step.leaves)
    operands = tracer.recorder.guarded(subgraphs.operands_of, tracer.recorder, [step.level])
    (combine,) = _finish(tracer, [step], [step.outputs(tracer)], ("scan_combine_graph_",))
    results = record_call(tracer, op, (combine, list(init), list(xs), tuple(operands)))
    return pytree.tree_unflatten(list(results), step.spec)


def call_associative_scan(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """AssociativeScanOp.__call__(op, combine_fn, xs, additional_inputs): combine_fn(*left, *right) → combined."""
    op, function, xs, given = _positional(args, kwargs, ("combine_fn", "xs", "additional_inputs"))
    name = "torch._higher_order_ops.associative_scan"
    examples = [*_slices(tracer, name, xs), *_slices(tracer, name, xs)]
    step = _trace_step(tracer, name, function, examples, given)
    _check_tensors(tracer, name, step.leaves)
    operands = tracer.recorder.guarded(subgraphs.operands_of, tracer.recorder, [step.level])
    (combine,) = _finish(tracer, [step], [step.outputs(tracer)], ("associative_scan_combine_graph_",))
    results = record_call(tracer, op, (combine, list(xs), tuple(operands)))
    return pytree.tree_unflatten(list(results), step.spec)


def call_while_loop(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """WhileLoopOp.__call__(op, cond_fn, body_fn, carried, additional): while cond_fn(*carried): carried = body_fn(...).

    An integer that is carried is another one in each step: an unbacked symbol inside, and one more for the result.
    """
    op, cond_fn, body_fn, carried, given = _positional(args, {}, ("cond_fn", "body_fn", "carried", "additional"))
    name = "torch._higher_order_ops.while_loop"
    examples = _copies(tracer, name, carried)
    condition = _trace_step(tracer, name, cond_fn, examples, given)
    _check_condition(tracer, name, condition)
    body = _trace_step(tracer, name, body_fn, examples, given, may_mutate=not torch.is_grad_enabled())
    _check_changes(tracer, name, body, carried)
    if body.spec.num_leaves != len(carried):
        tracer.refuse("loop-mismatch", operator=name, what=f"{body.spec.num_leaves} values, given {len(carried)}")
    _check_carry(tracer, name, examples, body.leaves)
    operands = tracer.recorder.guarded(subgraphs.operands_of, tracer.recorder, [condition.level, body.level])
    outputs = [condition.outputs(tracer)[0], tuple(body.outputs(tracer))]
    modules = _finish(tracer, [condition, body], outputs, ("while_loop_cond_graph_", "while_loop_body_graph_"))
    results = _run_while(tracer, op, modules, tuple(carried), tuple(examples), tuple(operands))
    return pytree.tree_unflatten(list(results), body.spec)


def _run_while(tracer: TracerView, op: Any, modules: list[Any], carried: Any, examples: Any, operands: Any) -> Any:
    """Records the loop. It runs on the examples: what comes out must not depend on the first step's integers."""
    recorder = tracer.recorder
    fakes = tuple(recorder.fake(operand) for operand in operands)
    with unrecorded():
        run_on = (*modules, examples, fakes)
        return recorder.guarded(subgraph_calls.record, recorder, op, (*modules, carried, operands), {}, run_on)


def _positional(args: tuple[Any, ...], kwargs: dict[str, Any], names: Sequence[str]) -> tuple[Any, ...]:
    """The operator and its arguments by position; the last, what its caller adds, may be left out."""
    op, *rest = args
    rest += [kwargs.get(name, ()) for name in names[len(rest) :]]
    return (op, *rest)


def _check_changes(tracer: TracerView, name: str, body: TracedFunction, carried: Sequence[Any]) -> None:
    """Check that a body changes no initial value of the loop in place (it may change a buffer)."""
    if not subgraphs.changes_in_place(body.level.graph):
        return
    recorder = tracer.recorder
    first = {storage_key(recorder.guarded(recorder.lift, v)) for v in carried if isinstance(v, torch.Tensor)}
    if any(isinstance(value, torch.Tensor) and storage_key(value) in first for _, value in body.level.captured):
        tracer.refuse("subgraph-mutates", operator=name)


def _trace_step(
    tracer: TracerView, name: str, function: Any, examples: list[Any], given: Sequence[Any], may_mutate: bool = False
) -> TracedFunction:
    """The sub-graph of `function(*examples, *given)`: examples are its arguments, the tensors given its operands."""

    def arguments() -> list[Any]:
        recorder = tracer.recorder
        own = [recorder.levels.argument(value, f"arg{i}_1") for i, value in enumerate(examples)]
        for value in given:
            if isinstance(value, torch.Tensor):
                recorder.lift(value)
        return [*own, *given]

    return trace(tracer, name, function, arguments, may_mutate=may_mutate)


def _slices(tracer: TracerView, name: str, xs: Sequence[Any]) -> list[Any]:
    """Return a fake tensor for one slice of each tensor along its first dimension."""
    recorder = tracer.recorder
    fakes = [recorder.guarded(recorder.lift, x) for x in xs]
    with unrecorded():
        return [_forget(torch.select_copy(fake, 0, 0)) for fake in fakes]


def _copies(tracer: TracerView, name: str, values: Sequence[Any]) -> list[Any]:
    """Return a fake value for a later value of each of these: a tensor like it, an unbacked symbol for an integer."""
    recorder = tracer.recorder
    copies: list[Any] = []
    for value in values:
        if isinstance(value, torch.Tensor):
            fake = recorder.guarded(recorder.lift, value)
            with unrecorded():
                copies.append(_forget(fake.clone()))
        elif type(value) is int or isinstance(value, torch.SymInt):
            if recorder.env is None:
                tracer.refuse(
                    "loop-mismatch", operator=name, what="an integer that is carried, under FakeTensors given"
                )
            with recorder.env.ignore_fresh_unbacked_symbols():
                copies.append(recorder.env.create_unbacked_symint())
        else:
            kind = type(value).__qualname__
            raise RuntimeError(f"Expect carried values to be tensors or ints, but got a {kind}.")
    return copies


def _forget(fake: Any) -> Any:
    """Forget that a value is constant: a constant of the first step is not one in the next."""
    fake.constant = None
    return fake


def _check_condition(tracer: TracerView, name: str, condition: TracedFunction) -> None:
    (value,) = condition.leaves if len(condition.leaves) == 1 else (None,)
    if isinstance(value, torch.Tensor):
        if value.dtype is torch.bool and value.ndim == 0:
            return
    elif isinstance(value, (bool, torch.SymBool)):
        return
    tracer.refuse(
        "loop-mismatch", operator=name, what="a condition that is not a boolean scalar (a 0-d tensor, or a bool)"
    )


def _check_tensors(tracer: TracerView, name: str, leaves: Sequence[Any]) -> None:
    for leaf in leaves:
        if not isinstance(leaf, torch.Tensor):
            tracer.refuse(
                "loop-mismatch", operator=name, what=f"a {type(leaf).__qualname__}, where a tensor is stacked"
            )


def _check_carry(tracer: TracerView, name: str, given: Sequence[Any], returned: Sequence[Any]) -> None:
    """Check that the results of a step match the arguments of the next one."""
    if len(given) != len(returned):
        tracer.refuse("loop-mismatch", operator=name, what=f"{len(returned)} carried values, given {len(given)}")
    for index, (old, new) in enumerate(zip(given, returned)):
        if isinstance(old, torch.Tensor) != isinstance(new, torch.Tensor):
            what = f"a {type(new).__qualname__} for the carried value {index}, a {type(old).__qualname__}"
            tracer.refuse("loop-mismatch", operator=name, what=what)
        if isinstance(old, torch.Tensor):
            for attribute in ("dtype", "device", "ndim"):
                if getattr(old, attribute) != getattr(new, attribute):
                    what = f"{attribute} {getattr(new, attribute)} for the carried value {index}, given "
                    tracer.refuse("loop-mismatch", operator=name, what=f"{what}{getattr(old, attribute)}")
            sizes = [(a, b) for a, b in zip(old.shape, new.shape) if type(a) is int and type(b) is int]
            if any(a != b for a, b in sizes):  # the operator itself compares symbolic ones
                what = f"shape {shape_text(new.shape)} for the carried value {index}, given {shape_text(old.shape)}"
                tracer.refuse("loop-mismatch", operator=name, what=what)


def _finish(tracer: TracerView, steps: list[TracedFunction], outputs: list[Any], names: Sequence[str]) -> list[Any]:
    return subgraph_calls.finish(tracer.recorder, [step.level for step in steps], outputs, names)
