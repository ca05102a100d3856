"""The transformers models that every change must still export: tiny configurations, random weights, no downloads."""

from __future__ import annotations

from typing import Any

import torch
import transformers as hf
from torch import Tensor, nn
from transformers.cache_utils import DynamicCache

from .inputs import const, floats, ids_with, inputs, ints, ones
from .registry import Case, Inputs, model

FAMILY = "transformers"
CACHE_OUT = "an EncoderDecoderCache or DynamicCache is not a known output type"
CACHE_IN = "a DynamicCache is not a known input type"
TEXT: dict[str, Any] = {
    "vocab_size": 99,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
}
TOKENS: dict[str, Any] = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
VISION: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "image_size": 32,
    "patch_size": 8,
}


def _eval(module: nn.Module) -> nn.Module:
    return module.eval()


@model("whisper", family=FAMILY, refused_by_torch=CACHE_OUT)
def _whisper() -> Case:
    config = hf.WhisperConfig(
        vocab_size=99, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, num_mel_bins=16, max_source_positions=30,
        max_target_positions=24, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=3,
    )  # fmt: skip
    module = _eval(hf.WhisperForConditionalGeneration(config))
    return Case(module, inputs(input_features=floats(2, 16, 60), decoder_input_ids=ints(99, 2, 7)))


@model("blip", family=FAMILY)
def _blip() -> Case:
    text = {**TEXT, "encoder_hidden_size": 32, **TOKENS, "sep_token_id": 3}
    config = hf.BlipConfig(text_config=text, vision_config=VISION, projection_dim=16, image_text_hidden_size=16)
    module = _eval(hf.BlipForConditionalGeneration(config))
    return Case(module, inputs(pixel_values=floats(2, 3, 32, 32), input_ids=ints(99, 2, 7), attention_mask=ones(2, 7)))


@model("blip_contrastive", family=FAMILY)
def _blip_contrastive() -> Case:
    config = hf.BlipConfig(text_config=TEXT, vision_config=VISION, projection_dim=16)
    draw = inputs(input_ids=ints(99, 2, 7), pixel_values=floats(2, 3, 32, 32), attention_mask=ones(2, 7))
    return Case(_eval(hf.BlipModel(config)), draw)


def _sam2() -> hf.Sam2Model:
    backbone = hf.Sam2HieraDetConfig(
        hidden_size=8, image_size=[64, 64], blocks_per_stage=[1, 2, 2, 1], embed_dim_per_stage=[8, 16, 32, 64],
        num_attention_heads_per_stage=[1, 2, 2, 4], window_size_per_stage=[4, 2, 4, 2], global_attention_blocks=[4],
        window_positional_embedding_background_size=[4, 4],
    )  # fmt: skip
    vision = hf.Sam2VisionConfig(
        backbone_config=backbone, backbone_channel_list=[64, 32, 16, 8], fpn_hidden_size=32,
        backbone_feature_sizes=[[16, 16], [8, 8], [4, 4]],
    )  # fmt: skip
    prompt = hf.Sam2PromptEncoderConfig(hidden_size=32, image_size=64, patch_size=16, mask_input_channels=4)
    decoder = hf.Sam2MaskDecoderConfig(hidden_size=32, mlp_dim=64, num_attention_heads=4, iou_head_hidden_dim=32)
    return hf.Sam2Model(
        hf.Sam2Config(vision_config=vision, prompt_encoder_config=prompt, mask_decoder_config=decoder)
    ).eval()


class Sam2ImageEncoder(nn.Module):
    """SAM 2 from an image to the embeddings that its prompt decoder takes, the coarsest last."""

    def __init__(self, sam: hf.Sam2Model) -> None:
        super().__init__()
        self.sam = sam

    def forward(self, pixel_values: Tensor) -> list[Tensor]:
        return self.sam.get_image_embeddings(pixel_values)


