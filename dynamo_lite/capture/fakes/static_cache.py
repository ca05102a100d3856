"""What an operator gives for arguments like these, remembered across recordings.

Running an operator on FakeTensors goes through autograd, decompositions and FakeTensorMode's own cache, some 300 µs.
What comes out depends only on the operator, the metadata of its tensors, its other arguments and a few global switches,
so the second time the result is made directly: with memory of its own, or as a view of an argument's memory. What
autograd knows of views is not rebuilt; the one question where that could show (`check_mutation`) makes the recording
start again with less of this table (`Memory`).

Checked against torch 2.13.0 (torch/_subclasses/fake_tensor.py, whose own cache bypasses the same kinds of operator).
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from dynamo_lite.capture._torch import FakeTensor, FakeTensorMode, OpOverload, in_kernel_invocation_manager
from dynamo_lite.errors import InternalError
from dynamo_lite.torch_internals._torch_dispatch import _C, _AutoDispatchBelowAutograd, _DisableTorchDispatch

_ATOMS = frozenset({int, bool, str, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format})
_LIMIT = 100_000

# (operator, switches, arguments) → results. Shared by all recordings of the process: the key says everything.
_known: dict[Any, Result] = {}
_suitable: dict[OpOverload, bool] = {}


def forget() -> None:
    """Empty the memory (for tests and benchmarks)."""
    _known.clear()


class Memory(enum.Enum):
    """How much a recording takes from memory. A recording that turns out `Inexact` is made again with the next one."""

    ALL = "all"
    GRADIENT_VIEWS = "no view of a tensor without gradients: autograd may have to carry requires_grad to its base"
    NOTHING = "nothing"
    AUTOGRAD = "nothing, and composite operators are recorded by their parts: the program asks autograd"


class Like(NamedTuple):
    """The metadata of one tensor that an operator returned.

    `source` is the number of the tensor argument whose memory it is a view of, `whole` says that it is that argument
    itself; None: it has memory of its own.
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
    tensors: tuple[Like, ...]


