"""torch.autograd inside of the program: autograd.grad, and Functions with a backward of their own."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import fx

from dynamo_lite.capture.fakes.results import NoGradient
from dynamo_lite.capture.fakes.static_cache import Inexact, Memory
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.torch_internals._torch_autograd import APPLY_IS_PYTHON
from dynamo_lite.torch_internals._torch_pytree import pytree
from dynamo_lite.tracing.interfaces import FeatureState, TracerView
from dynamo_lite.tracing.tensors.unlike_sides import UnlikeSides
from dynamo_lite.tracing.vocabulary.program_points import Mark
from dynamo_lite.tracing.vocabulary.type_tests import is_wrapped


class SavedHooks(NamedTuple):
    """A region of saved_tensors_hooks: the nodes after `first`, up to `last` (None: up to the end)."""

    first: fx.Node | None
    last: fx.Node | None
    mark: Mark


def call_grad(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """torch.autograd.grad: the engine runs on the stand-ins, and what it computes is recorded like any operator.

    That needs their real autograd graph, which results from memory do not have: the trace is made again without them.
    """
    recorder = tracer.recorder
    if any(isinstance(t, torch.Tensor) and is_wrapped(t) for t in pytree.tree_leaves((args, kwargs))):
        return NOT_HANDLED  # a functorch transform, which keeps an autograd graph of its own
    if tracer.own(UnlikeSides).lost:  # loops whose results are detached
        tracer.refuse("control-flow-gradient")
    if recorder.memory is not Memory.AUTOGRAD:
        tracer.abort(Inexact("torch.autograd.grad needs the autograd graph of every operator", Memory.AUTOGRAD))
    args, kwargs = pytree.tree_map_only(torch.Tensor, lambda t: recorder.guarded(recorder.lift, t), (args, kwargs))
    try:
        return tracer.vm.interpret_function(fn, args, kwargs)
    except NoGradient:  # the results of operators with sub-graphs have no autograd graph, whatever the memory
        tracer.refuse("control-flow-gradient")


class SavedRegions(FeatureState):
    """The regions of saved_tensors_hooks, and the numbers of those that are not over (None: torch's own hooks)."""

    def __init__(self, tracer: TracerView) -> None:
        self.all: list[SavedHooks] = []
        self.open: list[int | None] = []


def call_hook(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Tensor.register_hook and friends: code that runs in the backward, which a program does not hold."""
    tensor = args[0]
    if isinstance(tensor, torch.Tensor) and not tensor.requires_grad:
        return NOT_HANDLED  # an error in eager too
    tracer.refuse("gradient-hook", function=f"Tensor.{fn.__name__}")


def call_push_saved_hooks(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """torch.autograd.graph.saved_tensors_hooks: code that runs when autograd saves a tensor, and in the backward.

    Stand-ins are not always saved (capture/fakes/static_cache.py), so the hooks stay away from them; at the end of
    the run
    (requires_grad.py) it is known whether eager had anything to save.
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


class Functions(FeatureState):
    """are_used: whether the program has called an autograd.Function."""

    def __init__(self, tracer: TracerView) -> None:
        self.are_used = False


def call_function(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """autograd.Function.apply: the operators of its forward are in the program, its backward is not.

    Autograd runs the forward without gradients; in the program it is operators like any other, which autograd
    differentiates (a region without gradients would cut the program in two for training).
    """
    name = args[0].__qualname__
    tracer.own(Functions).are_used = True
    tracer.note(f"the backward of {name} is not part of the program; its gradients are the operators'")
    recorder = tracer.recorder
    if recorder.has_dual_level and args[0].setup_context is torch.autograd.Function.setup_context:
        tracer.refuse("higher-order-operator", function=f"{name}.apply on dual numbers, without a setup_context,")
    before = recorder.around_function
    if before is None:
        recorder.around_function = torch.is_grad_enabled()
    try:
        if APPLY_IS_PYTHON:
            result = tracer.vm.interpret_function(fn, args, kwargs)
        else:  # it calls the class's own forward back
            result = tracer.vm.call_natively(fn.__get__(None, args[0]), fn, args[1:], args, kwargs)
    finally:
        recorder.around_function = before
    return _without_gradients(args, result) if before is None and torch.is_grad_enabled() else result


def _without_gradients(args: tuple[Any, ...], result: Any) -> Any:
    """The result, where what the Function marks with `ctx.mark_non_differentiable` is detached: autograd
    would differentiate the operators that it is made of."""
    if not any(isinstance(arg, torch.Tensor) and arg.requires_grad for arg in args):
        return result
    if isinstance(result, torch.Tensor):
        return result.detach() if result.is_floating_point() and not result.requires_grad else result
    return tuple(_without_gradients(args, part) for part in result) if type(result) is tuple else result
