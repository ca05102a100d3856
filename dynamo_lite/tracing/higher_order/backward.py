"""The backward of an autograd.Function, as a sub-graph behind the operators of its forward.

If it cannot be one (it changes Python objects, reads data, calls `backward()`), the sub-graph raises: the program
computes eager's results, and a gradient through it is an error that states why, never another one than eager's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import fx

from dynamo_lite.capture.fakes.static_cache import Inexact
from dynamo_lite.capture.graph import subgraphs
from dynamo_lite.capture.graph.level import Level
from dynamo_lite.capture.graph.lifting import modes_off
from dynamo_lite.capture.graph.unrecorded import unrecorded
from dynamo_lite.errors import GraphBreak
from dynamo_lite.torch_internals._torch_fake import without_mode
from dynamo_lite.torch_internals._torch_pytree import pytree
from dynamo_lite.torch_internals._torch_tensors import _version as _VERSION
from dynamo_lite.tracing.diagnostics import Abort, RunAgain
from dynamo_lite.tracing.higher_order import function_calls
from dynamo_lite.tracing.higher_order.function_calls import FunctionCall
from dynamo_lite.tracing.higher_order.subgraph import trace
from dynamo_lite.tracing.interfaces import FeatureState, TracerView
from dynamo_lite.tracing.vocabulary.type_tests import is_fake, is_tensor


class Applied(NamedTuple):
    """A Function whose forward has run.

    name: its qualified name; key: identifies it in another run, which may make its class anew.
    ctx: its context; given: its arguments; needed: which of them may require grad; result: that of the forward.
    backward: it is called with the result of `arguments` for the gradients.
    """

    name: str
    key: str
    ctx: Any
    given: tuple[Any, ...]
    needed: tuple[bool, ...]
    result: Any
    backward: Any
    arguments: Callable[[list[Any]], list[Any]]

    @property
    def parts(self) -> tuple[Any, ...]:
        """The results, one or several."""
        return self.result if type(self.result) is tuple else (self.result,)


class Uncarried(RunAgain):
    """The backward of a Function cannot be a sub-graph: the run is made again, in which it raises. why: by its key."""

    def __init__(self, why: dict[str, str]) -> None:
        super().__init__("the backward of an autograd.Function cannot be part of the program")
        self.why = why

    def changed(self, request: Any) -> Any:
        return replace(request, uncarried=self.why)


SavedTensor = tuple[torch.Tensor, int, str, fx.GraphModule]
"""A tensor that a Function has saved, its version then, the name of the Function, its backward."""


class Backwards(FeatureState):
    """`uncarried`: why the backward of a Function (by its key) is not part of the program; `at_work`: those that are
    being traced; `saved`: tensors given to `save_for_backward`, with their version then, the Function and its backward;
    `left_out`: results, in a program that is exported without gradients, with the Function's name; `are_operators`:
    whether autograd differentiates the operators of a Function's forward.
    """

    def __init__(self, tracer: TracerView) -> None:
        self._tracer = tracer
        self.uncarried = dict(tracer.uncarried)
        self.at_work: list[str] = []
        self.saved: list[SavedTensor] = []
        self.left_out: dict[fx.Node, str] = {}
        self.are_operators = False

    def save(self) -> int:
        return len(self.saved)

    def restore(self, saved: int) -> None:
        """Check the tensors that a side saved, at its end: after the join they are others (the operands of a cond)."""
        check_saved(self._tracer, self.saved[saved:])
        del self.saved[saved:]


def tie(tracer: TracerView, call: Applied) -> Any:
    """Return the result of `apply`: the results of the forward, through which gradients flow to its arguments."""
    recorder = tracer.recorder
    parts = call.parts
    stand_in = {i: recorder.guarded(recorder.lift, part) for i, part in enumerate(parts) if is_tensor(part)}
    without = {id(recorder.lift(tensor)) for tensor in call.ctx.non_differentiable if is_tensor(tensor)}
    last = {id(fake): i for i, fake in stand_in.items()}  # autograd knows a tensor that is returned twice by that
    through = [i for i in last.values() if _is_differentiable(stand_in[i]) and id(stand_in[i]) not in without]
    if not through:
        return call.result
    given = [recorder.lift(value) for value, needed in zip(call.given, call.needed) if needed]
    changed = {id(recorder.lift(tensor)) for tensor in call.ctx.dirty_tensors if is_tensor(tensor)}
    dirty = [n for n, i in enumerate(through) if id(stand_in[i]) in changed]
    level, gradients = _backward(tracer, call, [stand_in[i] if i in through else None for i, _ in enumerate(parts)])
    saved = subgraphs.align([level])
    nodes = [recorder.node_of(stand_in[i]) for i in through]
    node = function_calls.record(
        recorder,
        FunctionCall(
            [recorder.node_of(value) for value in given],
            nodes,
            dirty,
            type(call.result) is not tuple,
            level,
            gradients,
            [recorder.node_of(value) if is_tensor(value) else recorder.lower_symbolic(value) for value in saved],
        ),
    )
    backward = recorder.level.modules[str(node.args[1].target)]  # type: ignore[union-attr]
    kept = {id(recorder.lift(tensor)) for tensor in call.ctx.to_save if is_tensor(tensor)}
    tensors = [value for value in saved if is_tensor(value) and id(value) in kept]
    tracer.own(Backwards).saved += [(value, _version(value), call.name, backward) for value in tensors]
    held = saved or (None,)  # where nothing is saved, the sub-graph has a placeholder that it does not use
    made = _results(tracer, [stand_in[i] for i in through], dirty, given, (backward, held))
    recorder.bind_result(node, made[0] if type(call.result) is not tuple else (*made,))
    if type(call.result) is not tuple:
        return made[0]
    results = dict(zip(through, made))
    return tuple(results.get(last[id(stand_in[i])] if i in stand_in else i, part) for i, part in enumerate(parts))


def left_out(tracer: TracerView, name: str, result: Any) -> None:
    """A Function has been called in a program that is exported without gradients, and may be called with them."""
    recorder = tracer.recorder
    for part in result if type(result) is tuple else (result,):
        if is_tensor(part) and not recorder.levels:
            tracer.own(Backwards).left_out[recorder.node_of(part)] = name


def check_saved(tracer: TracerView, rows: Sequence[SavedTensor]) -> None:
    """Autograd raises in the backward where a tensor that was saved has been changed in place since; so do these."""
    for tensor, version, name, backward in rows:
        if _version(tensor) != version:
            text = f"{name} has saved a tensor for its backward that is changed in place later on: eager raises, too"
            first = next(node for node in backward.graph.nodes if node.op != "placeholder")
            with backward.graph.inserting_before(first):
                false = backward.graph.call_function(torch.ops.aten.full.default, ([], False), _A_BOOL)
                node = backward.graph.call_function(torch.ops.aten._assert_async.msg, (false, text))
            with modes_off():
                value = tracer.recorder.fake_mode.from_tensor(torch.zeros((), dtype=torch.bool))
            false.meta.update({**first.meta, "val": value})
            node.meta.update({**first.meta, "val": None})


_A_BOOL: dict[str, Any] = {"dtype": torch.bool, "device": torch.device("cpu"), "pin_memory": False}
"""Of the tensor that is false, for an assertion that raises when it runs, and not when torch traces the graph. (It does
so for the backward of a cond: there an assertion of the constant False would raise for both sides.)"""


def _version(tensor: torch.Tensor) -> int:
    counter: Any = _VERSION
    return int(counter.__get__(tensor))


def _is_differentiable(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _backward(tracer: TracerView, call: Applied, through: Sequence[Any]) -> tuple[Level, list[Any]]:
    """Return the sub-graph of the backward, and its results, as fx has them: a gradient or None for each needed
    argument. through: the results that have gradients, None for the others."""
    state, key = tracer.own(Backwards), call.key
    if key in state.at_work:
        why = "it is called in its own backward, and a gradient of the gradient has no end"
        return _raising(tracer, call, through, why)
    if key in state.uncarried:
        return _raising(tracer, call, through, state.uncarried[key])
    state.at_work.append(key)
    try:
        with torch.enable_grad(), _no_autocast():
            return _traced(tracer, call, through)
    except Abort as abort:
        if not isinstance(abort.error, GraphBreak) or isinstance(abort.error, Inexact):
            raise
        error = Uncarried({**state.uncarried, key: abort.error.headline})
        tracer.broken = error
        raise Abort(error) from None
    finally:
        state.at_work.pop()


@contextmanager
def _no_autocast() -> Iterator[None]:
    """The engine runs a backward outside of the regions that its forward is in."""
    on = [kind for kind in ("cpu", "cuda") if torch.is_autocast_enabled(kind)]
    for kind in on:
        torch.set_autocast_enabled(kind, False)
    try:
        yield
    finally:
        for kind in on:
            torch.set_autocast_enabled(kind, True)


def _traced(tracer: TracerView, call: Applied, through: Sequence[Any]) -> tuple[Level, list[Any]]:
    what = f"the backward of {call.name}"
    zeros: list[fx.Node] = []

    def arguments() -> list[Any]:
        return call.arguments(_gradients(tracer, call, through, zeros))

    traced = trace(tracer, what, call.backward, arguments, may_alias=True)
    for node in zeros:
        if not node.users:
            node.graph.erase_node(node)
    returned = pytree.tree_unflatten(traced.outputs(tracer), traced.spec)
    returned = (*returned,) if isinstance(returned, (tuple, list)) else (returned,)
    count = len(call.given)
    if len(returned) < count or any(extra is not None for extra in returned[count:]):
        tracer.refuse("subgraph-output", operator=what, what=f"{len(returned)} gradients for {count} arguments")
    gradients = [gradient for gradient, needed in zip(returned, call.needed) if needed]
    for gradient in gradients:
        if gradient is not None and not isinstance(gradient, fx.Node):
            tracer.refuse("subgraph-output", operator=what, what=f"a {type(gradient).__qualname__}")
    return traced.level, gradients


def _gradients(tracer: TracerView, call: Applied, through: Sequence[Any], zeros: list[fx.Node]) -> list[Any]:
    """Return the arguments of the backward: a fake gradient of each result; for a result without one, zeros or None."""
    recorder = tracer.recorder
    gradients: list[Any] = []
    for number, (result, part) in enumerate(zip(through, call.parts)):
        if result is not None:
            with unrecorded():
                example = torch.empty_like(result, requires_grad=False)
            gradients.append(recorder.levels.argument(example, f"gradient_{number}"))
        elif is_tensor(part) and call.ctx.materialize_grads:
            gradients.append(torch.zeros(part.shape, dtype=part.dtype, device=part.device))
            zeros.append(recorder.node_of(gradients[-1]))
        else:
            gradients.append(None)
    return gradients


def _raising(tracer: TracerView, call: Applied, through: Sequence[Any], why: str) -> tuple[Level, list[Any]]:
    """Return a sub-graph that raises when a gradient is requested."""
    recorder, name = tracer.recorder, call.name
    raises = "which raises where a gradient goes through it"
    tracer.note(f"the backward of {name} is not part of the program, {raises}: {why}")
    text = f"The backward of the autograd.Function {name} is not part of the exported program: {why}"
    with recorder.levels.entered() as level:
        for number, result in enumerate(result for result in through if result is not None):
            with unrecorded():
                example = torch.empty_like(result, requires_grad=False)
            recorder.levels.argument(example, f"gradient_{number}")
        with unrecorded():
            false = torch.zeros((), dtype=torch.bool)
        recorder.record(torch.ops.aten.full.default, ([], False), _A_BOOL, false)
        recorder.record(torch.ops.aten._assert_async.msg, (recorder.node_of(false), text), {}, None)
    return level, [None for needed in call.needed if needed]


def _results(
    tracer: TracerView, values: Sequence[Any], dirty: Sequence[int], given: Sequence[Any], backward: tuple[Any, Any]
) -> list[Any]:
    """Return the fake tensors of the results, with the history that autograd gives them. A tensor that the forward has
    made itself is the very tensor that `apply` returns."""
    taken = {id(value) for value in given}
    held: list[Any] = []
    for number, value in enumerate(values):
        own = is_fake(value) and id(value) not in taken and not value.requires_grad
        if number not in dirty and not (own and tracer.recorder.node_of(value).op == "call_function"):
            with unrecorded(), torch.no_grad():
                value = torch.ops.aten.detach.default(value)
        held.append(value)
        taken.add(id(value))
    if not any(value.requires_grad for value in given):
        return held
    with unrecorded():
        made = without_mode(_apply, _Held(held, dirty, *backward), *given)
    return [*made]


class _Held:
    """Carries tensors past autograd, which would take them for arguments."""

    def __init__(self, tensors: Sequence[Any], dirty: Sequence[int], backward: Any, saved: Sequence[Any]) -> None:
        self.tensors, self.dirty, self.backward, self.saved = tensors, dirty, backward, saved


class _Stood(torch.autograd.Function):
    """A Function on the fake tensors: torch.autograd.grad in the program runs its backward as it is recorded."""

    @staticmethod
    def forward(ctx: Any, held: _Held, *given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.held = held
        if held.dirty:
            ctx.mark_dirty(*(held.tensors[number] for number in held.dirty))
        return tuple(held.tensors)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        held, count = ctx.held, len(ctx.needs_input_grad) - 1
        return (None, *fx.Interpreter(held.backward).run(*gradients, *held.saved)[:count])


_apply = super(torch.autograd.Function, _Stood).apply
