"""One program for further prompts and single steps behind a cache: each batch, length and number of new tokens from 1.

The oracle is eager, on a cache of its own.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.export import Dim

import dynamo_lite

transformers = pytest.importorskip("transformers")

SIZES = [(1, 1, 1), (1, 1, 2), (1, 2, 1), (1, 7, 1), (2, 1, 1), (2, 7, 5), (3, 2, 1), (3, 4, 3)]
"""(batch, tokens in the cache, new tokens)"""


def llama() -> Any:
    config = transformers.LlamaConfig(
        vocab_size=99, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config)


def gpt2() -> Any:
    config = transformers.GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2)
    return transformers.GPT2LMHeadModel(config)


@pytest.mark.parametrize("with_mask", [True, False], ids=["mask", "no mask"])
@pytest.mark.parametrize("make", [llama, gpt2])
def test_prompts_and_steps_of_any_size(make: Callable[[], Any], with_mask: bool) -> None:
    torch.manual_seed(0)
    model = make().eval()
    batch, new, past = Dim("batch", min=1, max=16), Dim("new", min=1, max=64), Dim("past", min=1, max=64)
    layers = [{"keys": {0: batch, 2: past}, "values": {0: batch, 2: past}}] * model.config.num_hidden_layers
    shapes: dict[str, Any] = {"input_ids": {0: batch, 1: new}, "past_key_values": {"layers": layers}, "use_cache": None}
    if with_mask:
        shapes["attention_mask"] = {0: batch, 1: Dim.AUTO}

    def call(rows: int, old: int, tokens: int) -> dict[str, Any]:
        made = model(input_ids=torch.randint(0, 99, (rows, old)), use_cache=True).past_key_values
        given = {"input_ids": torch.randint(0, 99, (rows, tokens)), "past_key_values": made, "use_cache": True}
        if with_mask:
            given["attention_mask"] = torch.ones(rows, old + tokens, dtype=torch.int64)
        return given

    with torch.no_grad():
        program = dynamo_lite.export(model, (), call(2, 7, 3), dynamic_shapes=shapes).module()
        for sizes in SIZES:
            given = call(*sizes)
            want = model(**copy.deepcopy(given))
            got = program(**given)
            torch.testing.assert_close(got.logits, want.logits, atol=1e-5, rtol=1e-5)
            assert got.past_key_values.get_seq_length() == want.past_key_values.get_seq_length()
            for one, other in zip(got.past_key_values.layers, want.past_key_values.layers):
                torch.testing.assert_close(one.keys, other.keys, atol=1e-5, rtol=1e-5)
