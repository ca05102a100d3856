"""Flags that operators want as constants, and that depend on sizes: which constant does the same for all sizes.

`F.scaled_dot_product_attention(q, k, v, is_causal=n > 1)`: of one query and one key, the causal mask hides nothing.
"""

from __future__ import annotations

from typing import Any

import torch

from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.symbolic_shapes.expressions.relations import le
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.size_branches.choice import ConditionalValue

ATTENTION = torch.nn.functional.scaled_dot_product_attention
_IS_CAUSAL = 5
"""The position of `is_causal` among the arguments (torch/nn/functional.py, torch 2.13.0)."""


def call_attention(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The step before a call of ATTENTION: `is_causal` is a constant where it makes no difference."""
    flag = args[_IS_CAUSAL] if len(args) > _IS_CAUSAL else kwargs.get("is_causal")
    if type(flag) is not torch.SymBool or len(args) < 2 or not _hides_nothing(tracer, flag, args[0], args[1]):
        return NOT_HANDLED
    if len(args) > _IS_CAUSAL:
        return tracer.vm.call(fn, (*args[:_IS_CAUSAL], True, *args[_IS_CAUSAL + 1 :]), kwargs)
    return tracer.vm.call(fn, args, {**kwargs, "is_causal": True})


def _hides_nothing(tracer: TracerView, flag: torch.SymBool, query: torch.Tensor, key: torch.Tensor) -> bool:
    """Whether a causal mask hides nothing wherever the flag is false: there is one query at most, and as many keys."""
    env: Any = tracer.recorder.env
    choice = ConditionalValue(env, env.unwrap(flag))
    queries, keys = query.shape[-2], key.shape[-2]
    few = le(env.unwrap(queries), 1)
    return choice.are_equal(queries, keys, choice.opposite) and choice.under(choice.opposite, few) is True
