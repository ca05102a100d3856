"""Numbers of torch.autograd.forward_ad: `with dual_level(): unpack_dual(f(make_dual(x, t)))`.

Tangents are computed below autograd, where the recorder sees no operator. Within a transform of functorch they are
operators on plain tensors (capture/kernels/functorch.py), and torch.func.jvp is one such transform around forward_ad.
So a level of the program's is entered as torch.func.jvp enters its own: within a level of functorch's.
"""

from __future__ import annotations

from typing import Any

from torch.autograd import forward_ad

from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.torch_internals._torch_functorch import (
    _jvp_decrement_nesting,
    _jvp_increment_nesting,
    _unwrap_for_grad,
    maybe_current_level,
)
from dynamo_lite.tracing.feature import Feature
from dynamo_lite.tracing.interfaces import FeatureState, Step, TracerView


class DualLevel(FeatureState):
    """functorch's level for the program's dual level, None outside of one (torch has no second within it)."""

    def __init__(self, tracer: TracerView) -> None:
        self._tracer = tracer
        self.level: int | None = None

    def save(self) -> int | None:
        return self.level

    def changed(self, saved: int | None) -> str | None:
        return None if self.level == saved else "the level of torch.autograd.forward_ad"

    def restore(self, saved: int | None) -> None:
        if self.level is not None and saved is None:
            _leave(self._tracer, self)
            forward_ad.exit_dual_level()


def _enter(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """enter_dual_level() and dual_level.__enter__(self)"""
    if tracer.in_library():
        return NOT_HANDLED
    own = tracer.own(DualLevel)
    if own.level is not None or maybe_current_level() is not None or not tracer.sees_python:
        place = "within a transform" if tracer.sees_python else "with strict=False"
        tracer.refuse("higher-order-operator", function=f"torch.autograd.forward_ad.dual_level {place}")
    entered = fn(*args, **kwargs)
    own.level = _jvp_increment_nesting()
    tracer.recorder.has_dual_level = True
    return entered


def _make(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """make_dual(tensor, tangent, *, level=None)"""
    if not tracer.sees_python and not tracer.in_library():
        tracer.refuse("higher-order-operator", function="torch.autograd.forward_ad.make_dual with strict=False")
    return NOT_HANDLED


def _exit(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """exit_dual_level(*, level=None) and dual_level.__exit__(self, ...)"""
    own = tracer.own(DualLevel)
    if tracer.in_library() or own.level is None:
        return NOT_HANDLED
    _leave(tracer, own)
    return fn(*args, **kwargs)


def _unpack(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """unpack_dual(tensor, *, level=None)"""
    own = tracer.own(DualLevel)
    if tracer.in_library() or own.level is None:
        return NOT_HANDLED
    parts = fn(*args, **kwargs)
    return type(parts)(*(None if part is None else _unwrap_for_grad(part, own.level) for part in parts))


def _leave(tracer: TracerView, own: DualLevel) -> None:
    own.level = None
    tracer.recorder.has_dual_level = False
    _jvp_decrement_nesting()


def end(tracer: TracerView, has_returned: bool) -> None:
    """Leaves the level that a run has not left; refuses the program if it has returned."""
    own = tracer.own(DualLevel)
    if own.level is None:
        return
    _leave(tracer, own)
    forward_ad.exit_dual_level()
    if has_returned:
        tracer.refuse("process-state", function="torch.autograd.forward_ad.enter_dual_level")


_RULES: dict[int, Step] = {
    id(function): rule
    for function, rule in (
        (forward_ad.enter_dual_level, _enter),
        (forward_ad.dual_level.__enter__, _enter),
        (forward_ad.exit_dual_level, _exit),
        (forward_ad.dual_level.__exit__, _exit),
        (forward_ad.make_dual, _make),
        (forward_ad.unpack_dual, _unpack),
    )
}

FEATURE = Feature(
    name="forward_ad",
    state=(DualLevel,),
    rules=lambda: _RULES,
    on={"ended": end},
    graph_breaks=("higher-order-operator", "process-state"),
)
