"""torch.vmap, torch.func.grad, vjp, jvp, ...: the operators that they consist of are recorded one by one.

functorch keeps a stack of transforms. An operator on wrapped tensors enters at its innermost transform, which turns it
into operators on the wrapped values, one layer further out, until plain tensors are left. The recorder's key
(PreDispatch) comes before functorch's own, so it intercepts the operator at each step. It lets wrapped tensors pass,
and records the last step: plain ATen operators on the program's tensors. Nothing of functorch is left in the program,
and autograd differentiates it as it would the transform (each recorded operator is above autograd).

Checked against torch 2.13.0 (aten/src/ATen/functorch/DynamicLayer.cpp).
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import torch

from dynamo_lite.capture._torch import (
    VmapInterpreter,
    enable_python_dispatcher,
    retrieve_all_functorch_interpreters,
    temporarily_clear_interpreter_stack,
)
from dynamo_lite.capture.errors import CaptureError
from dynamo_lite.capture.interfaces import OperatorRecording
from dynamo_lite.symbolic_shapes.torch_node.symbolic_types import SYMBOLIC_TYPES
from dynamo_lite.torch_internals._torch_dispatch import (
    DispatchKey,
    DispatchKeySet,
    TorchDispatchMode,
    _dispatch_tls_is_dispatch_key_excluded,
    _dispatch_tls_is_dispatch_key_included,
    _ExcludeDispatchKeyGuard,
)
from dynamo_lite.torch_internals._torch_functorch import (
    _add_batch_dim,
    _remove_batch_dim,
    get_unwrapped,
    is_batchedtensor,
    is_functorch_wrapped_tensor,
    unwrap_if_dead,
)
from dynamo_lite.torch_internals._torch_pytree import pytree

_FRONT = DispatchKey.FuncTorchDynamicLayerFrontMode
_PRE_DISPATCH = DispatchKeySet(DispatchKey.PreDispatch)


def active() -> bool:
    """Whether an operator that is called now is to be handled by a functorch transform first."""
    return _dispatch_tls_is_dispatch_key_included(_FRONT)


def outlived(args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The arguments, with tensors that outlived their transform (saved by a vjp function) unwrapped."""
    if not _any_wrapped(args) and not (kwargs and _any_wrapped(kwargs.values())):
        return args, kwargs
    return pytree.tree_map_only(torch.Tensor, unwrap_if_dead, (args, kwargs))


def _any_wrapped(values: Any) -> bool:
    for value in values:
        if isinstance(value, torch.Tensor):
            if is_functorch_wrapped_tensor(value):
                return True
        elif isinstance(value, (list, tuple)) and _any_wrapped(value):
            return True
    return False


def is_batched(tensor: torch.Tensor) -> bool:
    """Whether a vmap that is running gives `tensor` another value per element."""
    while is_functorch_wrapped_tensor(tensor):
        if is_batchedtensor(tensor):
            return True
        tensor = get_unwrapped(tensor)
    return False


class Batches(NamedTuple):
    """The vmaps that are running, outermost first: (level, size)."""

    levels: list[tuple[int, Any]]

    def off(self, tensor: torch.Tensor) -> torch.Tensor:
        """The plain tensor with a leading dimension for each vmap."""
        for level, size in reversed(self.levels):
            tensor = _remove_batch_dim(tensor, level, size, 0)
        return tensor.contiguous()

    def on(self, tensor: torch.Tensor) -> torch.Tensor:
        """`off` undone."""
        for level, _ in self.levels:
            tensor = _add_batch_dim(tensor, 0, level)
        return tensor


def batches() -> Batches | None:
    """The transforms that are running, if all of them are vmap."""
    running: list[Any] = retrieve_all_functorch_interpreters()
    if not all(isinstance(one, VmapInterpreter) for one in running):
        return None
    return Batches([(one.level(), one.batch_size()) for one in running])


def suspended() -> AbstractContextManager[Any]:
    """Outside of all transforms; they are there again afterwards."""
    return temporarily_clear_interpreter_stack()


_NUMBERS = (bool, int, float, complex, *SYMBOLIC_TYPES)
_OVERLOADS_FOR_NUMBERS = {"Tensor": "Scalar", "Tensor_mode": "Scalar_mode"}


def _for_numbers(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """The overload for a number where a tensor is expected: functorch would wrap the tensor made of it, unreadably."""
    parameters = func._schema.arguments[:2]
    given = [args[i] if i < len(args) else kwargs.get(p.name) for i, p in enumerate(parameters)]
    if not any(isinstance(v, _NUMBERS) and str(p.type) == "Tensor" for v, p in zip(given, parameters)):
        return func
    overload = _OVERLOADS_FOR_NUMBERS.get(func._overloadname)
    if isinstance(given[0], _NUMBERS) or overload is None or overload not in func.overloadpacket.overloads():
        raise CaptureError(
            "opaque-transform",
            f"{func} is given a number inside of a transform",
            "make it a tensor first (x.new_tensor)",
            {"function": str(func)},
        )
    return getattr(func.overloadpacket, overload)


def outermost() -> AbstractContextManager[Any]:
    """Around the handling of an operator that functorch has brought all the way out.

    functorch puts the dispatch keys back as they were, but not the Python dispatcher's own state.
    """
    return enable_python_dispatcher()


def lower(recorder: OperatorRecording, mode: TorchDispatchMode, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Passes an operator to functorch, while the recorder intercepts the resulting operators."""
    func = _for_numbers(func, args, kwargs)
    recorder.lowering += 1
    try:
        with mode:
            if not _dispatch_tls_is_dispatch_key_excluded(_FRONT):
                return func._op_dk(_FRONT, *args, **kwargs)
            # Past the recorder's key; functorch restores the keys when it goes further out.
            with _ExcludeDispatchKeyGuard(_PRE_DISPATCH):
                return func(*args, **kwargs)
    finally:
        recorder.lowering -= 1
