"""The dispatch cache of a FakeTensorMode for operators on tensors with symbolic sizes.

torch's own (fake_tensor.py, `_cached_dispatch_impl`) rebuilds symbols in torch's ShapeEnv, so it cannot serve ours.
Here the key is made of interned sizes. A hit compares no sizes: it copies a cached meta tensor and gives it a storage
of its own, or the storage that it aliases.

Conditions for reusing a result:
- Facts that the operator recorded are still there: the key holds the epoch, which changes with a rollback, and with a
  new equation, which may give sizes a simpler form. A run under `suppress_guards` records nothing and is not kept.
- The kind of query is the same: a kernel's comparisons with 0 and 1 may need no fact within another (query_kinds.py).
- The operator is a function of the metadata of its arguments: the rules of `graph_break` and `_key`.
- It made no unbacked symbol.
- Every result is an argument's or its own new memory: the aliasing is part of the entry.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from types import MethodType
from typing import Any, NamedTuple

import torch

from dynamo_lite.symbolic_shapes.expressions.relations import le
from dynamo_lite.symbolic_shapes.proofs.facts import Origin
from dynamo_lite.symbolic_shapes.torch_env import fourier, larger_example, view_kernel
from dynamo_lite.symbolic_shapes.torch_env.corrections import CORRECTIONS
from dynamo_lite.symbolic_shapes.torch_env.env import DataDependentError, TorchShapeEnv
from dynamo_lite.symbolic_shapes.torch_node._torch import (
    FakeTensor,
    FakeTensorMode,
    OpOverload,
    in_kernel_invocation_manager,
    is_builtin,
    make_fx_mode,
    no_dispatch,
    resize_storage_bytes_,
    share_storage_,
)
from dynamo_lite.symbolic_shapes.torch_node._torch_dynamo_config import is_loaded, settings_alone
from dynamo_lite.symbolic_shapes.torch_node._torch_state import _get_default_device
from dynamo_lite.symbolic_shapes.torch_node.symbolic_types import SYMBOLIC_TYPES

Tag = torch.Tag
_NONZERO = torch.ops.aten.nonzero.default
_ITEM, _NUMBER = torch.ops.aten.item.default, torch.ops.aten._local_scalar_dense.default

REFUSED_TAGS = {
    Tag.data_dependent_output: "data dependent output",
    Tag.dynamic_output_shape: "output shape depends on data",
    Tag.inplace_view: "changes the metadata of its argument",
}


class Bypass(Exception):
    """A call that is not cached; `reason` is counted in `SymbolicCache.bypasses`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class CachedOutput(NamedTuple):
    """How to make one result: a meta tensor to copy, and where its memory comes from.

    `alias` is the position of the argument (among the tensor arguments) that it shares memory with, or None: memory of
    its own, of `nbytes`; `shares_with` is the position of an earlier result that it shares that with.
    """

    meta: torch.Tensor
    device: torch.device
    alias: int | None
    shares_with: int | None
    nbytes: Any


class CachedDispatch(NamedTuple):
    outputs: tuple[CachedOutput, ...]
    container: type | None


def fake_mode(env: TorchShapeEnv, *, cache: bool = True, **options: Any) -> FakeTensorMode:
    """A FakeTensorMode on our environment. `options` are FakeTensorMode's; `export` is on by default.

    The mode's class stays torch's (higher-order operators look their rules up by the exact type): the cache takes the
    place of `_cached_dispatch_impl` on the instance. `mode.symbolic_cache` is the `SymbolicCache`.
    """
    with settings_alone():
        mode = FakeTensorMode(shape_env=env, **{"export": True, **options})  # type: ignore[arg-type]
    install(mode, enabled=cache)
    return mode


def install(mode: FakeTensorMode, *, enabled: bool = True) -> SymbolicCache:
    """Give an existing mode, on an environment of ours, the symbolic cache."""
    symbolic = SymbolicCache(mode, enabled=enabled)
    mode.symbolic_cache = symbolic  # type: ignore[attr-defined]
    mode.cache_enabled = True
    dispatch = symbolic.dispatch if is_loaded() else settings_alone()(symbolic.dispatch)
    mode._cached_dispatch_impl = MethodType(lambda _, *call: dispatch(*call), mode)  # type: ignore[method-assign]
    return symbolic


