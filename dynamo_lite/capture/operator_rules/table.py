"""The rules by operator, and the result of a rule.

A rule is a function with the operator's parameters: tensors are `Operand`s, results are `Out`s. A rule returns None if
it cannot determine the result (for instance because torch would raise). The operator is then executed. Symbolic sizes
are `sizes.Size`s. Under switches that rules do not handle (autocast, inference mode), no rule is used.

tests/capture/test_operator_rules.py compares each with torch's FakeTensors on the samples of torch's own tests.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from dynamo_lite.capture._torch import FakeTensor, OpOverload
from dynamo_lite.capture.fakes import static_cache
from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.fakes.results import Result, TensorMeta, base_of, readable_metadata, recipe_of, tensors_among
from dynamo_lite.capture.operator_rules import (
    attention,
    casts,
    convolution,
    factories,
    in_place,
    joining,
    matmul,
    norms,
    pointwise,
    reductions,
    views,
)
from dynamo_lite.capture.operator_rules.operands import Operand, Out, Outs
from dynamo_lite.capture.operator_rules.sizes import Size, Undecided, reader, same
from dynamo_lite.errors import InternalError
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv
from dynamo_lite.symbolic_shapes.torch_node.symbolic_types import SYMBOLIC_TYPES
from dynamo_lite.symbolic_shapes.torch_versions import Variant, current
from dynamo_lite.torch_internals._torch_fake import device_of

RULES: dict[OpOverload, Callable[..., Outs]] = {
    **matmul.RULES,
    **convolution.RULES,
    **norms.RULES,
    **attention.RULES,
    **views.RULES,
    **joining.RULES,
    **pointwise.RULES,
    **reductions.RULES,
    **factories.RULES,
    **casts.RULES,
}

HOLDS_WIDER = frozenset({torch.ops.aten.slice.Tensor})
"""Operators whose rule has one expression for all sizes, where torch's kernel decides between several."""

IN_PLACE = frozenset(in_place.RULES)
VIEWS = frozenset(views.RULES)
_COPY = torch.ops.aten.copy_.default
ELEMENTWISE = frozenset(pointwise.RULES)

ASKS_MORE: frozenset[OpOverload] = current(
    Variant(frozenset(), until=(2, 14)),
    Variant(frozenset({torch.ops.aten.stack.default, torch.ops.aten.group_norm.default}), since=(2, 14)),
)
"""Operators for which this torch makes more comparisons of sizes that vary (with 0 or 1) than their rules do."""

OFF = os.environ.get("DYNAMO_LITE_RULES") == "0" or not torch.__version__.startswith(("2.13.", "2.14.", "2.15."))
"""Whether all operators run: for comparisons, and with another torch than the rules were compared with."""

SHADOW = os.environ.get("DYNAMO_LITE_SHADOW") == "1"
"""Whether operators run although a rule has their result, to compare the two."""

_CPU = torch.device("cpu")


def result_of(
    func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any], env: TorchShapeEnv | None = None
) -> Result | None:
    """The result of the operator for FakeTensors and constants; None if no rule determines it.

    env: the environment of their symbolic sizes. The result's are `Size`s then, and hold without a further fact.
    """
    rule = RULES.get(func)
    if rule is None or OFF or torch.is_inference_mode_enabled() or (env is not None and func in ASKS_MORE):
        return None
    operands: list[Operand] = []
    read = None if env is None else reader(env)
    takes_complex = env is not None and func in VIEWS
    try:
        given = [_described(value, operands, read, takes_complex) for value in args]
        named = {name: _described(value, operands, read, takes_complex) for name, value in kwargs.items()}
        device = operands[0].device if operands else _CPU
        if any(operand.device != device for operand in operands):
            return None
        outs = rule(*given, **named)
    except (_Unknown, Undecided):
        return None
    if outs is None:
        return None
    grows = torch.is_grad_enabled() and any(operand.requires_grad for operand in operands)
    if type(outs) is Out:
        return Result(None, (_like(outs, device, grows),))
    several: Iterable[Any] = outs
    return Result(type(outs), tuple([_like(out, device, grows) for out in several]))


def _may_overlap(changed: torch.Tensor, other: torch.Tensor, read: Callable[[Any], Any] | None) -> bool:
    """Whether torch might refuse `other` beside the tensor that is changed: if they share memory, and are not one view
    of it (`x[:n] += 1` writes a slice to itself; ATen/MemoryOverlap.cpp)."""
    if changed is other or storage_key(changed) != storage_key(other):
        return False
    if changed.dtype is not other.dtype:
        return True
    one, two = ([*tensor.shape, *tensor.stride(), tensor.storage_offset()] for tensor in (changed, other))
    return not (same(one, two) if read is None else same([*map(read, one)], [*map(read, two)]))


def only_changes(
    func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any], env: TorchShapeEnv | None = None
) -> bool:
    """Whether an operator only changes the elements of its first argument and returns it.

    False if no rule applies. Autograd's changes then concern requires_grad alone: a tensor that is neither a leaf nor a
    view still requires grad.
    """
    rule = in_place.RULES.get(func)
    if rule is None or OFF or torch.is_inference_mode_enabled() or not static_cache.is_without_autocast():
        return False
    operands: list[Operand] = []
    read = None if env is None else reader(env)
    takes_complex = env is not None and func is _COPY
    try:
        given = [_described(value, operands, read, takes_complex) for value in args]
        named = {name: _described(value, operands, read, takes_complex) for name, value in kwargs.items()}
        if any(operand.device != operands[0].device for operand in operands) or not rule(*given, **named):
            return False
        if any(_may_overlap(args[0], tensor, read) for tensor in tensors_among(args)):
            return False
    except (_Unknown, Undecided):
        return False
    changed = args[0]
    if changed.constant is not None:
        return False  # FakeTensorMode knows its value, and what becomes of that
    if not any(operand.requires_grad for operand in operands):
        return True
    return changed.requires_grad and not changed.is_leaf and base_of(changed) is None


