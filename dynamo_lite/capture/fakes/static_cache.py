"""A cache of operators' results by the metadata of their arguments, across recordings.

Running an operator on FakeTensors goes through autograd, decompositions and FakeTensorMode's own cache, some 300 µs.
The result depends only on the operator, the metadata of its tensors, its other arguments and a few global switches, so
the second time the result is made directly: with memory of its own, or as a view of an argument's memory. Cached
results carry no autograd view metadata. If an in-place operator needs it (`check_mutation`), the trace restarts with
caching reduced (`Memory`).

Checked against torch 2.13.0 (torch/_subclasses/fake_tensor.py, whose own cache bypasses the same kinds of operator).
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Sequence
from typing import Any

import torch

from dynamo_lite.capture._torch import FakeTensor, FakeTensorMode, OpOverload
from dynamo_lite.capture.fakes.results import Result, is_plain_view, make_results, recipe_of, tensors_among
from dynamo_lite.errors import InternalError
from dynamo_lite.symbolic_shapes.torch_env.dispatch_cache import Bypass, value_of
from dynamo_lite.torch_internals._torch_dispatch import _C
from dynamo_lite.torch_internals._torch_fake import device_of
from dynamo_lite.value_types import OPERATOR_KEYS

_LIMIT = 100_000

# (operator, switches, arguments) → results. Shared by all recordings of the process: the key is complete.
_known: dict[Any, Result] = {}
_suitable: dict[int, tuple[bool, OpOverload]] = {}  # by the id of the operator, which is kept with it


def forget() -> None:
    """Empty the memory (for tests and benchmarks)."""
    _known.clear()


class Memory(enum.Enum):
    """How much a recording takes from memory. A recording that turns out `Inexact` is made again with the next one."""

    ALL = "all"
    GRADIENT_VIEWS = "no view of a tensor without gradients: autograd may have to carry requires_grad to its base"
    NOTHING = "nothing"
    AUTOGRAD = "nothing, and composite operators are recorded by their parts: the program asks autograd"


def key_of(func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The cache key of a call; None if the call is not cached."""
    if not is_suitable(func) or (func is _INDEX and takes_by_mask(func, args)):
        return None
    parts: list[Any] = [id(func), switches()]  # `_suitable` keeps it: its own hash is a call of Python
    if not _describe(parts, args) or (kwargs and not _describe_keywords(parts, kwargs)):
        return None
    return None if _CONSTANT in parts and not _has_variable(args, kwargs) else tuple(parts)


