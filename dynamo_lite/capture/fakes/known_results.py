"""The result of an operator without running it: from a cache, or by a rule (capture/operator_rules)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch.autograd.graph import increment_version

from dynamo_lite.capture._torch import FakeTensorMode
from dynamo_lite.capture.fakes import static_cache
from dynamo_lite.capture.fakes.results import readable_metadata, tensors_among
from dynamo_lite.capture.fakes.static_cache import Memory
from dynamo_lite.capture.fakes.symbolic_cache import SymbolicMemory
from dynamo_lite.capture.operator_facts import OperatorFacts
from dynamo_lite.capture.operator_rules import table as operator_rules
from dynamo_lite.capture.operator_rules.table import SHADOW
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv


class KnownResults:
    """The caches of one recording: for constant sizes, and for symbolic ones if it has an environment."""

    def __init__(self, fake_mode: FakeTensorMode, env: TorchShapeEnv | None) -> None:
        self._fake_mode = fake_mode
        self._env = env
        self._symbolic = None if env is None else SymbolicMemory(fake_mode, env)

    def recall(
        self, facts: OperatorFacts, args: Sequence[Any], kwargs: dict[str, Any], memory: Memory
    ) -> tuple[Any, Callable[[Any], None] | None]:
        """(what this call gave before or MISS, what to do with its result if it is a MISS)."""
        func = facts.func
        if facts.changes_elements and operator_rules.only_changes(func, args, kwargs, self._env):
            if SHADOW:
                before = readable_metadata(args[0])
                return static_cache.MISS, lambda out: operator_rules.check_changed(func, args, before, out)
            increment_version(args[0])
            return args[0], None
        key = static_cache.key_of(func, args, kwargs)
        if key is not None:
            out = static_cache.recall(key, self._fake_mode, args, kwargs, memory)
            if out is not static_cache.MISS:
                return out, None
            result = operator_rules.result_of(func, args, kwargs)
            if result is not None:
                if SHADOW:
                    return static_cache.MISS, lambda out: operator_rules.check(func, result, args, kwargs, out)
                static_cache.keep(key, result)
                out = static_cache.recall(key, self._fake_mode, args, kwargs, memory)
            return out, lambda out: static_cache.remember(key, args, kwargs, out)
        symbolic = self._symbolic
        if symbolic is None:
            return static_cache.MISS, None
        call = symbolic.key_of(func, args, kwargs)
        if call is None:
            return static_cache.MISS, None
        out = symbolic.recall(call, args, kwargs, memory)
        said = operator_rules.result_of(func, args, kwargs, self._env) if out is static_cache.MISS else None
        if said is not None:
            if SHADOW:
                sizes = (self._env, call.facts)
                return static_cache.MISS, lambda out: operator_rules.check(func, said, args, kwargs, out, *sizes)
            if said.tensors and said.tensors[0].whole:
                return tensors_among([*args, *kwargs.values()])[said.tensors[0].source], None  # type: ignore[index]
            symbolic.say(call, args, kwargs, said)
            out = symbolic.recall(call, args, kwargs, memory)
        return out, lambda out: symbolic.remember(call, func, args, kwargs, out)