def check_changed(func: OpOverload, args: Sequence[Any], before: Any, out: Any) -> None:
    """Hold `only_changes` against the operator, which has run. before: `readable_metadata` of its first argument."""
    if out is not args[0] or readable_metadata(out) != before:
        now = readable_metadata(out)
        raise InternalError(f"by the rule for {func} it only changes {before}, and torch returns {now}")


def check(
    func: OpOverload, said: Result, args: Sequence[Any], kwargs: dict[str, Any], out: Any,
    env: TorchShapeEnv | None = None, facts: int = 0,
) -> None:  # fmt: skip
    """Compares a rule's result with the operator's. Raises InternalError if they differ.

    env: the environment of symbolic sizes. facts: how many it had before the operator ran, which must need no further;
    of an operator in HOLDS_WIDER they must make both results one.
    """
    is_wider = func in HOLDS_WIDER
    try:
        if env is not None and is_wider:
            said = _under_facts(said, env)
        agree = _agree(said, args, kwargs, out, None if env is None else reader(env))
    except Undecided:
        agree = False
    if not agree:
        returned = [*map(readable_metadata, tensors_among([out]))]
        raise InternalError(f"the rule for {func} returns {said}, and torch {returned}")
    demanded = [] if env is None or is_wider else env.core.facts[facts:]
    if demanded:
        raise InternalError(f"the rule for {func} says {said}, and torch demands {[*map(str, demanded)]}")


def _under_facts(said: Result, env: TorchShapeEnv) -> Result:
    """The result of a rule, simplified by the current facts."""

    def now(value: Any) -> Any:
        return value.with_node(env.core.simplify(value.node)) if isinstance(value, Size) else value

    likes = [
        like._replace(shape=(*map(now, like.shape),), stride=(*map(now, like.stride),), offset=now(like.offset))
        for like in said.tensors
    ]
    return said._replace(tensors=type(said.tensors)(likes))


def _agree(said: Result, args: Sequence[Any], kwargs: dict[str, Any], out: Any, read: Any) -> bool:
    found = recipe_of(args, kwargs, out, read)
    if found is not None:
        return found == said
    given, outs = tensors_among([*args, *kwargs.values()]), tensors_among([out])
    if len(outs) != len(said.tensors) or not any(like.source is not None for like in said.tensors):
        return False
    # Arguments share memory: the recipe does not determine of which of them it is a view.
    memory = [None if like.source is None else given[like.source].untyped_storage()._cdata for like in said.tensors]
    if any(m is not None and m != t.untyped_storage()._cdata for m, t in zip(memory, outs)):
        return False
    number = read or int
    layouts = [(*map(number, t.shape), *map(number, t.stride()), number(t.storage_offset())) for t in outs]
    others = [(t.dtype, t.device, t.requires_grad) for t in outs]
    likes = said.tensors
    return layouts == [(*like.shape, *like.stride, like.offset) for like in likes] and others == [
        (like.dtype, like.device, like.requires_grad) for like in likes
    ]


class _Unknown(Exception):
    """An argument is of a kind that no rule knows."""


def _described(
    value: Any, operands: list[Operand], read: Callable[[Any], Any] | None, takes_complex: bool = False
) -> Any:
    """The argument as rules see it; its tensors are added to `operands`, in the order of results.tensors_among.

    takes_complex: whether complex numbers that are not conjugated are as any other (for a view they are).
    """
    kind = type(value)
    if kind is FakeTensor:
        is_other = value.dtype.is_complex and (not takes_complex or value.is_conj())
        if is_other or value.is_neg() or value.is_inference():
            raise _Unknown
        shape, stride, offset = tuple(value.shape), value.stride(), value.storage_offset()
        if value._has_symbolic_sizes_strides:
            if read is None:
                raise _Unknown
            shape, stride, offset = tuple(map(read, shape)), tuple(map(read, stride)), read(offset)
        operand = Operand(len(operands), shape, stride, offset, value.dtype, device_of(value), value.requires_grad)
        operands.append(operand)
        return operand
    if kind is list or kind is tuple or kind is torch.Size:
        return [_described(item, operands, read, takes_complex) for item in value]
    if kind is torch.SymInt and read is not None:
        return read(value)
    if kind is complex or kind in SYMBOLIC_TYPES:
        raise _Unknown
    return value


def _like(out: Out, device: torch.device, grows: bool) -> TensorMeta:
    source = out.source
    if source is None:
        requires_grad = grows and out.differentiable and out.dtype.is_floating_point
        return TensorMeta(out.shape, out.stride, out.offset, out.dtype, device, requires_grad, None, False)
    requires_grad = source.requires_grad and out.differentiable
    return TensorMeta(out.shape, out.stride, out.offset, out.dtype, device, requires_grad, source.number, out.whole)