class Sam2PromptDecoder(nn.Module):
    """SAM 2 from image embeddings and clicked points to masks and their scores."""

    def __init__(self, sam: hf.Sam2Model) -> None:
        super().__init__()
        self.sam = sam

    def forward(self, image_embeddings: list[Tensor], points: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        out = self.sam(input_points=points, input_labels=labels, image_embeddings=image_embeddings)
        return out.pred_masks, out.iou_scores


@model("sam2_image_encoder", family=FAMILY)
def _sam2_image_encoder() -> Case:
    return Case(_eval(Sam2ImageEncoder(_sam2())), inputs(floats(1, 3, 64, 64)))


@model("sam2_prompt_decoder", family=FAMILY)
def _sam2_prompt_decoder() -> Case:
    def embeddings(generator: torch.Generator) -> list[Tensor]:
        return [torch.randn(1, c, s, s, generator=generator) for c, s in ((4, 16), (8, 8), (32, 4))]

    draw = inputs(embeddings, floats(1, 1, 2, 2), ints(2, 1, 1, 2))
    return Case(_eval(Sam2PromptDecoder(_sam2())), draw)


@model("sam2", family=FAMILY)
def _sam2_whole() -> Case:
    draw = inputs(pixel_values=floats(1, 3, 64, 64), input_points=floats(1, 1, 2, 2), input_labels=ints(2, 1, 1, 2))
    return Case(_sam2(), draw)


@model("videomae", family=FAMILY)
def _videomae() -> Case:
    config = hf.VideoMAEConfig(**VISION, num_frames=4, tubelet_size=2)
    return Case(_eval(hf.VideoMAEModel(config)), inputs(pixel_values=floats(2, 4, 3, 32, 32)))


@model("vivit", family=FAMILY)
def _vivit() -> Case:
    sizes = {name: value for name, value in VISION.items() if name != "patch_size"}
    config = hf.VivitConfig(**sizes, num_frames=4, tubelet_size=[2, 8, 8])
    return Case(_eval(hf.VivitModel(config)), inputs(pixel_values=floats(2, 4, 3, 32, 32)))


def _llama() -> hf.LlamaForCausalLM:
    return hf.LlamaForCausalLM(hf.LlamaConfig(**TEXT, num_key_value_heads=2)).eval()


@model("llama", family=FAMILY, refused_by_torch=CACHE_OUT)
def _llama_cache_out() -> Case:
    return Case(_llama(), inputs(input_ids=ints(99, 2, 7), attention_mask=ones(2, 7), use_cache=const(True)))


@model("llama_cache_in", family=FAMILY, refused_by_torch=CACHE_IN)
def _llama_cache_in() -> Case:
    """One decoding step: a cache of five positions in, one of six out."""
    module = _llama()

    def draw(seed: int) -> Inputs:
        generator = torch.Generator().manual_seed(seed)
        cache = DynamicCache(config=module.config)
        for layer in range(module.config.num_hidden_layers):
            keys, values = (torch.randn(2, 2, 5, 8, generator=generator) for _ in range(2))
            cache.update(keys, values, layer)
        ids = torch.randint(0, 99, (2, 1), generator=generator)
        return (), {"input_ids": ids, "attention_mask": torch.ones(2, 6, dtype=torch.int64), "past_key_values": cache,
                    "use_cache": True}  # fmt: skip

    return Case(module, draw)


@model("t5", family=FAMILY, refused_by_torch=CACHE_OUT)
def _t5() -> Case:
    config = hf.T5Config(
        vocab_size=99, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=0, use_cache=True
    )
    draw = inputs(input_ids=ints(99, 2, 7), decoder_input_ids=ints(99, 2, 5), use_cache=const(True))
    return Case(_eval(hf.T5ForConditionalGeneration(config)), draw)


@model("mixtral", family=FAMILY)
def _mixtral() -> Case:
    config = hf.MixtralConfig(**TEXT, num_key_value_heads=2, num_local_experts=4, num_experts_per_tok=2)
    return Case(_eval(hf.MixtralForCausalLM(config)), inputs(input_ids=ints(99, 2, 7), use_cache=const(False)))


@model("gpt2", family=FAMILY)
def _gpt2() -> Case:
    config = hf.GPT2Config(vocab_size=99, n_positions=64, n_embd=32, n_layer=2, n_head=4, **TOKENS)
    return Case(_eval(hf.GPT2LMHeadModel(config)), inputs(input_ids=ints(99, 2, 7), use_cache=const(False)))


@model("bert", family=FAMILY)
def _bert() -> Case:
    draw = inputs(input_ids=ints(99, 2, 7), attention_mask=ones(2, 7), token_type_ids=ints(2, 2, 7))
    return Case(_eval(hf.BertModel(hf.BertConfig(**TEXT))), draw)


@model("deberta_v2", family=FAMILY)
def _deberta_v2() -> Case:
    config = hf.DebertaV2Config(
        **TEXT, relative_attention=True, position_biased_input=False, pos_att_type=["p2c", "c2p"], position_buckets=8,
        norm_rel_ebd="layer_norm", share_att_key=True,
    )  # fmt: skip
    return Case(_eval(hf.DebertaV2Model(config)), inputs(input_ids=ints(99, 2, 7), attention_mask=ones(2, 7)))


@model("vit", family=FAMILY)
def _vit() -> Case:
    module = hf.ViTForImageClassification(hf.ViTConfig(**VISION, num_labels=5))
    return Case(_eval(module), inputs(pixel_values=floats(2, 3, 32, 32)))


@model("swin", family=FAMILY)
def _swin() -> Case:
    config = hf.SwinConfig(
        image_size=32, patch_size=2, embed_dim=8, depths=[1, 2, 1], num_heads=[2, 2, 4], window_size=4
    )
    return Case(_eval(hf.SwinModel(config)), inputs(pixel_values=floats(2, 3, 32, 32)))


@model("clip", family=FAMILY)
def _clip() -> Case:
    text = {**TEXT, "bos_token_id": 1, "eos_token_id": 98, "pad_token_id": 0}
    config = hf.CLIPConfig(text_config=text, vision_config=VISION, projection_dim=16)
    draw = inputs(input_ids=ids_with(98, 98, 2, 7), pixel_values=floats(2, 3, 32, 32), attention_mask=ones(2, 7))
    return Case(_eval(hf.CLIPModel(config)), draw)


@model("mamba", family=FAMILY)
def _mamba() -> Case:
    config = hf.MambaConfig(vocab_size=99, hidden_size=32, state_size=8, num_hidden_layers=2)
    return Case(_eval(hf.MambaForCausalLM(config)), inputs(input_ids=ints(99, 2, 7), use_cache=const(False)))


@model("convnext", family=FAMILY)
def _convnext() -> Case:
    config = hf.ConvNextConfig(hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 2, 1], num_labels=5)
    return Case(_eval(hf.ConvNextForImageClassification(config)), inputs(pixel_values=floats(2, 3, 32, 32)))


