"""What an operator gives for arguments like these, where sizes are symbols: remembered within one recording.

memo.py does the same for constant sizes, across recordings; symbols mean something in one environment only. The keys
and the copies of results are those of the symbolic FakeTensor cache (symbolic_shapes/fake_cache.py), but here a whole
operator is one entry, composite ones too, with what autograd knows of the result: that it requires grad.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from dynamo_lite.capture import memo
from dynamo_lite.capture._torch import FakeTensor, FakeTensorMode, OpOverload
from symbolic_shapes.fake_cache import Bypass, Entry, SymbolicCache
from symbolic_shapes.torch_env import TorchShapeEnv


class SymbolicMemory:
    """The results of one recording."""

    def __init__(self, mode: FakeTensorMode, env: TorchShapeEnv) -> None:
        self._env = env
        self._cache = SymbolicCache(mode)
        self._known: dict[Any, tuple[Entry, tuple[bool, ...]]] = {}

    def key_of(self, func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """What the result depends on; None if no size is a symbol or the call is not one to remember."""
        if not memo.is_suitable(func):
            return None
        tensors: list[FakeTensor] = []
        try:
            key = self._cache.call_key(func, args, kwargs, tensors)
        except Bypass:
            return None
        return (key, memo.switches(), tuple(t.requires_grad for t in tensors))

    def recall(self, key: Any, args: Sequence[Any], kwargs: dict[str, Any], memory: memo.Memory) -> Any:
        """Fresh FakeTensors like those that this operator returned before; `memo.MISS` if it is new."""
        found = self._known.get(key)
        if found is None:
            return memo.MISS
        entry, learns = found
        tensors = _tensors([*args, *kwargs.values()])
        if memory is memo.Memory.GRADIENT_VIEWS:
            sources = [tensors[o.alias] for o in entry.outputs if o.alias is not None]
            if any(not source.requires_grad for source in sources):
                return memo.MISS
        results = self._cache.replay(entry, tensors)
        made = [results] if entry.container is None else [*results]
        for index, (output, requires_grad) in enumerate(zip(entry.outputs, learns)):
            source = tensors[output.alias] if output.alias is not None else None
            made[index] = memo.with_history(made[index], requires_grad, tensors, source, len(made) > 1)
        if entry.container is None:
            return made[0]
        return getattr(entry.container, "_make", entry.container)(made)

    def remember(self, func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any], out: Any) -> None:
        """Keep what the operator has just returned, if its memory is its own or an argument's."""
        tensors: list[FakeTensor] = []
        try:
            # The run may have learned equations: the key of now, not of before.
            key = self._cache.call_key(func, args, kwargs, tensors)
            with torch._C._AutoDispatchBelowAutograd():
                entry = self._cache.make_entry(out, tensors)
        except Bypass:
            return
        outputs = out if isinstance(out, (tuple, list)) else (out,)
        own = [o for o in entry.outputs if o.alias is None]
        if any(o.twin is not None for o in own) or any(t.requires_grad and t.is_leaf for t in outputs):
            return
        learns = tuple(t.requires_grad for t in outputs)
        self._known[key, memo.switches(), tuple(t.requires_grad for t in tensors)] = (entry, learns)


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
