"""How torch hands an operator to the mode at the PreDispatch key: the private API, and a shorter way.

torch builds a handler for each call, which pops the mode through a context manager and flattens the arguments for the
`types` of `__torch_dispatch__`: some ninety Python calls for each operator. `Shortcut` leaves a handler in the
operator's dispatch cache that does the same for one mode alone, and hands any other call to torch's own.

Checked with torch 2.13.0; with 2.14.1 and 2.15.0 the names alone, in their sources: there torch goes its own way.
"""

from __future__ import annotations

from _thread import _count as _other_threads
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import get_ident
from typing import Any, Protocol

import torch
from torch._C import _dispatch_tls_set_dispatch_key_included as _set_included
from torch._ops import mode_stack_state_for_pre_dispatch
from torch._subclasses import schema_check_mode as _asked_for_by_a_mode  # noqa: F401  # by _set_mode_pre_dispatch

from dynamo_lite.symbolic_shapes.torch_versions import Symbol
from dynamo_lite.torch_internals._torch_dispatch import DispatchKey
from dynamo_lite.torch_internals._torch_dispatch import _dispatch_tls_is_dispatch_key_excluded as _is_excluded
from dynamo_lite.torch_internals._torch_operators import OpOverload
from dynamo_lite.undoing import attributes, changed

DISABLES = "every export and trace"
"""The features that fail if one of these is missing."""

SYMBOLS = (
    Symbol("torch._C:_dispatch_tls_set_dispatch_key_included", "the mode is off while it answers"),
    Symbol("torch._ops:OpOverload._dispatch_cache", "where a handler is left"),
    Symbol("torch._ops:OpOverload._get_dispatch", "torch's own handler, for another mode"),
    Symbol("torch._ops:OpOverload._uncache_dispatch", "the handler is taken away"),
    Symbol("torch._ops:_mode_stack_state_for_pre_dispatch", "a state of the key for each thread"),
    Symbol("torch._ops:mode_stack_state_for_pre_dispatch", "which modes are at the PreDispatch key"),
    Symbol("torch._subclasses:schema_check_mode", "torch imports it when a mode is set, which a run is not to do"),
    Symbol("torch._ops#__infra_modes", "the list of the modes at the PreDispatch key"),
    Symbol("torch._ops#_schema_check_mode", "a mode at the key that is in no list"),
)

__all__ = ["Shortcut", "modes_of_thread"]

_STATE = "_mode_stack_state_for_pre_dispatch"
_PRE_DISPATCH, _PYTHON = DispatchKey.PreDispatch, DispatchKey.Python
_CHECKED = torch.__version__.startswith("2.13.")  # another torch takes its own way