def _has_variable(args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Whether there is a tensor of which FakeTensorMode knows no value. If not, it knows the result's."""
    return any(tensor.constant is None for tensor in tensors_among([*args, *kwargs.values()]))  # type: ignore[attr-defined]


_CONSTANT = "a tensor with a known value"
_INDEX = torch.ops.aten.index.Tensor


def takes_by_mask(func: OpOverload, args: Sequence[Any]) -> bool:
    """Whether this takes the elements where something is True: only run time knows how many."""
    return func is _INDEX and any(index is not None and index.dtype not in _NUMBERS for index in args[1])


_NUMBERS = (torch.int64, torch.int32)


def is_suitable(func: OpOverload) -> bool:
    """Whether results of this operator may be remembered, as things are switched now."""
    suitable = _suitable.get(id(func))
    if suitable is None:
        suitable = _suitable[id(func)] = _is_function_of_metadata(func), func
    return suitable[0] and not (torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda"))


def is_without_autocast() -> bool:
    """Whether operators get the arguments that the program gives them."""
    return not (torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda"))


def _is_function_of_metadata(func: OpOverload) -> bool:
    schema = func._schema
    tags = func.tags
    return makes_tensors(func) or (
        func.namespace == "aten"
        and not schema.is_mutable
        and any(str(a.type).startswith(("Tensor", "Optional[Tensor", "List[Tensor")) for a in schema.arguments)
        and torch.Tag.data_dependent_output not in tags
        and (torch.Tag.dynamic_output_shape not in tags or func is _INDEX)
        and bool(schema.returns)
    )


@functools.cache
def makes_tensors(func: OpOverload) -> bool:
    """Whether an operator makes a tensor whose metadata follow from arguments that are not tensors: arange, rand."""
    schema = func._schema
    kinds = [str(argument.type) for argument in schema.arguments]
    return (
        func.namespace == "aten"
        and not schema.is_mutable
        and not any("Tensor" in kind or "Generator" in kind for kind in kinds)
        and [str(value.type) for value in schema.returns] == ["Tensor"]
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
    """Append the part of each value that the result can depend on; False if one of them is of an unknown kind."""
    parts.append(len(values))
    for value in values:
        kind = type(value)
        if kind is FakeTensor:
            if not _describe_tensor(parts, value):
                return False
        elif kind in OPERATOR_KEYS:
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
    if tensor.layout is not torch.strided or tensor.is_quantized:
        return False
    if tensor.constant is not None:
        try:  # an operator that is made of others may read it (tensor_split)
            parts += (_CONSTANT, value_of(tensor.constant))
        except Bypass:
            return False
    if tensor._has_symbolic_sizes_strides:
        return False  # symbols mean something in one environment only, which has a cache of its own (dispatch_cache.py)
    flags = (tensor.requires_grad, tensor.is_conj(), tensor.is_neg(), tensor.is_inference())
    parts += (tensor.shape, tensor.stride(), tensor.storage_offset(), tensor.dtype, device_of(tensor), flags)
    return True


def remember(key: Any, args: Sequence[Any], kwargs: dict[str, Any], out: Any) -> None:
    """Store the result that the operator of `key` has just returned, if its memory is its own or an argument's."""
    result = recipe_of(args, kwargs, out)
    if result is not None:
        keep(key, result)


def keep(key: Any, result: Result) -> None:
    """Store the result of the operator of `key`."""
    if len(_known) >= _LIMIT:
        _known.clear()
    _known[key] = result


def any_requires_grad(args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Whether autograd tracks an operator's arguments."""
    return torch.is_grad_enabled() and any(t.requires_grad for t in tensors_among([*args, *kwargs.values()]))


MISS = object()


def recall(
    key: Any, mode: FakeTensorMode, args: Sequence[Any], kwargs: dict[str, Any], memory: Memory = Memory.ALL
) -> Any:
    """Fresh FakeTensors like those that this operator returned before; MISS if it is new, or not in `memory`."""
    result = _known.get(key)
    if result is None:
        return MISS
    given = tensors_among([*args, *kwargs.values()])
    if memory is Memory.GRADIENT_VIEWS and any(is_plain_view(like, given) for like in result.tensors):
        return MISS
    return make_results(result, mode, given)


class Inexact(InternalError):
    """A recording met something that remembered results do not answer exactly: record it again with fewer of them.

    knows_copies: False where instead the example decides what `contiguous()` is (kernels/layout_questions.py).
    """

    id = "inexact"

    def __init__(self, text: str, needs: Memory | None = None, knows_copies: bool = True) -> None:
        super().__init__(text)
        self.needs, self.knows_copies = needs, knows_copies


def check_mutation(func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Checks an in-place operator on a tensor that autograd tracks: a cached view lacks metadata that it may need.

    Such an operator carries `requires_grad` from a view to its base, and must not change a view of a leaf, or one of
    several views that an operator returned (torch/csrc/autograd/VariableTypeUtils.h, check_inplace). Raises Inexact.
    """
    given = tensors_among([*args, *kwargs.values()])
    if not torch.is_grad_enabled() or not any(t.requires_grad for t in given):
        return
    written = [a.name for a in func._schema.arguments if a.alias_info is not None and a.alias_info.is_write]
    values = dict(zip((a.name for a in func._schema.arguments), args)) | kwargs
    for tensor in tensors_among([values[name] for name in written if name in values]):
        known = tensor if tensor._base is None else tensor._base  # an operator that ran made the rest of the chain
        base = vars(known).get("_dynamo_lite_base")
        leaf = tensor.is_leaf or (base is not None and base.is_leaf)  # a view that no_grad made is one too
        if base is not None and (not base.requires_grad or leaf or hasattr(known, "_dynamo_lite_several")):
            raise Inexact(f"{func} changes a view in place")
