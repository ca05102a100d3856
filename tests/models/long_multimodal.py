"""The long list: multimodal models of transformers, each class with a tiny configuration (see tiny.py)."""

from __future__ import annotations

from typing import Any

import torch

from .inputs import Maker, floats, ones
from .tiny import Row, add_classes

NAMES = """
    Aimv2Model AltCLIPModel BlipModel CLIPModel CLIPSegModel ChineseCLIPModel GitForCausalLM GitModel GroupViTModel
    MetaClip2Model MiniCPMOcrModel MiniCPMV4_6Model MiniCPMV4_7Model OwlViTModel Owlv2Model SiglipModel Tipsv2Model
    VideoPrismClipModel ViltModel VisionTextDualEncoderModel VoxtralRealtimeForConditionalGeneration
    VoxtralRealtimeModel
"""


def picture_then_words(token: int, count: int, words: int = 5) -> Maker:
    """Token ids of a batch of two: `count` image placeholders, then `words` other tokens below 90."""

    def make(generator: torch.Generator) -> torch.Tensor:
        text = torch.randint(4, 90, (2, words), generator=generator)
        return torch.cat([torch.full((2, count), token), text], dim=1)

    return make


def image_text(token_field: str, count: int, **config: Any) -> Row:
    """A language model that reads `count` image features in the place of token 98."""
    given: dict[str, Maker | None] = {
        "input_ids": picture_then_words(98, count),
        "attention_mask": ones(2, count + 5),
        "pixel_values": floats(2, 3, 32, 32),
    }
    return Row({token_field: 98, **config}, given)


ROWS: dict[str, Row] = {
    "LlavaForConditionalGeneration": image_text("image_token_index", 16),
    "VipLlavaForConditionalGeneration": image_text("image_token_index", 16, vision_feature_layers=[-1, -2]),
    "PaliGemmaForConditionalGeneration": image_text(
        "image_token_index", 16, projection_dim=32, vision_config={"projection_dim": 32}
    ),
}

add_classes(NAMES, ROWS)
