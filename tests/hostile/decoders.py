"""Decoders of transformers with caches as arguments, in a process of its own: registrations hold for a process.

    python -m tests.hostile.decoders dynamic LlamaForCausalLM ...

prints a line for each: its name and "equal", or what is wrong. `static` takes caches of one length, three different
ones; `dynamic` goes on from the cache of the call before, three times. `bare` is dynamic, with a `DynamicCache()` that
adds its layers when it is filled, and keeps their class for it; the registered functions lose that.
"""

from __future__ import annotations

import copy
import logging
import sys
from typing import Any

import torch
import transformers as hf
from torch.export import Dim
from transformers.integrations.executorch import register_dynamic_cache_export_support

import dynamo_lite
from tests.models.tiny import tiny_config

LENGTH, STEPS, TOLERANCE = 5, 3, 1e-4


def tokens(length: int) -> torch.Tensor:
    return torch.randint(4, 90, (2, length))


def tensors(cache: Any) -> list[torch.Tensor]:
    return [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)]


def difference(got: Any, want: Any) -> str | None:
    pairs = [(got.logits, want.logits), *zip(tensors(got.past_key_values), tensors(want.past_key_values))]
    for index, (one, other) in enumerate(pairs):
        if one.shape != other.shape or not torch.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE):
            return f"tensor {index}"
    return None


def judge(name: str, kind: str) -> str:
    """Export one decoding step of the model and compare it with eager, the caches of each going their own way."""
    model_class = getattr(hf, name)
    model = model_class(tiny_config(model_class.config_class)).eval()
    dynamic = kind != "static"

    def prefill(ids: torch.Tensor) -> Any:
        empty = hf.DynamicCache() if kind == "bare" else None
        return model(ids, use_cache=True, past_key_values=empty).past_key_values

    cache = prefill(tokens(LENGTH))
    specs = None
    if dynamic:
        sizes = [{2: Dim("past", min=2, max=60)}] * len(cache.layers)
        specs = {"input_ids": None, "past_key_values": [sizes, sizes], "use_cache": None}
    before = [tensor.clone() for tensor in tensors(cache)]
    options = {"past_key_values": cache, "use_cache": True}
    step = dynamo_lite.export(model, (tokens(1),), options, dynamic_shapes=specs).module()
    if any(one is not other and not torch.equal(one, other) for one, other in zip(before, tensors(cache))):
        return "the export changed the cache"
    mine, theirs = cache, copy.deepcopy(cache)
    for number in range(STEPS):
        ids = tokens(1)
        got = step(ids, past_key_values=mine, use_cache=True)
        want = model(ids, past_key_values=theirs, use_cache=True)
        if text := difference(got, want):
            return f"step {number}: {text} differs"
        mine, theirs = got.past_key_values, want.past_key_values
        if not dynamic:
            mine = prefill(tokens(LENGTH))
            theirs = copy.deepcopy(mine)
    return "equal"


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    torch.manual_seed(0)
    register_dynamic_cache_export_support()
    with torch.no_grad():
        for model_name in sys.argv[2:]:
            print(model_name, judge(model_name, sys.argv[1]), flush=True)