class PlainOperatorMode(Protocol):
    """A mode that answers for an operator without its `types`."""

    def operator(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any: ...


class _OfThread(type(mode_stack_state_for_pre_dispatch())):  # type: ignore[misc]
    """torch's state of the key, with modes of its own for one thread. (torch has one for the whole process.)"""

    def __init__(self, plain: Any) -> None:
        self.own = type(plain)()
        for index in range(_MODES):
            self.own.set(index, plain.get(index))
        self._plain, self._thread = plain, get_ident()
        self._schema_check_mode = plain._schema_check_mode

    def _here(self) -> Any:
        return self.own if get_ident() == self._thread else self._plain

    def set(self, index: int, mode: Any) -> None:
        self._here().set(index, mode)

    def get(self, index: int) -> Any:
        return self._here().get(index)

    def count(self) -> int:
        return int(self._here().count())

    @property
    def _schema_check_mode(self) -> Any:
        return self._here()._schema_check_mode

    @_schema_check_mode.setter
    def _schema_check_mode(self, mode: Any) -> None:
        self._here()._schema_check_mode = mode


_MODES = 2


@contextmanager
def modes_of_thread() -> Iterator[None]:
    """Within, this thread has modes at the PreDispatch key of its own: torch.export may run in another one."""
    plain = mode_stack_state_for_pre_dispatch()
    if type(plain) is _OfThread or not _other_threads():
        yield
        return
    with changed(attributes(torch._ops, _STATE)):
        setattr(torch._ops, _STATE, _OfThread(plain))
        yield


class Shortcut:
    """The handlers for one mode, which is in torch's slot for proxy modes and does not need `types`."""

    def __init__(self) -> None:
        self._handlers: dict[int, tuple[OpOverload[..., Any], Callable[..., Any]]] = {}
        stack: Any = mode_stack_state_for_pre_dispatch()
        self._stack: Any = getattr(stack, "own", stack)
        self._modes: list[Any] = vars(self._stack)[f"_{type(self._stack).__name__.lstrip('_')}__infra_modes"]

    def add(self, operator: OpOverload[..., Any], mode: PlainOperatorMode) -> None:
        """From now on, and until `clear`, calls of this operator take the shorter way to `mode`."""
        if id(operator) in self._handlers or type(operator) is not OpOverload or not _CHECKED:
            return
        cache = operator._dispatch_cache
        if _PRE_DISPATCH not in cache:  # that of a trace around this one stays
            handler = cache[_PRE_DISPATCH] = _handler(operator, mode, self._stack, self._modes)
            self._handlers[id(operator)] = (operator, handler)

    def add_common(self, mode: PlainOperatorMode) -> None:
        """The operators that most programs have, before the first call of each. `mode` is at the key already."""
        for operator in _common():
            self.add(operator, mode)

    def clear(self) -> None:
        """Takes the handlers away: they hold the mode."""
        for operator, handler in self._handlers.values():
            if operator._dispatch_cache.get(_PRE_DISPATCH) is handler:
                operator._uncache_dispatch(_PRE_DISPATCH)
        self._handlers.clear()


def _handler(
    operator: OpOverload[..., Any], mode: PlainOperatorMode, stack: Any, modes: list[Any]
) -> Callable[..., Any]:
    """The same as torch's own handler if `mode` is the only one at the key.

    stack: torch's state of the key; modes: its list of modes.
    """
    run, thread = mode.operator, get_ident()

    def handler(*args: Any, **kwargs: Any) -> Any:
        first, second = modes
        if first is not mode or second is not None or stack._schema_check_mode is not None or _is_excluded(_PYTHON):
            return _as_torch_does(operator, args, kwargs)
        if get_ident() != thread:
            return _as_torch_does(operator, args, kwargs)
        modes[0] = None
        _set_included(_PRE_DISPATCH, False)
        try:
            return run(operator, args, kwargs)
        finally:
            modes[0] = mode
            _set_included(_PRE_DISPATCH, True)

    return handler


def _as_torch_does(operator: OpOverload[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The call through what torch finds without a handler in its cache."""
    handler = operator._dispatch_cache.pop(_PRE_DISPATCH, None)
    try:
        found = operator._get_dispatch(_PRE_DISPATCH)
    finally:
        if handler is not None:
            operator._dispatch_cache[_PRE_DISPATCH] = handler
    return operator._op_dk(found, *args, **kwargs) if isinstance(found, DispatchKey) else found(*args, **kwargs)


_COMMON = (
    *("linear", "layer_norm", "scaled_dot_product_attention", "conv2d", "embedding", "dropout", "gelu", "relu", "silu"),
    *("sigmoid", "tanh", "batch_norm", "max_pool2d", "adaptive_avg_pool2d", "softmax.int", "matmul", "addmm"),
    *("add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor", "neg", "rsqrt", "pow.Tensor_Scalar", "mean.dim"),
    *("add_.Tensor", "cumsum", "__and__.Tensor", "ge.Scalar", "le.Tensor", "ne.Scalar", "eq.Scalar", "gt.Scalar"),
    *("view", "reshape", "transpose.int", "permute", "unsqueeze", "squeeze.dim", "flatten.using_ints", "expand"),
    *("slice.Tensor", "select.int", "index.Tensor", "cat", "stack", "repeat", "split_with_sizes", "where.self"),
    *("contiguous", "to.dtype", "to.dtype_layout", "to.device", "arange", "zeros", "new_ones", "zeros_like"),
)
"""Four fifths of the distinct operators in the graphs of 33 models. One that a program does not have costs it 3 µs."""


@cache
def _common() -> tuple[OpOverload[..., Any], ...]:
    named = [name.partition(".") for name in _COMMON]
    return tuple([getattr(getattr(torch.ops.aten, packet), overload or "default") for packet, _, overload in named])
