"""autograd.Function: the operators of its forward are the program's, and its backward is a sub-graph tied to them.

Autograd runs the forward without gradients: in the program it is a region without gradients. The backward is
interpreted right after it, on fake gradients of the results (backward.py). A program that no gradient can flow through
there has the operators of the forward alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.autograd.function import FunctionCtx

from dynamo_lite.capture._torch import FakeTensor
from dynamo_lite.capture.graph.lifting import LiftedKind
from dynamo_lite.capture.kernels import functorch
from dynamo_lite.torch_internals._torch_autograd import APPLY_IS_PYTHON, BackwardHookFunction
from dynamo_lite.torch_internals._torch_state import _set_grad_enabled
from dynamo_lite.tracing.higher_order import backward
from dynamo_lite.tracing.higher_order.backward import Applied
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor, is_wrapped

Function = torch.autograd.Function


class Context(FunctionCtx):
    """The `ctx` of a call. Autograd's own keeps tensors only where one of the example's arguments requires grad."""

    to_save: tuple[Any, ...] = ()
    saved_for_forward: tuple[Any, ...] = ()
    dirty_tensors: tuple[Any, ...] = ()
    non_differentiable: tuple[Any, ...] = ()
    materialize_grads = True
    needs_input_grad: tuple[bool, ...] = ()

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The arguments of `save_for_backward`."""
        return tuple(self.to_save)

    saved_variables = saved_tensors


