"""The results of an operator without running it: a recipe for each, and the FakeTensors made from it.

A recipe is an earlier result of the operator (static_cache.py), or the result of a rule (capture/operator_rules).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from dynamo_lite.capture._torch import FakeTensor, FakeTensorMode
from dynamo_lite.torch_internals._torch_dispatch import (
    _AutoDispatchBelowAutograd,
    _DisablePythonDispatcher,
    _DisableTorchDispatch,
)
from dynamo_lite.torch_internals._torch_fake import in_kernel, make_fake, without_mode


class TensorMeta(NamedTuple):
    """The metadata of one tensor that an operator returned.

    Sizes are numbers; those that a rule returns for symbolic arguments are `operator_rules.sizes.Size`s. `source` is
    the index of the tensor argument that it is a view of, None if it has memory of its own. `whole`: it is that
    argument itself.
    """

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    dtype: torch.dtype
    device: torch.device
    requires_grad: bool
    source: int | None
    whole: bool


class Result(NamedTuple):
    """The tensors that an operator returned: one, or a tuple or list of them (`kind`)."""

    kind: type | None
    tensors: tuple[TensorMeta, ...]


def recipe_of(
    args: Sequence[Any], kwargs: dict[str, Any], out: Any, read: Callable[[Any], Any] | None = None
) -> Result | None:
    """The recipe for an operator's result; None unless all memory is its own or an argument's.

    read: replaces a symbolic size; None if there are none.
    """
    kind = type(out) if isinstance(out, (tuple, list)) else None
    tensors = [out] if kind is None else [*out]
    if kind not in (None, tuple, list) or not all(_is_plain(t, read is not None) for t in tensors):
        return None
    given = tensors_among([*args, *kwargs.values()])
    likes = [_like(t, given, read or int) for t in tensors]
    own = [_storage(t) for t, like in zip(tensors, likes) if like is not None and like.source is None]
    if None in likes or len(set(own)) < len(own):
        return None
    return Result(kind, tuple(like for like in likes if like is not None))


def _is_plain(tensor: Any, may_be_symbolic: bool) -> bool:
    return (
        type(tensor) is FakeTensor
        and tensor.layout is torch.strided
        and tensor.constant is None
        and (may_be_symbolic or not tensor._has_symbolic_sizes_strides)  # a size or an offset from run time
        and not (tensor.is_conj() or tensor.is_neg() or tensor.is_quantized or tensor.is_inference())
    )


def _storage(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def tensors_among(values: Sequence[Any]) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += tensors_among(value)
    return found


def _like(tensor: FakeTensor, given: list[torch.Tensor], read: Callable[[Any], Any]) -> TensorMeta | None:
    """The recipe for `tensor`; None if there is none."""
    storage = _storage(tensor)
    sharing = [n for n, t in enumerate(given) if _storage(t) == storage]
    whole = [n for n in sharing if given[n] is tensor]
    source = next(iter(whole or sharing), None)
    if len(whole or sharing) > 1:
        return None  # ambiguous: a result of `broadcast_tensors(a, a)` may be `a` or `b` in `broadcast_tensors(a, b)`
    if source is None:
        if tensor.storage_offset() != 0 or (tensor.requires_grad and tensor.is_leaf):
            return None
    elif not whole and given[source].dtype != tensor.dtype:
        return None
    return TensorMeta(
        shape=tuple(map(read, tensor.shape)),
        stride=tuple(map(read, tensor.stride())),
        offset=read(tensor.storage_offset()),
        dtype=tensor.dtype,
        device=tensor.fake_device,
        requires_grad=tensor.requires_grad,
        source=source,
        whole=bool(whole),
    )


def readable_metadata(tensor: Any) -> Any:
    """The part of a tensor's metadata that the program can read, for comparison: sizes by their nodes."""
    numbers = (*tensor.shape, *tensor.stride(), tensor.storage_offset())
    nodes = [number if type(number) is int else number.node for number in numbers]
    return (nodes, tensor.dtype, tensor.fake_device, tensor.requires_grad, tensor.is_leaf)