def uninstall(mode: FakeTensorMode) -> None:
    """Give the mode its own cache back."""
    vars(mode).pop("_cached_dispatch_impl", None)
    vars(mode).pop("symbolic_cache", None)


class SymbolicCache:
    """The cache of one mode. `hits`, `misses` and `bypasses` (by reason) count symbolic calls."""

    def __init__(self, mode: FakeTensorMode, *, enabled: bool = True) -> None:
        env = mode.shape_env
        if not isinstance(env, TorchShapeEnv):
            raise TypeError("the symbolic cache needs a mode on a TorchShapeEnv")
        self._mode: FakeTensorMode = mode
        self._env: TorchShapeEnv = env
        self.enabled: bool = enabled
        self._torch: Any = FakeTensorMode._cached_dispatch_impl
        self._entries: dict[Any, CachedDispatch] = {}
        self._graph_breaks: dict[int, tuple[Any, str | None]] = {}  # by the id of the operator, which is kept with it
        self.hits: int = 0
        self.misses: int = 0
        self.bypasses: Counter[str] = Counter()

    def clear(self) -> None:
        self._entries.clear()

    def dispatch(self, func: Any, types: Sequence[type], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Called by FakeTensorMode for each operator."""
        correct = CORRECTIONS.get(func)
        if correct is not None:
            args, kwargs = correct(func, args, kwargs)
        if not _is_symbolic(args) and not (kwargs and _is_symbolic(kwargs.values())):
            return self._torch(self._mode, func, types, args, kwargs)
        if func is _ITEM:
            func = _NUMBER  # torch's own form of item() reads the data if the tensor's offset is symbolic
        if not self.enabled:
            return self._run(func, types, args, kwargs)
        tensors: list[FakeTensor] = []
        try:
            key = self.call_key(func, args, kwargs, tensors)
            entry = self._entries.get(key)
        except Bypass as bypass:
            self.bypasses[bypass.reason] += 1
            return self._run(func, types, args, kwargs)
        if entry is not None:
            self.hits += 1
            return self.replay(entry, tensors)
        made = self._env.unbacked_created
        result = self._run(func, types, args, kwargs)
        try:
            if self._env.unbacked_created != made:
                raise Bypass("made an unbacked symbol")
            entry = self.make_entry(result, tensors)
            self.misses += 1
            if self.call_key(func, args, kwargs, []) == key:  # else it recorded an equation: the next run knows it
                self._entries[key] = entry
        except Bypass as bypass:
            self.bypasses[bypass.reason] += 1
        return result

    def _run(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        with self._env.inside_operator(func):
            rule = view_kernel.RULES.get(func)
            if rule is not None and isinstance(args[0], FakeTensor) and args[0].fake_mode is self._mode:
                layout = rule(self._env, *args, **kwargs) if view_kernel.is_plain(args[0]) else None
                if layout is not None:
                    return view_kernel.make(self._env, self._mode, args[0], *layout)
            transform = fourier.RULES.get(func)
            if transform is not None and fourier.applies(args[0]) and not kwargs:
                made = transform(self._env, *args)
                if made is not None:
                    return fourier.make(self._env, self._mode, args[0], made)
            try:
                result = self._kernel(func, types, args, kwargs)
                if func is _NONZERO:
                    self._note_count(result, args[0])
                return result
            except DataDependentError:
                if not func._can_decompose():
                    raise
                with self._mode:  # torch's form in Python (torch._refs) may compare more than its C++ form
                    result = func.decompose(*args, **kwargs)
                if result is NotImplemented:
                    raise
                return result

    def _kernel(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if not may_run_twice(func):
            return self._mode._dispatch_impl(func, types, args, kwargs)
        kernel = partial(self._mode._dispatch_impl, func, types, args, kwargs)
        return larger_example.run(self._env, kernel, (*args, *kwargs.values()))

    def _note_count(self, found: torch.Tensor, tensor: torch.Tensor) -> None:
        """Records that no more elements are found than there are, which torch does for constant sizes alone."""
        if type(found.shape[0]) is torch.SymInt and sum(type(size) is not int for size in tensor.shape) == 1:
            count, whole = found.shape[0], math.prod(tensor.shape)
            most = le(self._env.unwrap(count), self._env.unwrap(whole))
            self._env.core.assume(most, Origin("operator", note="the number of elements found"), "axiom")

    # -- keys ---------------------------------------------------------------------------------------------------
    def call_key(self, func: Any, args: Any, kwargs: Any, tensors: list[FakeTensor]) -> tuple[Any, ...]:
        """The cache key of a call; `tensors` receives each tensor argument once. Raises Bypass."""
        known = self._graph_breaks.get(id(func))
        if known is None:
            known = self._graph_breaks[id(func)] = func, graph_break(func, self._mode)
        if known[1] is not None and (func is not _INDEX or len(args) != 2 or any(map(_is_mask, args[1]))):
            raise Bypass(known[1])
        if self._env.suppressed:
            raise Bypass("answers are suppressed")
        if make_fx_mode() is not None:
            raise Bypass("make_fx traces sizes")
        env = self._env
        parts: list[Any] = [func, env.memo.epoch(), env.asking, torch.get_default_dtype(),
                            _get_default_device(), torch.is_inference_mode_enabled()]
        self._key(parts, args, tensors)
        if kwargs:
            self._key(parts, kwargs.keys(), tensors)
            self._key(parts, kwargs.values(), tensors)
        if tensors and all(tensor.constant is not None for tensor in tensors):
            raise Bypass("tensors with known values: that of the result is known too")
        key = tuple(parts)
        try:
            hash(key)
        except TypeError:
            raise Bypass("an argument without hash") from None
        return key

    def _key(self, parts: list[Any], values: Any, tensors: list[FakeTensor]) -> None:
        for value in values:
            if isinstance(value, FakeTensor):
                self._tensor_key(parts, value)
                # The same tensor twice is another case than two equal ones: results may alias either.
                position = next((i for i, t in enumerate(tensors) if t is value), len(tensors))
                parts.append(position)
                if position == len(tensors):
                    tensors.append(value)
            elif isinstance(value, torch.SymInt):
                parts.append(_node(value))
            elif isinstance(value, torch.Tensor):
                raise Bypass("a tensor that is not fake")
            elif isinstance(value, (torch.SymFloat, torch.SymBool)):
                raise Bypass("a symbolic float or bool")
            elif isinstance(value, (list, tuple)):
                parts += (type(value), len(value))
                self._key(parts, value, tensors)
            elif isinstance(value, dict):
                parts += (dict, len(value))
                self._key(parts, value.keys(), tensors)
                self._key(parts, value.values(), tensors)
            else:
                parts += (type(value), value)  # 1, 1.0 and True are equal and give other dtypes

    def _tensor_key(self, parts: list[Any], tensor: FakeTensor) -> None:
        if tensor.fake_mode is not self._mode:
            raise Bypass("a fake tensor of another mode")
        if tensor.constant is not None:
            parts.append(value_of(tensor.constant))  # a kernel that is made of others may read it
        if tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_nested:
            raise Bypass("not a strided tensor")
        # requires_grad is not part of it: this runs below autograd.
        parts += (tensor.dtype, tensor.fake_device, tensor.is_conj(), tensor.is_neg(), tensor.is_inference(),
                  tensor.dim())
        sizes = (*tensor.shape, *tensor.stride(), tensor.storage_offset())
        parts += [size if type(size) is int else size.node for size in sizes]

    # -- entries --------------------------------------------------------------------------------------------------
    def make_entry(self, result: Any, tensors: list[FakeTensor]) -> CachedDispatch:
        container = type(result) if isinstance(result, (tuple, list)) else None
        outputs: list[CachedOutput] = []
        seen: dict[int, int] = {}
        with in_kernel_invocation_manager(self._mode):
            memory = {t.untyped_storage()._cdata: i for i, t in enumerate(tensors)}
            ambiguous = len(memory) < len(tensors)
            for position, output in enumerate(result if container else (result,)):
                self._check_output(output, tensors)
                storage = output.untyped_storage()
                if ambiguous and storage._cdata in memory:  # of which argument it is a view is not to be seen
                    raise Bypass("arguments share memory")
                meta = output.data  # detach() would share the version counter, which autograd goes by
                own = torch.empty(0, dtype=torch.uint8, device="meta")
                share_storage_(meta, own)  # the copy must not keep the memory of the first run alive
                outputs.append(
                    CachedOutput(
                        meta, output.fake_device, memory.get(storage._cdata), seen.get(storage._cdata), storage.nbytes()
                    )
                )
                seen.setdefault(storage._cdata, position)
        return CachedDispatch(tuple(outputs), container)

    def _check_output(self, output: Any, tensors: list[FakeTensor]) -> None:
        if type(output) is not FakeTensor:
            raise Bypass("a result that is not a fake tensor")
        if any(output is t for t in tensors):
            raise Bypass("returns its argument")
        if output.constant is not None:
            raise Bypass("a result with a known value")
        if output.layout is not torch.strided or output.is_conj() or output.is_neg():
            raise Bypass("a result that is not plainly strided")

    def results(
        self, entry: CachedDispatch, tensors: Sequence[FakeTensor], make: Callable[..., FakeTensor]
    ) -> list[FakeTensor]:
        """Fresh results of a call that was kept. make: (mode, meta tensor, device) → FakeTensor."""
        results: list[FakeTensor] = []
        with in_kernel_invocation_manager(self._mode):
            for output in entry.outputs:
                result = output.meta.data
                if output.alias is not None:
                    share_storage_(result, tensors[output.alias])
                elif output.shares_with is not None:
                    share_storage_(result, results[output.shares_with])
                else:
                    memory = torch.empty(0, dtype=torch.uint8, device="meta")
                    resize_storage_bytes_(memory, output.nbytes)
                    share_storage_(result, memory)
                results.append(make(self._mode, result, output.device))
        return results

    def replay(self, entry: CachedDispatch, tensors: list[FakeTensor]) -> Any:
        results = self.results(entry, tensors, FakeTensor)
        if entry.container is None:
            return results[0]
        make = getattr(entry.container, "_make", entry.container)  # a named tuple takes its fields one by one
        return make(results)


@cache
def may_run_twice(func: Any) -> bool:
    """Whether a second run of a kernel on the same fake tensors returns the same as the first: it does not change an
    argument's layout (`t_`, `resize_`, `out=`)."""
    if not isinstance(func, OpOverload) or Tag.inplace_view in func.tags:
        return False
    return not any(argument.is_out for argument in func._schema.arguments)


def graph_break(func: Any, mode: FakeTensorMode) -> str | None:
    """Why calls of an operator are never cached, or None."""
    if not isinstance(func, OpOverload):
        return "a higher-order operator"
    for tag, reason in REFUSED_TAGS.items():
        if tag in func.tags:
            return reason
    if func._schema.is_mutable:
        return "changes its argument"
    if func in mode.lift_fns:
        return "lifts a real tensor"
    if not is_builtin(func):
        return "not an operator of torch's own"
    if func.name() in DTYPE_VIEWS:
        return "a view as another dtype"
    return None


DTYPE_VIEWS = {"aten::view.dtype", "aten::view_as_real", "aten::view_as_complex", "aten::_conj", "aten::_neg_view"}
"""Views with elements of another type, or with the conjugate or negative bit: `share_storage_` keeps the dtype."""


_MOST_ELEMENTS = 64
"""Of a known value that is part of a key."""


def value_of(constant: torch.Tensor) -> tuple[Any, ...]:
    """A known value as a part of a key. Raises Bypass for a long one."""
    if constant.numel() > _MOST_ELEMENTS or constant.layout is not torch.strided:
        raise Bypass("a tensor with a known value")
    with no_dispatch():
        return tuple(constant.flatten().tolist())


_INDEX = torch.ops.aten.index.Tensor


def _is_mask(index: Any) -> bool:
    """Whether indexing by it takes the elements where something is True: only run time knows how many."""
    return isinstance(index, torch.Tensor) and index.dtype in (torch.bool, torch.uint8)


def _node(value: Any) -> Any:
    return value.node if isinstance(value, torch.SymInt) else value


def _is_symbolic(values: Any) -> bool:
    for value in values:
        if isinstance(value, FakeTensor):
            if value._has_symbolic_sizes_strides:
                return True
        elif isinstance(value, SYMBOLIC_TYPES) or (isinstance(value, (list, tuple)) and _is_symbolic(value)):
            return True
    return False
