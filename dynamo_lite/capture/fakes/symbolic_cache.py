"""A cache of operators' results for arguments with symbolic sizes, within one recording, and for recordings whose
environments have the same history.

static_cache.py does the same for constant sizes; symbols have a meaning in one environment only. The keys and the
copies of results are those of the symbolic FakeTensor cache (symbolic_shapes/torch_env/dispatch_cache.py). Here, a
whole operator is one entry, composite ones included, with the autograd state of the result: whether it requires grad.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import torch

from dynamo_lite.capture._torch import FakeTensor, FakeTensorMode, OpOverload, in_kernel_invocation_manager
from dynamo_lite.capture.fakes import static_cache
from dynamo_lite.capture.fakes.results import Result, tensors_among, with_history
from dynamo_lite.symbolic_shapes.expressions.expr import Int, as_int
from dynamo_lite.symbolic_shapes.expressions.relations import Bool
from dynamo_lite.symbolic_shapes.torch_env.dispatch_cache import Bypass, CachedDispatch, CachedOutput, SymbolicCache
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv
from dynamo_lite.symbolic_shapes.torch_env.shared_history import HistoryState, Untranslatable, keep
from dynamo_lite.symbolic_shapes.torch_node.sym_node import SymNode
from dynamo_lite.torch_internals._torch_dispatch import _AutoDispatchBelowAutograd
from dynamo_lite.torch_internals._torch_fake import make_fake


class ResultLayout(NamedTuple):
    """A tensor that an operator returned: numbers, or expressions over a state's symbols. `alias`, `shares_with` and
    `nbytes` as in dispatch_cache.Output."""

    shape: tuple[int | Int, ...]
    stride: tuple[int | Int, ...]
    offset: int | Int
    dtype: torch.dtype
    device: torch.device
    alias: int | None
    shares_with: int | None
    nbytes: int | Int


class Remembered(NamedTuple):
    """The results of an operator (`requires_grad_of`: of each), and the facts that it required."""

    outputs: tuple[ResultLayout, ...]
    container: type | None
    requires_grad_of: tuple[bool, ...]
    facts: tuple[tuple[Bool, str], ...]


class OperatorCall(NamedTuple):
    """A call of an operator: what its result depends on within the recording, and beyond it (`state` and `shared`; None
    where only this recording can know)."""

    key: Any
    state: HistoryState | None
    shared: Any
    facts: int
    unbacked: int
    taken: int


class SymbolicMemory:
    """The results of one recording, and those of earlier ones whose environments have the same history
    (shared_history.py)."""

    def __init__(self, mode: FakeTensorMode, env: TorchShapeEnv) -> None:
        self._mode, self._env = mode, env
        self._cache = SymbolicCache(mode)
        self._known: dict[Any, tuple[CachedDispatch, tuple[bool, ...]]] = {}
        self._past = env.past
        self._metas: dict[Any, torch.Tensor] = {}

    def key_of(self, func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> OperatorCall | None:
        """The cache key of a call; None if no size is a symbol or the call is not cached."""
        if not (static_cache.is_suitable(func) or static_cache.makes_tensors(func)):
            return None
        if static_cache.takes_by_mask(func, args):
            return None
        key = self._key(func, args, kwargs)
        if key is None:
            return None
        env, state, shared = self._env, None, None
        if key not in self._known:
            state = self._past.state()
            shared = None if state is None else self._shared_key(key)
        return OperatorCall(key, state, shared, len(env.core.facts), env.unbacked_created, env.values_taken)

    def _key(self, func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        tensors: list[FakeTensor] = []
        try:
            key = self._cache.call_key(func, args, kwargs, tensors)
        except Bypass:
            return None
        return (key, static_cache.switches(), tuple(t.requires_grad for t in tensors))

    def _shared_key(self, key: Any) -> Any:
        """The key over a state's symbols; without the epoch, which is this recording's; None if there is none."""
        (func, _, *parts), switches, requires_grad_of = key
        node = self._shared_node
        try:
            return (func, tuple([node(p) if isinstance(p, SymNode) else p for p in parts]), switches, requires_grad_of)
        except Untranslatable:
            return None

    def _shared_node(self, node: SymNode) -> Any:
        return self._past.shared(node.core) if node.constant is None else node.constant

    def recall(
        self, call: OperatorCall, args: Sequence[Any], kwargs: dict[str, Any], memory: static_cache.Memory
    ) -> Any:
        """Fresh FakeTensors like those that this operator returned before; `static_cache.MISS` if it is new."""
        found = self._known.get(call.key)
        remembered = None
        if found is None and call.state is not None and call.shared is not None:
            remembered = call.state.known.get(call.shared)
            found = None if remembered is None else (self._entry(remembered), remembered.requires_grad_of)
        if found is None:
            return static_cache.MISS
        entry, requires_grad_of = found
        tensors = _tensors([*args, *kwargs.values()])
        if memory is static_cache.Memory.GRADIENT_VIEWS:
            sources = [tensors[o.alias] for o in entry.outputs if o.alias is not None]
            if any(not source.requires_grad for source in sources):
                return static_cache.MISS
        if remembered is not None:
            func = call.shared[0]
            with self._env.inside_operator(func):
                self._past.add_facts(remembered.facts)
            self._known[self._key(func, args, kwargs) if remembered.facts else call.key] = found
        made: list[Any] = [*self._cache.results(entry, tensors, make_fake)]  # the constructor compares more sizes
        for index, (output, requires_grad) in enumerate(zip(entry.outputs, requires_grad_of)):
            source = tensors[output.alias] if output.alias is not None else None
            made[index] = with_history(made[index], requires_grad, tensors, source, len(made) > 1)
        if entry.container is None:
            return made[0]
        return getattr(entry.container, "_make", entry.container)(made)

    def remember(
        self, call: OperatorCall, func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any], out: Any
    ) -> None:
        """Store the result that the operator has just returned, if its memory is its own or an argument's."""
        if call.unbacked != self._env.unbacked_created:
            return
        # The run may have recorded equations: the key of now, not of before.
        key = self._key(func, args, kwargs)
        if key is None:
            return
        try:
            with _AutoDispatchBelowAutograd():
                entry = self._cache.make_entry(out, _tensors([*args, *kwargs.values()]))
        except Bypass:
            return
        outputs = out if isinstance(out, (tuple, list)) else (out,)
        own = [o for o in entry.outputs if o.alias is None]
        if any(o.shares_with is not None for o in own) or any(t.requires_grad and t.is_leaf for t in outputs):
            return
        requires_grad_of = tuple(t.requires_grad for t in outputs)
        self._known[key] = (entry, requires_grad_of)
        # `Client.specialized` is called when an operator runs, not when its result is remembered: so none is shared.
        if call.state is not None and call.shared is not None and call.taken == self._env.values_taken:
            self._keep(call, entry, requires_grad_of)

    def say(self, call: OperatorCall, args: Sequence[Any], kwargs: dict[str, Any], said: Result) -> None:
        """Store the result of a rule for the call (`TensorMeta`s with `Size`s): the next `recall` returns it."""
        given, env = tensors_among([*args, *kwargs.values()]), self._env
        position = {id(tensor): number for number, tensor in enumerate(_tensors([*args, *kwargs.values()]))}
        outputs = []
        for like in said.tensors:
            shape, stride, (offset,) = (tuple(map(_core, part)) for part in (like.shape, like.stride, (like.offset,)))
            meta = self._laid_out((shape, stride, offset, like.dtype), env.wrap)
            alias = None if like.source is None else position[id(given[like.source])]
            nbytes = env.wrap(prod(shape, start=as_int(like.dtype.itemsize))) if alias is None else 0
            outputs.append(CachedOutput(meta, like.device, alias, None, nbytes))
        entry = CachedDispatch(tuple(outputs), said.kind)
        requires_grad_of = tuple(like.requires_grad for like in said.tensors)
        self._known[call.key] = (entry, requires_grad_of)
        if call.state is not None and call.shared is not None:
            self._keep(call, entry, requires_grad_of)

    # -- across recordings ----------------------------------------------------------------------------------------
    def _keep(self, call: OperatorCall, entry: CachedDispatch, requires_grad_of: tuple[bool, ...]) -> None:
        """For recordings to come, over symbols of the state's own."""
        assert call.state is not None
        try:
            facts = self._past.facts_since(call.facts)
            outputs = tuple(map(self._layout, entry.outputs))
        except Untranslatable:
            return
        keep(call.state, call.shared, Remembered(outputs, entry.container, requires_grad_of, facts))

    def _layout(self, output: CachedOutput) -> ResultLayout:
        number, meta = self._past.shared_number, output.meta
        return ResultLayout(tuple(map(number, meta.shape)), tuple(map(number, meta.stride())),
                             number(meta.storage_offset()), meta.dtype, output.device, output.alias, output.shares_with,
                             number(output.nbytes))  # fmt: skip

    def _entry(self, remembered: Remembered) -> CachedDispatch:
        """The result of a call in an environment with the same history, with this one's sizes."""
        number = self._past.our_number
        outputs = [
            CachedOutput(self._meta(o), o.device, o.alias, o.shares_with, number(o.nbytes)) for o in remembered.outputs
        ]
        return CachedDispatch(tuple(outputs), remembered.container)

    def _meta(self, layout: ResultLayout) -> torch.Tensor:
        """A meta tensor with this layout, and with no memory of its own."""
        return self._laid_out((layout.shape, layout.stride, layout.offset, layout.dtype), self._past.our_number)

    def _laid_out(self, layout: tuple[Any, Any, Any, torch.dtype], number: Callable[[Any], Any]) -> torch.Tensor:
        """The same for (shape, stride, offset, dtype), in expressions of which `number` makes sizes."""
        key = (number, layout)
        found = self._metas.get(key)
        if found is None:
            shape, stride, offset, dtype = layout
            with in_kernel_invocation_manager(self._mode), self._env.suppress_guards():
                nothing = torch.empty(0, dtype=dtype, device="meta")
                found = nothing.as_strided([*map(number, shape)], [*map(number, stride)], number(offset)).detach()
            self._metas[key] = found
        return found


def _core(size: Any) -> Int:
    return size.node if hasattr(size, "node") else as_int(size)


def _tensors(values: Sequence[Any]) -> list[FakeTensor]:
    """Each tensor argument once, in the order of the key."""
    found: dict[int, FakeTensor] = {}

    def visit(items: Any) -> None:
        for item in items:
            if isinstance(item, FakeTensor):
                found.setdefault(id(item), item)
            elif isinstance(item, (list, tuple)):
                visit(item)

    visit(values)
    return [*found.values()]
