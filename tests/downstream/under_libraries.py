"""Libraries that call torch.export.export themselves, with dynamo-lite under it, by their documented calls."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
import torch
import transformers as hf
from torch import nn
from torch.export import Dim
from transformers.exporters.exporter_dynamo import DynamoConfig, DynamoExporter
from transformers.integrations import executorch

import dynamo_lite
from dynamo_lite import api
from tests.models.tiny import tiny_config

STATIC_CACHE = hf.GenerationConfig(
    use_cache=True,
    cache_implementation="static",
    max_length=16,
    cache_config={"batch_size": 1, "max_cache_len": 16},
)


@pytest.fixture(autouse=True)
def exports(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The programs that dynamo-lite has made; torch's exporter makes none."""
    made: list[Any] = []
    export = api.export
    monkeypatch.setattr(api, "export", lambda *args, **kwargs: made.append(export(*args, **kwargs)) or made[-1])
    with dynamo_lite.as_torch_export():
        yield made
    assert made


def llama() -> Any:
    torch.manual_seed(0)
    return hf.LlamaForCausalLM(tiny_config(hf.LlamaConfig)).eval()


def tokens(*shape: int) -> torch.Tensor:
    return torch.randint(4, 90, shape)


def test_onnx() -> None:
    pytest.importorskip("onnxscript")
    program = torch.onnx.export(llama(), (tokens(2, 5),), kwargs={"use_cache": False}, dynamo=True, verbose=False)
    assert program is not None and "MatMul" in {node.op_type for node in program.model.graph}


def test_pipelining() -> None:
    from torch.distributed.pipelining import SplitPoint, pipeline

    model, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)), torch.randn(3, 4)
    pipe = pipeline(model, mb_args=(x,), split_spec={"2": SplitPoint.BEGINNING})
    assert pipe.num_stages == 2 and torch.allclose(pipe(x)[0], model(x))


@pytest.mark.parametrize("dynamic", [False, True])
def test_transformers_decoder_with_a_static_cache(dynamic: bool) -> None:
    model = llama()
    model.generation_config = copy.deepcopy(STATIC_CACHE)
    size = Dim("tokens", min=2, max=15)
    specs = {"input_ids": {1: size}, "cache_position": {0: size}} if dynamic else None
    exportable = executorch.TorchExportableModuleForDecoderOnlyLM(model)
    prompt = tokens(1, 3)
    options = {"input_ids": prompt, "cache_position": torch.arange(3)}
    step = exportable.export(**options, dynamic_shapes=specs, strict=dynamic).module()
    want = llama()(prompt).logits
    assert torch.allclose(step(**options), want, atol=1e-4)
    if dynamic:
        more = tokens(1, 4)
        got = step(input_ids=more, cache_position=torch.arange(3, 7))
        assert torch.allclose(got, llama()(torch.cat([prompt, more], 1)).logits[:, 3:], atol=1e-4)


def test_transformers_export_with_dynamic_cache() -> None:
    ids = tokens(2, 5)
    program = executorch.export_with_dynamic_cache(llama(), example_input_ids=ids)
    # past_key_values until transformers 5.23, cache from 5.24
    (cache,) = program.example_inputs[1].keys() - {"input_ids", "attention_mask", "use_cache"}
    options = {"attention_mask": None, cache: hf.DynamicCache(config=llama().config)}
    got = program.module()(input_ids=ids, use_cache=True, **options)
    assert torch.allclose(got.logits, llama()(ids).logits, atol=1e-4)


@pytest.mark.parametrize("dynamic", [False, True])
def test_transformers_exporter(dynamic: bool) -> None:
    inputs = {"input_ids": tokens(2, 5), "attention_mask": torch.ones(2, 5, dtype=torch.long)}
    exported = DynamoExporter().export(llama(), dict(inputs), config=DynamoConfig(dynamic=dynamic))
    if dynamic:
        inputs = {name: torch.cat([value, value[:, :2]], 1) for name, value in inputs.items()}
    assert torch.allclose(exported(**inputs).logits, llama()(**inputs).logits, atol=1e-4)


def test_transformers_exporter_for_generation(exports: list[Any]) -> None:
    """Prefill and decode, with a cache that the library restores without a constructor, attribute by attribute."""
    inputs = {"input_ids": tokens(2, 5), "attention_mask": torch.ones(2, 5, dtype=torch.long)}
    exported = DynamoExporter().export_for_generation(llama(), inputs, config=DynamoConfig(dynamic=False))
    assert len(exports) == 2 and {"prefill", "decode"} <= set(exported.components)


def test_draft_export() -> None:
    """torch's draft of a program is made by dynamo-lite too."""
    model, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU()), torch.randn(3, 4)
    program = torch.export.draft_export(model, (x,))
    assert torch.allclose(program.module()(x), model(x))


def test_decode_step_with_a_registered_cache() -> None:
    model = llama()
    prompt = tokens(1, 4)

    class Step(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, token: torch.Tensor, cache: Any) -> Any:
            out = self.model(token, past_key_values=cache, use_cache=True)
            return out.logits, out.past_key_values

    def cache_of() -> Any:
        return model(prompt, use_cache=True).past_key_values

    length = Dim("length", min=2, max=30)
    shapes = {"token": None, "cache": [[{2: length}] * 2, [{2: length}] * 2]}
    with torch.no_grad():
        try:
            program = torch.export.export(Step(), (tokens(1, 1), cache_of()), dynamic_shapes=shapes, strict=False)
        except dynamo_lite.InvalidArguments:  # the cache is not registered by transformers in this order of tests
            shapes["cache"] = {"layers": [{"keys": {2: length}, "values": {2: length}}] * 2}
            program = torch.export.export(Step(), (tokens(1, 1), cache_of()), dynamic_shapes=shapes, strict=False)
        token, cache, same = tokens(1, 1), cache_of(), cache_of()
        step = program.run_decompositions().module()
        for _ in range(3):
            (got, cache), (want, same) = step(token, cache), Step()(token, same)
            assert torch.allclose(got, want, atol=1e-4)