def _resnet_config() -> hf.ResNetConfig:
    return hf.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 2, 1], layer_type="basic",
                           num_labels=5, out_features=["stage4"])  # fmt: skip


@model("resnet", family=FAMILY)
def _resnet() -> Case:
    module = hf.ResNetForImageClassification(_resnet_config())
    return Case(_eval(module), inputs(pixel_values=floats(2, 3, 32, 32)))


@model("wav2vec2", family=FAMILY)
def _wav2vec2() -> Case:
    config = hf.Wav2Vec2Config(
        vocab_size=32, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        conv_dim=(16, 16, 16), conv_stride=(5, 2, 2), conv_kernel=(10, 3, 3), num_feat_extract_layers=3,
        num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=2,
    )  # fmt: skip
    return Case(_eval(hf.Wav2Vec2ForCTC(config)), inputs(input_values=floats(2, 400)))


@model("detr", family=FAMILY)
def _detr() -> Case:
    config = hf.DetrConfig(
        backbone_config=_resnet_config(), use_timm_backbone=False, num_queries=6, d_model=32, encoder_layers=2,
        decoder_layers=2, encoder_ffn_dim=64, decoder_ffn_dim=64, encoder_attention_heads=4, decoder_attention_heads=4,
        num_labels=5,
    )  # fmt: skip
    draw = inputs(pixel_values=floats(1, 3, 64, 64), pixel_mask=ones(1, 64, 64))
    return Case(_eval(hf.DetrForObjectDetection(config)), draw)