def call_function(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Function.apply(cls, *args)."""
    cls, *given = args
    recorder = tracer.recorder
    name = cls.__qualname__
    if recorder.has_dual_level and cls.setup_context is Function.setup_context:
        tracer.refuse("higher-order-operator", function=f"{name}.apply on dual numbers, without a setup_context,")
    if not torch.is_grad_enabled() or cls is BackwardHookFunction:
        result = _as_operators(tracer, fn, args, kwargs)
        if not recorder.grad_enabled and any(is_tensor(v) and _may_require_grad(tracer, v) for v in given):
            backward.left_out(tracer, name, result)
        return result
    if functorch.active() and not recorder.has_dual_level:
        with _answered_below(tracer, fn):
            return _as_operators(tracer, fn, args, kwargs)
    if recorder.has_dual_level or any(is_tensor(value) and not _is_plain(value) for value in given):
        tracer.note(f"the backward of {name} is not part of the program; its gradients are the operators'")
        return _as_operators(tracer, fn, args, kwargs)
    needed = tuple(is_tensor(value) and _may_require_grad(tracer, value) for value in given)
    if not any(needed):
        return _as_operators(tracer, fn, args, kwargs)
    return _tied(tracer, cls, given, kwargs, needed)


@contextmanager
def _answered_below(tracer: TracerView, fn: Any) -> Iterator[None]:
    """torch calls `apply` again below a transform, in functions of its own that run natively: there it is answered by
    its rule as well."""
    own = vars(Function)["apply"]
    trampolines = tracer.vm.trampolines

    def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
        was, trampolines.open = trampolines.open, False
        try:
            return call_function(tracer, fn, (cls, *args), kwargs)
        finally:
            trampolines.open = was

    Function.apply = classmethod(apply)  # type: ignore[assignment,method-assign]
    try:
        yield
    finally:
        Function.apply = own  # type: ignore[method-assign]


def _is_plain(tensor: torch.Tensor) -> bool:
    return type(tensor) in (FakeTensor, torch.Tensor, torch.nn.Parameter) and not is_wrapped(tensor)


def _as_operators(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The operators of the forward, which autograd differentiates."""
    recorder = tracer.recorder
    tracer.own(backward.Backwards).are_operators = True
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
    """Return the result, with the tensors that the Function marks with `ctx.mark_non_differentiable` detached: autograd
    would differentiate their operators."""
    if not any(isinstance(arg, torch.Tensor) and arg.requires_grad for arg in args):
        return result
    if isinstance(result, torch.Tensor):
        return result.detach() if result.is_floating_point() and not result.requires_grad else result
    return tuple(_without_gradients(args, part) for part in result) if type(result) is tuple else result


def _may_require_grad(tracer: TracerView, tensor: torch.Tensor) -> bool:
    """Whether this argument may require grad, in this call or in another one."""
    recorder = tracer.recorder
    fake = recorder.guarded(recorder.lift, tensor)
    if not is_differentiable(fake):
        return False
    if fake.requires_grad or recorder.levels:
        return True
    state = {lifted.node for lifted in recorder.lifted if lifted.kind is not LiftedKind.PARAMETER}
    todo, seen = [recorder.node_of(fake)], set(state)
    while todo:
        node = todo.pop()
        if node in seen or node.target in _STOPS or not _may_be_differentiable(node.meta.get("val")):
            continue
        if node.op == "placeholder":
            return True
        seen.add(node)
        todo += node.all_input_nodes
    return False


_STOPS = frozenset({torch.ops.aten.detach.default, _set_grad_enabled})


def _may_be_differentiable(value: Any) -> bool:
    return is_differentiable(value) if is_tensor(value) else isinstance(value, (tuple, list))


def is_differentiable(tensor: torch.Tensor) -> bool:
    """Whether a tensor of this dtype can have a gradient."""
    return tensor.is_floating_point() or tensor.is_complex()


def _tied(tracer: TracerView, cls: Any, given: list[Any], kwargs: dict[str, Any], needed: tuple[bool, ...]) -> Any:
    """Do the work of `apply` in C++, with the backward as part of the program."""
    ctx = Context()
    ctx.needs_input_grad = needed
    vm = tracer.vm
    tracer.recorder.around_function = None  # set above a transform that this is called below
    if cls.setup_context is Function.setup_context:
        with torch.no_grad():
            result = vm.call(cls.forward, (ctx, *given), kwargs)
    else:
        bound = inspect.signature(cls.forward).bind(*given, **kwargs)
        bound.apply_defaults()
        given = [*bound.args]
        ctx.needs_input_grad = (*needed, *[False] * (len(given) - len(needed)))
        with torch.no_grad():
            result = vm.call(cls.forward, bound.args, bound.kwargs)
            vm.call(cls.setup_context, (ctx, bound.args, result), {})

    def arguments(gradients: list[Any]) -> list[Any]:
        own = Context()  # what the backward changes of it is gone behind it
        vars(own).update(vars(ctx))
        return [own, *gradients]

    key = f"{cls.__module__}.{cls.__qualname__}"
    function = cls.vjp if cls.vjp is not Function.vjp else cls.backward
    needed = ctx.needs_input_grad
    call = Applied(cls.__qualname__, key, ctx, tuple(given), needed, result, function, arguments)
    return backward.tie(tracer, call)


def call_apply(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """AutogradFunctionApply.__call__(op, forward, backward, *operands, ...): a program that is exported again."""
    op, forward, function, *given = args
    if not torch.is_grad_enabled():
        return tracer.vm.call(forward, tuple(given), {})[0]
    ctx = Context()
    ctx.needs_input_grad = tuple(is_tensor(value) and _may_require_grad(tracer, value) for value in given)
    with torch.no_grad():
        result, saved = tracer.vm.call(forward, tuple(given), {})
    parts = result if isinstance(result, (tuple, list)) else (result,)
    without, dirty = (kwargs.get(name, ()) for name in ("non_differentiable_idx", "dirty_idx"))
    ctx.non_differentiable = tuple(part for number, part in enumerate(parts) if number in without)
    ctx.dirty_tensors = tuple(part for number, part in enumerate(parts) if number in dirty)
    if not any(ctx.needs_input_grad):
        return result

    def arguments(gradients: list[Any]) -> list[Any]:
        return [*gradients, *saved]

    name, needed = op.name(), ctx.needs_input_grad
    call = Applied(name, f"{name} {id(function)}", ctx, tuple(given), needed, result, function, arguments)
    return backward.tie(tracer, call)
