"""The tiny models of benchmarks/consumers.py: random weights, tensors out, and where it says so other sizes too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.export import Dim
from torch.utils import _pytree as pytree
from transformers.cache_utils import DynamicCache

from tests.models.core_torch import gpt
from tests.models.inputs import floats, inputs, ints, ones
from tests.models.registry import CORE, Inputs, load

LAYERS, HEADS, HEAD_WIDTH, PAST = 2, 2, 8, 5


@dataclass(frozen=True)
class Subject:
    """A module and calls of it: `calls[0]` makes the example, the others are only run. Each makes new tensors."""

    module: nn.Module
    calls: list[Callable[[], Inputs]]
    shapes: Any = None


class Tensors(nn.Module):
    """The tensors among a model's results: what takes the program needs to know no class of the model's library."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return [leaf for leaf in pytree.tree_leaves(self.model(*args, **kwargs)) if isinstance(leaf, Tensor)]


class Sentence(Tensors):
    """A model of token ids and their mask."""

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return self.model(input_ids=input_ids, attention_mask=attention_mask, return_dict=False)[0]


class Image(Tensors):
    """A model of pixels."""

    def forward(self, pixel_values: Tensor) -> Tensor:
        return self.model(pixel_values, return_dict=False)[0]


class Decoder(Tensors):
    """A decoder without a cache, to logits."""

    def forward(self, input_ids: Tensor) -> Tensor:
        return self.model(input_ids=input_ids, use_cache=False).logits


class Step(Tensors):
    """A decoding step: the cache goes in and comes out as tensors."""

    def forward(self, input_ids: Tensor, keys: list[Tensor], values: list[Tensor]) -> Any:
        cache = DynamicCache(config=self.model.config)
        for layer in range(LAYERS):
            cache.update(keys[layer], values[layer], layer)
        out = self.model(input_ids=input_ids, past_key_values=cache, use_cache=True)
        layers = out.past_key_values.layers
        return out.logits, [layer.keys for layer in layers], [layer.values for layer in layers]


class CacheStep(Step):
    """The same with a DynamicCache as an input, which stays as it is."""

    def forward(self, input_ids: Tensor, past_key_values: DynamicCache) -> Any:  # type: ignore[override]
        layers = past_key_values.layers
        return super().forward(input_ids, [layer.keys for layer in layers], [layer.values for layer in layers])


def _mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.LayerNorm(16), nn.Linear(16, 4)).eval()


def _of_seeds(draw: Callable[[int], Inputs]) -> list[Callable[[], Inputs]]:
    return [lambda: draw(0), lambda: draw(1)]


def _registered(name: str) -> nn.Module:
    return load(CORE)[name].case().module.eval()


def _llama() -> Any:
    return _registered("llama")


def _past(seed: int) -> tuple[Tensor, list[Tensor], list[Tensor]]:
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(0, 99, (2, 1), generator=generator)
    tensors = [torch.randn(2, HEADS, PAST, HEAD_WIDTH, generator=generator) for _ in range(2 * LAYERS)]
    return ids, tensors[:LAYERS], tensors[LAYERS:]


def _step() -> Subject:
    return Subject(Step(_llama()), _of_seeds(lambda seed: (_past(seed), {})))


def _cache_step() -> Subject:
    module = CacheStep(_llama())

    def draw(seed: int) -> Inputs:
        ids, keys, values = _past(seed)
        cache = DynamicCache(config=module.model.config)
        for layer in range(LAYERS):
            cache.update(keys[layer], values[layer], layer)
        return (ids, cache), {}

    return Subject(module, _of_seeds(draw))


def _whisper_encoder() -> Subject:
    encoder = _registered("whisper").get_submodule("model.encoder")
    return Subject(Image(encoder), _of_seeds(inputs(floats(2, 16, 60))))


def _sized(module: nn.Module, shapes: Any, *draws: Callable[[int], Inputs]) -> Subject:
    return Subject(module, [lambda draw=draw: draw(0) for draw in draws], shapes)  # type: ignore[misc]


def _batch() -> Any:
    return Dim("batch", min=2, max=16)


def _sentence(batch: int, length: int) -> Callable[[int], Inputs]:
    return inputs(ints(99, batch, length), ones(batch, length))


def _pixels(batch: int) -> Callable[[int], Inputs]:
    return inputs(floats(batch, 3, 32, 32))


def _mlp_batch() -> Subject:
    return _sized(_mlp(), ({0: _batch()},), inputs(floats(3, 8)), inputs(floats(7, 8)))


def _cnn_batch() -> Subject:
    return _sized(Image(_registered("resnet")), ({0: _batch()},), _pixels(2), _pixels(5))


def _vit_batch() -> Subject:
    return _sized(Image(_registered("vit")), ({0: _batch()},), _pixels(2), _pixels(5))


def _bert_sizes() -> Subject:
    length = Dim("length", min=2, max=32)
    shapes = ({0: _batch(), 1: length}, {0: _batch(), 1: length})
    return _sized(Sentence(_registered("bert")), shapes, _sentence(2, 7), _sentence(5, 12))


def _gpt_sizes() -> Subject:
    shapes = ({0: _batch(), 1: Dim("length", min=2, max=32)},)
    return _sized(gpt(2).module, shapes, inputs(ints(128, 2, 16)), inputs(ints(128, 5, 9)))


MODELS: Final[dict[str, Callable[[], Subject]]] = {
    "MLP": lambda: Subject(_mlp(), _of_seeds(inputs(floats(3, 8)))),
    "MLP, dynamic batch": _mlp_batch,
    "ResNet": lambda: Subject(Image(_registered("resnet")), _of_seeds(_pixels(2))),
    "ResNet, dynamic batch": _cnn_batch,
    "ViT": lambda: Subject(Image(_registered("vit")), _of_seeds(_pixels(2))),
    "ViT, dynamic batch": _vit_batch,
    "BERT": lambda: Subject(Sentence(_registered("bert")), _of_seeds(_sentence(2, 7))),
    "BERT, dynamic batch and length": _bert_sizes,
    "GPT, dynamic batch and length": _gpt_sizes,
    "Llama": lambda: Subject(Decoder(_llama()), _of_seeds(inputs(ints(99, 2, 7)))),
    "Llama, a step, cache as tensors": _step,
    "Llama, a step, DynamicCache in": _cache_step,
    "Whisper's encoder": _whisper_encoder,
    "LSTM": lambda: Subject(_registered("lstm"), _of_seeds(inputs(ints(50, 2, 11)))),
}