def key_of(func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """What the result depends on; None if the call is not one to remember."""
    if not is_suitable(func):
        return None
    parts: list[Any] = [func, switches()]
    if not _describe(parts, args) or (kwargs and not _describe_keywords(parts, kwargs)):
        return None
    return tuple(parts)


def is_suitable(func: OpOverload) -> bool:
    """Whether results of this operator may be remembered, as things are switched now."""
    suitable = _suitable.get(func)
    if suitable is None:
        suitable = _suitable[func] = _is_function_of_metadata(func)
    return suitable and not (torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda"))


def _is_function_of_metadata(func: OpOverload) -> bool:
    schema = func._schema
    tags = func.tags
    return (
        func.namespace == "aten"
        and not schema.is_mutable
        and any(str(a.type).startswith(("Tensor", "Optional[Tensor", "List[Tensor")) for a in schema.arguments)
        and torch.Tag.data_dependent_output not in tags
        and torch.Tag.dynamic_output_shape not in tags
        and bool(schema.returns)
    )


def switches() -> tuple[Any, ...]:
    """The global switches that results depend on."""
    backends = _C
    return (
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.get_default_dtype(),
        backends._get_flash_sdp_enabled(),
        backends._get_mem_efficient_sdp_enabled(),
        backends._get_math_sdp_enabled(),
        backends._get_deterministic_algorithms(),
        backends._get_mkldnn_enabled(),
    )


def _describe(parts: list[Any], values: Sequence[Any]) -> bool:
    """Append what the result can depend on of each value; False if one of them is of an unknown kind."""
    parts.append(len(values))
    for value in values:
        kind = type(value)
        if kind is FakeTensor:
            if not _describe_tensor(parts, value):
                return False
        elif kind in _ATOMS:
            parts += (kind, value)
        elif kind is float:
            parts += (kind, repr(value))  # 0.0 is not -0.0, nan is nan
        elif kind is list or kind is tuple or kind is torch.Size:
            if not _describe(parts, value):
                return False
        else:
            return False
    return True


def _describe_keywords(parts: list[Any], kwargs: dict[str, Any]) -> bool:
    parts += kwargs
    return _describe(parts, [*kwargs.values()])


def _describe_tensor(parts: list[Any], tensor: FakeTensor) -> bool:
    if tensor.constant is not None or tensor.layout is not torch.strided or tensor.is_quantized:
        return False
    if tensor._has_symbolic_sizes_strides:
        return False  # symbols mean something in one environment only, which has a cache of its own (dispatch_cache.py)
    flags = (tensor.requires_grad, tensor.is_conj(), tensor.is_neg(), tensor.is_inference())
    parts += (tensor.shape, tensor.stride(), tensor.storage_offset(), tensor.dtype, tensor.fake_device, flags)
    return True


def remember(key: Any, args: Sequence[Any], kwargs: dict[str, Any], out: Any) -> None:
    """Keep what the operator of `key` has just returned, if its memory is its own or an argument's."""
    kind = type(out) if isinstance(out, (tuple, list)) else None
    tensors = [out] if kind is None else [*out]
    if kind not in (None, tuple, list) or not all(_is_plain(t) for t in tensors):
        return
    given = _tensors([*args, *kwargs.values()])
    likes = [_like(t, given) for t in tensors]
    own = [_storage(t) for t, like in zip(tensors, likes) if like is not None and like.source is None]
    if None in likes or len(set(own)) < len(own):
        return
    if len(_known) >= _LIMIT:
        _known.clear()
    _known[key] = Result(kind, tuple(like for like in likes if like is not None))


def _is_plain(tensor: Any) -> bool:
    return (
        type(tensor) is FakeTensor
        and tensor.layout is torch.strided
        and tensor.constant is None
        and not tensor._has_symbolic_sizes_strides  # a size or an offset from run time
        and not (tensor.is_conj() or tensor.is_neg() or tensor.is_quantized or tensor.is_inference())
    )


def _storage(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _tensors(values: Sequence[Any]) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += _tensors(value)
    return found


def any_requires_grad(args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Whether autograd tracks what an operator is given."""
    return torch.is_grad_enabled() and any(t.requires_grad for t in _tensors([*args, *kwargs.values()]))


def _like(tensor: FakeTensor, given: list[torch.Tensor]) -> Like | None:
    """The recipe for `tensor`; None if there is none."""
    storage = _storage(tensor)
    sharing = [n for n, t in enumerate(given) if _storage(t) == storage]
    whole = [n for n in sharing if given[n] is tensor]
    source = next(iter(whole or sharing), None)
    if source is None:
        if tensor.storage_offset() != 0 or (tensor.requires_grad and tensor.is_leaf):
            return None
    elif not whole and (given[source].dtype != tensor.dtype or len({id(given[n]) for n in sharing}) > 1):
        return None
    return Like(
        shape=tuple(tensor.shape),
        stride=tensor.stride(),
        offset=int(tensor.storage_offset()),
        dtype=tensor.dtype,
        device=tensor.fake_device,
        requires_grad=tensor.requires_grad,
        source=source,
        whole=bool(whole),
    )


MISS = object()


def recall(
    key: Any, mode: FakeTensorMode, args: Sequence[Any], kwargs: dict[str, Any], memory: Memory = Memory.ALL
) -> Any:
    """Fresh FakeTensors like those that this operator returned before; MISS if it is new, or not in `memory`."""
    result = _known.get(key)
    if result is None:
        return MISS
    given = _tensors([*args, *kwargs.values()])
    if memory is Memory.GRADIENT_VIEWS and any(_is_plain_view(like, given) for like in result.tensors):
        return MISS
    made = [_make(like, mode, given, several=result.kind is not None) for like in result.tensors]
    return made[0] if result.kind is None else result.kind(made)


def _is_plain_view(like: Like, given: list[torch.Tensor]) -> bool:
    """Whether this result is a view of a tensor that does not require grad (yet)."""
    return like.source is not None and not like.whole and not given[like.source].requires_grad


def _make(like: Like, mode: FakeTensorMode, given: list[torch.Tensor], several: bool) -> torch.Tensor:
    if like.whole:
        return given[like.source]  # type: ignore[index]
    if like.source is None:
        with _DisableTorchDispatch():  # the plain meta tensor inside of a FakeTensor
            meta = torch.empty_strided(like.shape, like.stride, dtype=like.dtype, device="meta")
    else:
        with in_kernel_invocation_manager(mode), _AutoDispatchBelowAutograd():
            meta = given[like.source].as_strided(like.shape, like.stride, like.offset)
    made = FakeTensor(mode, meta, like.device)
    return with_history(made, like.requires_grad, given, None if like.source is None else given[like.source], several)


def with_history(
    made: FakeTensor, requires_grad: bool, given: Sequence[torch.Tensor], base: torch.Tensor | None, several: bool
) -> torch.Tensor:
    """A result as autograd would leave it: one that requires grad is no leaf; a view knows its base.

    several: it is one of several views that an operator returned.
    """
    if made.requires_grad:  # as_strided of what requires grad, seen below autograd
        made.requires_grad_(False)
    result: torch.Tensor = made
    if requires_grad and torch.is_grad_enabled():
        result = _NotLeaf.apply(next(t for t in given if t.requires_grad), _Made(made))
    elif requires_grad:
        made.requires_grad_(True)  # under no_grad, a view of what requires grad is a leaf that does
    if base is not None:
        whole = base_of(base)
        vars(result)["_dynamo_lite_base"] = base if whole is None else whole
        if several or hasattr(base, "_dynamo_lite_several") or base._base is not None:
            vars(result)["_dynamo_lite_several"] = True  # what made a view that autograd knows cannot be asked
    return result


def base_of(view: torch.Tensor) -> torch.Tensor | None:
    """`view._base` as eager has it; None if it is no view.

    A view that came from memory is none to autograd: its base is noted on it, and autograd takes it for the base of
    the views that an operator which ran made of it.
    """
    known = view._base
    base: torch.Tensor | None = vars(view if known is None else known).get("_dynamo_lite_base", known)
    return base


class Inexact(InternalError):
    """A recording met something that remembered results do not answer exactly: record it again with fewer of them."""

    id = "inexact"

    def __init__(self, text: str, needs: Memory | None = None) -> None:
        super().__init__(text)
        self.needs = needs


def check_mutation(func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Before an in-place operator on what autograd tracks: it knows more of views than a remembered one tells.

    It carries `requires_grad` from a view to its base, and forbids changing a view of a leaf, or one of several views
    that an operator returned (torch/csrc/autograd/VariableTypeUtils.h, check_inplace). Raises Inexact.
    """
    given = _tensors([*args, *kwargs.values()])
    if not torch.is_grad_enabled() or not any(t.requires_grad for t in given):
        return
    written = [a.name for a in func._schema.arguments if a.alias_info is not None and a.alias_info.is_write]
    values = dict(zip((a.name for a in func._schema.arguments), args)) | kwargs
    for tensor in _tensors([values[name] for name in written if name in values]):
        known = tensor if tensor._base is None else tensor._base  # an operator that ran made the rest of the chain
        base = vars(known).get("_dynamo_lite_base")
        leaf = tensor.is_leaf or (base is not None and base.is_leaf)  # a view that no_grad made is one too
        if base is not None and (not base.requires_grad or leaf or hasattr(known, "_dynamo_lite_several")):
            raise Inexact(f"{func} changes a view in place")


class _Made:
    """Carries a tensor past autograd, which would take it for an argument."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor


class _NotLeaf(torch.autograd.Function):
    """Gives a tensor the autograd state of an operator's result: it requires grad and is no leaf."""

    @staticmethod
    def forward(ctx: Any, anchor: torch.Tensor, made: _Made) -> torch.Tensor:
        return made.tensor

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise RuntimeError("no gradients flow through the stand-ins of a trace")
