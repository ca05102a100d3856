"""A decoder with two entry points: prefill reads a prompt of any length, decode adds a token to a cache of any length.

One file, the weights in it once. `python examples/prefill_decode.py` writes it, reads it back and generates.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

import dynamo_lite
from dynamo_lite import Dim, Method, Methods, ShapesCollection

CONFIG = LlamaConfig(
    vocab_size=64,
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=128,
)


class Decoder(nn.Module):
    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.model = LlamaForCausalLM(config)

    def prefill(self, tokens: torch.Tensor) -> tuple[torch.Tensor, DynamicCache]:
        out = self.model(tokens, use_cache=True)
        return out.logits[:, -1], out.past_key_values

    def decode(self, token: torch.Tensor, cache: DynamicCache) -> tuple[torch.Tensor, DynamicCache]:
        out = self.model(token, past_key_values=cache, use_cache=True)
        return out.logits[:, -1], out.past_key_values


def exported(decoder: Decoder) -> Methods:
    """Both entry points."""
    prompt = torch.randint(0, CONFIG.vocab_size, (1, 5))
    with torch.no_grad():
        cache = decoder.prefill(prompt)[1]
    shapes = ShapesCollection()
    for layer in cache.layers:
        shapes[layer.keys] = shapes[layer.values] = {2: Dim("past", min=2, max=100)}
    with torch.no_grad():
        return dynamo_lite.export_methods(
            decoder,
            {
                "prefill": Method((prompt,), dynamic_shapes={"tokens": {1: Dim("length", min=2, max=100)}}),
                "decode": Method((prompt[:, -1:], cache), dynamic_shapes=shapes),
            },
        )


def generate(prefill: Any, decode: Any, prompt: torch.Tensor, count: int) -> list[int]:
    """The `count` most likely tokens after a prompt, with functions like Decoder's."""
    logits, cache = prefill(prompt)
    tokens = [int(logits.argmax())]
    while len(tokens) < count:
        logits, cache = decode(torch.tensor([tokens[-1:]]), cache)
        tokens.append(int(logits.argmax()))
    return tokens


def main() -> None:
    torch.manual_seed(0)
    decoder = Decoder(CONFIG).eval()
    methods = exported(decoder)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "decoder.pt2"
        methods.save(path)
        print(f"{path.name}: {path.stat().st_size} bytes, {', '.join(methods)}")
        loaded = dynamo_lite.load_methods(path)
        prefill, decode = loaded.module("prefill"), loaded.module("decode")
        prompt = torch.randint(0, CONFIG.vocab_size, (1, 9))
        with torch.no_grad():
            found = generate(prefill, decode, prompt, 12)
            print(
                found, "as eager" if found == generate(decoder.prefill, decoder.decode, prompt, 12) else "not as eager"
            )


if __name__ == "__main__":
    main()