def make_results(result: Result, mode: FakeTensorMode, given: list[torch.Tensor]) -> Any:
    """Fresh FakeTensors by a recipe. given: the tensors among the arguments of the call."""
    if result.kind is None:
        return _make(result.tensors[0], mode, given, False)
    return result.kind([_make(like, mode, given, True) for like in result.tensors])


def is_plain_view(like: TensorMeta, given: list[torch.Tensor]) -> bool:
    """Whether this result is a view of a tensor that does not require grad (yet)."""
    return like.source is not None and not like.whole and not given[like.source].requires_grad


def _make(like: TensorMeta, mode: FakeTensorMode, given: list[torch.Tensor], several: bool) -> torch.Tensor:
    if like.whole:
        return given[like.source]  # type: ignore[index]
    if like.source is None:
        with _DisableTorchDispatch():  # the plain meta tensor inside of a FakeTensor
            meta = torch.empty_strided(like.shape, like.stride, dtype=like.dtype, device="meta")
    else:
        meta = in_kernel(mode, _viewed, given[like.source], like)
    made = make_fake(mode, meta, like.device)
    return with_history(made, like.requires_grad, given, None if like.source is None else given[like.source], several)


def _viewed(source: torch.Tensor, like: TensorMeta) -> torch.Tensor:
    # as_strided of a plain tensor: of a fake tensor, it would dispatch to its class. detach by C++: the Python version
    # of it, found by the dispatcher in Python, takes three times as long as all of this.
    with _AutoDispatchBelowAutograd(), _DisablePythonDispatcher():
        return source.detach().as_strided(like.shape, like.stride, like.offset)


def with_history(
    made: FakeTensor, requires_grad: bool, given: Sequence[torch.Tensor], base: torch.Tensor | None, several: bool
) -> torch.Tensor:
    """A result with the autograd state of eager: one that requires grad is not a leaf; a view has its base.

    several: it is one of several views that an operator returned.
    """
    if made.requires_grad:  # as_strided of what requires grad, seen below autograd
        made.requires_grad_(False)
    result: torch.Tensor = made
    if requires_grad and torch.is_grad_enabled():
        result = without_mode(_apply, _Made(made), *[t for t in given if t.requires_grad])
    elif requires_grad:
        made.requires_grad_(True)  # under no_grad, a view of what requires grad is a leaf that does
    if base is not None:
        whole = base_of(base)
        vars(result)["_dynamo_lite_base"] = base if whole is None else whole
        if several or hasattr(base, "_dynamo_lite_several") or base._base is not None:
            vars(result)["_dynamo_lite_several"] = True  # the origin of a view that autograd tracks cannot be read
    return result


def base_of(view: torch.Tensor) -> torch.Tensor | None:
    """`view._base` as eager has it; None if the tensor is not a view.

    To autograd, a view made from a cached result is not a view: its base is stored as an attribute, and autograd takes
    it for the base of the views that an operator which ran made of it.
    """
    known = view._base
    base: torch.Tensor | None = vars(view if known is None else known).get("_dynamo_lite_base", known)
    return base


class _Made:
    """Carries a tensor past autograd, which would take it for an argument."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor


class NoGradient(RuntimeError):
    """A gradient is requested of a fake tensor with the autograd state of an operator's result, but no backward."""


class _NotLeaf(torch.autograd.Function):
    """Gives a tensor the autograd state of an operator's result: it requires grad and is not a leaf. The engine
    comes to `backward` on its way to each of the operands that require grad."""

    @staticmethod
    def forward(ctx: Any, made: _Made, *operands: torch.Tensor) -> torch.Tensor:
        return made.tensor

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise NoGradient("no gradients flow through the fake tensors of a trace")


# autograd.Function.apply without its Python part, which checks for functorch and binds default arguments.
_apply = super(torch.autograd.Function, _NotLeaf).apply
