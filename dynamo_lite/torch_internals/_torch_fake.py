"""The private torch API for FakeTensors.

Checked with torch 2.13.0, 2.14.1 and 2.15.0.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch._C import (
    _PreserveDispatchKeyGuard,
    _set_dispatch_mode,
    _set_meta_in_tls_dispatch_include,
    _set_throw_on_mutable_data_ptr,
    _set_warn_deprecated_on_mutable_data_ptr,
    _unset_dispatch_mode,
)
from torch._subclasses.fake_tensor import FakeTensor as FakeTensor
from torch._subclasses.fake_tensor import FakeTensorConfig, FakeTensorMode, in_kernel_invocation_manager

from dynamo_lite.symbolic_shapes.torch_versions import Symbol
from dynamo_lite.torch_internals._torch_dispatch import (
    _DisableTorchDispatch,
    _get_dispatch_mode,
    _TorchDispatchModeKey,
)

DISABLES = "every export and trace"
"""The features that fail if one of these is missing."""

SYMBOLS = (
    Symbol("torch._subclasses.fake_tensor:FakeTensor", "fake tensors"),
    Symbol("torch._subclasses.fake_tensor:FakeTensorConfig", "whether fake tensors keep where they were made"),
    Symbol("torch._subclasses.fake_tensor:FakeTensorMode", "the mode of a fake tensor"),
    Symbol("torch._subclasses.fake_tensor#_fake_device", "the device of a fake tensor"),
    Symbol("torch._subclasses.fake_tensor#_allow_unsafe_data_ptr_access", "reading a fake tensor's memory"),
    Symbol("torch._subclasses.fake_tensor:in_kernel_invocation_manager", "operators on their meta tensors"),
    Symbol("torch._C:_PreserveDispatchKeyGuard", "operators on their meta tensors"),
    Symbol("torch._C:_set_meta_in_tls_dispatch_include", "operators on their meta tensors"),
    Symbol("torch._C:_set_dispatch_mode", "the mode of fake tensors is back after autograd has looked at one"),
    Symbol("torch._C:_unset_dispatch_mode", "autograd asks a fake tensor for its device, not the mode"),
    Symbol("torch._C:_set_throw_on_mutable_data_ptr", "reading a fake tensor's memory"),
    Symbol("torch._C:_set_warn_deprecated_on_mutable_data_ptr", "reading a fake tensor's memory"),
)

__all__ = [
    "FakeTensor",
    "FakeTensorMode",
    "device_of",
    "in_kernel",
    "in_kernel_invocation_manager",
    "make_fake",
    "without_mode",
]

device_of: Callable[[FakeTensor], torch.device] = operator.attrgetter("_fake_device")
"""`FakeTensor.fake_device`, without a call of Python."""
_states: list[dict[str, Any]] = []


def make_fake(
    mode: FakeTensorMode, meta: torch.Tensor, device: torch.device, requires_grad: bool = False
) -> FakeTensor:
    """FakeTensor(mode, meta, device, requires_grad=requires_grad), without its constructor's checks.

    meta: a meta tensor of its own. device: with an index if its type has one. The other attributes are copied from a
    FakeTensor made by torch's constructor, if all of them are None there; otherwise the constructor is called.
    """
    state = _state_of(mode)
    if not state or FakeTensorConfig.debug:
        return FakeTensor(mode, meta, device, requires_grad=requires_grad)
    made: FakeTensor = torch.Tensor._make_subclass(
        FakeTensor, meta, requires_grad, dispatch_device=True, device_for_backend_keys=device
    )
    (
        _set_warn_deprecated_on_mutable_data_ptr
        if mode._allow_unsafe_data_ptr_access
        else _set_throw_on_mutable_data_ptr
    )(made)
    attributes = made.__dict__
    attributes.update(state)
    attributes["_fake_device"] = device
    attributes["fake_mode"] = mode
    return made


class _Devices:
    """Replaces the FakeTensorMode: returns the device of a fake tensor, and does nothing else.

    Without any mode, torch would call the class, and import torch.distributed.tensor first, which takes 0.3 s: it
    checks whether an argument of any subclass is a DTensor before anything else. (Not a TorchDispatchMode: torch would
    import TorchDynamo to keep it away from its method.)
    """

    _mode_key = _TorchDispatchModeKey.FAKE

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        try:
            if func is not _DEVICE:
                return NotImplemented
            fake = args[0]
            return _META if fake.fake_mode.in_kernel_invocation else fake._fake_device
        except BaseException:  # an interruption: autograd's C++ calls this where an exception would end the process
            _held.append(sys.exception())
        return _said(func, args)


def _said(func: Any, args: Any) -> Any:
    """The result of `_Devices`."""
    if func is not _DEVICE:
        return NotImplemented
    return _META if args[0].fake_mode.in_kernel_invocation else args[0]._fake_device


def _handling_all(function: Any) -> None:
    """Extends the handler of a function's `try`, which is its first statement, to all instructions before it.

    An entry of the exception table (Objects/exception_handling_notes.txt of CPython) has four numbers, the first three
    of which are its start, its length and its handler's offset. A byte has six bits of a number, the highest first. Bit
    6 is set if more bytes follow, bit 7 if an entry begins.
    """
    code = function.__code__
    numbers: list[int] = []
    more = False
    for byte in code.co_exceptiontable:
        numbers.append((numbers.pop() << 6 if more else 0) | byte & 63)
        more = bool(byte & 64)
    rows = [tuple(numbers[at : at + 4]) for at in range(0, len(numbers), 4)]
    handler = rows[0][2]
    rows = [(0, handler, *rows[0][2:]), *(row for row in rows if row[2] != handler)]
    table = bytearray()
    for row in rows:
        begun = len(table)
        for number in row:
            table += bytes((number >> 12 & 63 | 64, number >> 6 & 63 | 64, number & 63))
        table[begun] |= 128
    function.__code__ = code.replace(co_exceptiontable=bytes(table))


_handling_all(_Devices.__torch_dispatch__)
_held: list[Any] = []
"""An interruption that came where nothing may be raised."""
_DEVICE = torch.ops.prim.device.default
_META = torch.device("meta")
_devices: Any = _Devices()


def without_mode(call: Callable[..., Any], *args: Any) -> Any:
    """Calls a function that runs no operator on fake tensors, without the active FakeTensorMode.

    C++ code that reads a fake tensor's device then makes two Python calls instead of twenty.
    """
    mode = _get_dispatch_mode(_FAKE)
    try:
        _unset_dispatch_mode(_FAKE)
        _set_dispatch_mode(_devices)
        return call(*args)
    finally:
        _unset_dispatch_mode(_FAKE)
        if mode is not None:
            _set_dispatch_mode(mode)
        if _held:
            raise _held.pop()


def in_kernel(mode: FakeTensorMode, call: Callable[..., Any], *args: Any) -> Any:
    """Calls a function on the meta tensors inside fake tensors: in_kernel_invocation_manager without a generator."""
    return without_mode(_in_kernel, mode, call, *args)


def _in_kernel(mode: FakeTensorMode, call: Callable[..., Any], *args: Any) -> Any:
    if not _CHECKED:
        with in_kernel_invocation_manager(mode):
            return call(*args)
    was = mode.in_kernel_invocation
    with _DisableTorchDispatch():
        mode.in_kernel_invocation = True
        with _PreserveDispatchKeyGuard():
            _set_meta_in_tls_dispatch_include(True)
            try:
                return call(*args)
            finally:
                mode.in_kernel_invocation = was


_CHECKED = torch.__version__.startswith("2.13.")
_FAKE = _TorchDispatchModeKey.FAKE


def _state_of(mode: FakeTensorMode) -> dict[str, Any]:
    """The attributes of a new FakeTensor besides device and mode; empty if any of them is not None."""
    if not _states:
        with _DisableTorchDispatch():
            meta = torch.empty((), device="meta")
        state = dict(vars(FakeTensor(mode, meta, torch.device("cpu"))))
        del state["_fake_device"], state["fake_mode"]
        _states.append(state if all(value is None for value in state.values()) else {})
    return _states[0]
