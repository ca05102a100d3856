"""torch.autograd inside of the program: autograd.grad, and hooks on gradients. (Functions: functions.py.)"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, NoReturn

import torch
from torch import fx

from dynamo_lite.capture.fakes.results import NoGradient
from dynamo_lite.capture.fakes.static_cache import Inexact, Memory
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.torch_internals._torch_dispatch import DisableTorchFunction
from dynamo_lite.torch_internals._torch_pytree import pytree
from dynamo_lite.tracing.diagnostics import RunAgain
from dynamo_lite.tracing.interfaces import FeatureState, TracerView
from dynamo_lite.tracing.tensors.side_differences import SideDifferences
from dynamo_lite.tracing.vocabulary.program_points import Mark
from dynamo_lite.tracing.vocabulary.type_tests import is_fake, is_wrapped


class SavedHooks(NamedTuple):
    """A region of saved_tensors_hooks: the nodes after `first`, up to `last` (None: up to the end)."""

    first: fx.Node | None
    last: fx.Node | None
    mark: Mark


def call_grad(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """torch.autograd.grad: the engine runs on the fake tensors, and its operators are recorded like any others."""
    args = tuple(_listed(tracer, value) if number < 2 else value for number, value in enumerate(args))
    kwargs = {name: _listed(tracer, value) if name in _OF_TENSORS else value for name, value in kwargs.items()}
    for tensor in pytree.tree_leaves(args[1] if len(args) > 1 else kwargs.get("inputs")):
        if isinstance(tensor, torch.Tensor):
            check_hooks(tracer, tensor, (_BACKWARD,))
    if tracer.recorder.levels:  # the sides of a branch are run again from the same autograd graph
        if len(args) > 3:
            args = (*args[:3], True, *args[4:])
        else:
            kwargs = {**kwargs, "retain_graph": True}
    return with_engine(tracer, fn, args, kwargs, "torch.autograd.grad")


_OF_TENSORS = ("outputs", "inputs")


def _listed(tracer: TracerView, value: Any) -> Any:
    """The tensors of an iterable that pytree does not know, as a tuple, as torch takes them: `model.parameters()`."""
    if isinstance(value, (torch.Tensor, tuple, list, Mapping)) or not hasattr(type(value), "__iter__"):
        return value
    return tracer.vm.call(tuple, (value,), {})


class HookKind(NamedTuple):
    """Where a tensor keeps a kind of hooks, and the method that registers them."""

    attribute: str
    method: str


_BACKWARD = HookKind("_backward_hooks", "Tensor.register_hook")
HOOKS = (_BACKWARD, HookKind("_post_accumulate_grad_hooks", "Tensor.register_post_accumulate_grad_hook"))


class WithoutHooks(FeatureState):
    """The tensors whose hooks the program would leave out, and which have none: those from before the run, with the
    kinds of hooks, and the numbers of inputs."""

    stays = "a guard of one side is a guard of the program"

    def __init__(self, tracer: TracerView) -> None:
        self.all: list[tuple[torch.Tensor, tuple[HookKind, ...]]] = []
        self.inputs: dict[int, tuple[str, ...]] = {}  # the attributes that hold the hooks


def has_no_hooks(tensor: torch.Tensor, kinds: tuple[HookKind, ...]) -> bool:
    """Whether a tensor has no hooks of these kinds."""
    with DisableTorchFunction():
        return not any(getattr(tensor, kind.attribute, None) for kind in kinds)


def check_hooks(tracer: TracerView, tensor: torch.Tensor, kinds: tuple[HookKind, ...] = HOOKS) -> None:
    """Refuse the hooks of a tensor that existed before the run: the fake tensor for it has none of them."""
    recorder = tracer.recorder
    outer, number = recorder.original(tensor), recorder.input_number(tensor)
    for holder in (outer,) if number is None else (outer, tracer.inputs.leaves[number]):
        for kind in kinds:
            if not has_no_hooks(holder, (kind,)):
                tracer.refuse("gradient-hook", function=kind.method)
    state = tracer.own(WithoutHooks)
    if number is not None:
        state.inputs[number] = tuple(dict.fromkeys([*state.inputs.get(number, ()), *(k.attribute for k in kinds)]))
    elif not is_fake(outer):
        state.all.append((outer, kinds))


def with_engine(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> Any:
    """Interpret `fn`, a Python function of torch that runs the autograd engine, on the fake tensors of its arguments.

    That needs their real autograd graph, which cached results do not have: the trace is made again without them.
    """
    recorder = tracer.recorder
    if any(isinstance(t, torch.Tensor) and is_wrapped(t) for t in pytree.tree_leaves((args, kwargs))):
        return NOT_HANDLED  # a functorch transform, which keeps an autograd graph of its own
    differences = tracer.own(SideDifferences)
    if differences.lost or differences.tangled:  # loops whose results are detached
        _refuse_gradient(tracer)
    if recorder.memory is not Memory.AUTOGRAD:
        tracer.abort(Inexact(f"{name} needs the autograd graph of every operator", Memory.AUTOGRAD))
    args, kwargs = pytree.tree_map_only(torch.Tensor, lambda t: recorder.guarded(recorder.lift, t), (args, kwargs))
    try:
        return tracer.vm.interpret_function(fn, args, kwargs)
    except NoGradient:  # the results of operators with sub-graphs have no autograd graph, whatever the memory
        _refuse_gradient(tracer)


class ThroughBranch(RunAgain):
    """The autograd engine asks for a gradient through a branch: the run is made again, with the sides run on."""

    def __init__(self) -> None:
        super().__init__("a gradient goes through a branch on data")

    def changed(self, request: Any) -> Any:
        return replace(request, carries_gradients=True)


def _refuse_gradient(tracer: TracerView) -> NoReturn:
    differences = tracer.own(SideDifferences)
    if differences.joined and not differences.carries_gradients:
        tracer.abort(ThroughBranch())
    tracer.refuse("control-flow-gradient")


class SavedRegions(FeatureState):
    """The regions of saved_tensors_hooks, and the numbers of those that are not over (None: torch's own hooks)."""

    stays = "regions are left as they are entered"

    def __init__(self, tracer: TracerView) -> None:
        self.all: list[SavedHooks] = []
        self.open: list[int | None] = []


class RegisteredHooks(FeatureState):
    """The hooks that the program has registered on tensors of its own: the function, and where."""

    stays = "there are none on a side of a branch"

    def __init__(self, tracer: TracerView) -> None:
        self.all: list[tuple[str, Mark]] = []


def call_hook(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Tensor.register_hook and friends: code that runs in the backward. Of a tensor that the program has made, that may
    be a backward of the program, in which the hook is interpreted (features/training/hooks.py). Another backward is
    not: the program does not hold the hook."""
    tensor, *rest = args
    if isinstance(tensor, torch.Tensor) and not tensor.requires_grad:
        return NOT_HANDLED  # an error in eager too
    name, recorder = f"Tensor.{fn.__name__}", tracer.recorder
    is_own = is_fake(tensor) and not is_wrapped(tensor) and not recorder.is_input(tensor) and not tensor.is_leaf
    if not is_own or len(rest) != 1 or kwargs or recorder.levels or not tracer.sees_python:
        tracer.refuse("gradient-hook", function=name)
    tracer.own(RegisteredHooks).all.append((name, tracer.mark()))
    return fn(tensor, partial(call_registered, tracer, rest[0]))


def call_registered(tracer: TracerView, hook: Any, gradient: torch.Tensor) -> torch.Tensor:
    """The engine calls a hook with a gradient. Returns the gradient that it goes on with."""
    result = tracer.vm.call(hook, (gradient,), {})
    if not isinstance(result, torch.Tensor):
        return gradient if result is None else result  # of which the engine complains as in eager
    lifted: torch.Tensor = tracer.recorder.guarded(tracer.recorder.lift, result)
    return lifted


def call_push_saved_hooks(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """torch.autograd.graph.saved_tensors_hooks: code that runs when autograd saves a tensor, and in the backward.

    Fake tensors are not always saved (capture/fakes/static_cache.py), so the hooks are not run on them; the end of the
    run (requires_grad.py) determines whether eager had anything to save.
    """
    if all(str(getattr(hook, "__module__", "")).startswith("torch.autograd.") for hook in args):
        tracer.note("torch.autograd.graph.save_on_cpu was ignored: where a tensor is kept changes no gradient")
    elif tracer.recorder.levels:
        tracer.refuse("gradient-hook", function="torch.autograd.graph.saved_tensors_hooks")
    else:
        tracer.own(SavedRegions).all.append(SavedHooks(_last_node(tracer), None, tracer.mark()))
        tracer.own(SavedRegions).open.append(len(tracer.own(SavedRegions).all) - 1)
        return None
    tracer.own(SavedRegions).open.append(None)
    return None


def _last_node(tracer: TracerView) -> fx.Node | None:
    return next(iter(reversed(tracer.recorder.graph.nodes)), None)


def call_pop_saved_hooks(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The end of the region of the hooks that were pushed last."""
    number = tracer.own(SavedRegions).open.pop() if tracer.own(SavedRegions).open else None
    if number is not None:
        tracer.own(SavedRegions).all[number] = tracer.own(SavedRegions).all[number]._replace(last=_last_node(tracer))
    return None
