"""A tiny configuration and example inputs for any transformers model class, from tables of field and argument names.

transformers' configurations call the same thing by few names (`hidden_size`, `d_model`, `n_embd`, ...). `tiny_config`
gives each known name a small value, in nested configurations too, and leaves the rest as it is; `tiny_inputs` reads
the model's `forward` to see which inputs it takes. What does not fit is overridden by the row that names the model.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any, Final

import torch
import transformers as hf
from torch import nn

from .inputs import Maker, const, floats, inputs, ints, ones
from .registry import LONG, Case, Inputs, Model, add

BATCH, LENGTH, DECODER_LENGTH = 2, 8, 6

_NAMES_OF_SIZES: Final[dict[int, str]] = {
    1: "n_shared_experts num_shared_experts n_group topk_group num_query_groups moe_layer_freq first_k_dense_replace",
    2: """num_hidden_layers num_layers n_layer n_layers encoder_layers decoder_layers num_decoder_layers depth
          num_encoder_layers num_key_value_heads num_kv_heads n_head_kv multi_query_group_num num_experts_per_tok
          moe_topk moe_k num_encoder_blocks encoder_num_hidden_layers decoder_num_hidden_layers num_fusion_layers
          num_conv_pos_embedding_groups""",
    4: """num_attention_heads num_heads n_head n_heads encoder_attention_heads decoder_attention_heads
          num_experts num_local_experts n_routed_experts moe_num_experts num_conv_pos_embeddings num_frames
          encoder_num_attention_heads decoder_num_attention_heads num_bottleneck_tokens mamba_n_heads
          d_state state_size ssm_state_size mamba_d_state""",
    8: """head_dim attention_head_size d_kv qk_rope_head_dim qk_nope_head_dim v_head_dim num_queries patch_size
          qk_head_dim rotary_dim mamba_d_head""",
    16: """projection_dim q_lora_rank kv_lora_rank num_mel_bins conv_dim_ embedding_size hidden_channels
           embedding_dim projection_hidden_size moe_intermediate_size moe_shared_expert_intermediate_size
           classifier_proj_size bottleneck_size""",
    32: """hidden_size d_model n_embd dim embed_dim d_embed image_size encoder_hidden_size decoder_hidden_size
           hidden_size_per_layer_input lm_hidden_size fusion_hidden_size cross_attention_hidden_size
           max_source_positions block_size projector_dim out_hidden_size shared_expert_intermediate_size
           mask_feature_size""",
    64: """intermediate_size encoder_ffn_dim decoder_ffn_dim d_ff ffn_dim hidden_dim n_inner d_inner ffn_hidden_size
           max_position_embeddings n_positions max_target_positions max_sequence_length mlp_dim dim_feedforward
           encoder_intermediate_size decoder_intermediate_size feed_forward_proj_size max_seq_len n_ctx
           position_embedding_size""",
    99: "vocab_size text_vocab_size decoder_vocab_size vocab_size_per_layer_input",
}
SIZES: Final[dict[str, int]] = {name: size for size, names in _NAMES_OF_SIZES.items() for name in names.split()}
"""Field → small value, given where the configuration has an int there by default."""

TOKENS: Final[dict[str, int]] = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 3}

LISTS: Final[dict[str, Callable[[int], list[int]]]] = {
    "depths": lambda n: [1] * n,
    "layers": lambda n: [1] * n,
    "num_blocks": lambda n: [1] * n,
    "hidden_sizes": lambda n: [8 * 2**i for i in range(n)],
    "encoder_hidden_sizes": lambda n: [8 * 2**i for i in range(n)],
    "embed_dims": lambda n: [8 * 2**i for i in range(n)],
    "conv_dim": lambda n: [16] * n,
    "num_heads": lambda n: [2**i for i in range(n)],
    "num_attention_heads": lambda n: [2**i for i in range(n)],
}
"""Field → small list of the same length, given where the default is a list of ints."""

PYRAMID: Final[dict[str, int]] = {"image_size": 64, "window_size": 2, "embed_dim": 16, "hidden_size": 16}


def _sub_configs(config_class: type[Any], default: Any) -> dict[str, type[Any]]:
    """Nested configurations with a class of their own (not those whose class is chosen by their model_type)."""
    found = {}
    for name in getattr(config_class, "sub_configs", {}):
        value = getattr(default, name, None)
        if value is not None and dataclasses.is_dataclass(value):
            found[name] = type(value)
    return found


def small_fields(config_class: type[Any], overrides: dict[str, Any]) -> dict[str, Any]:
    """Field → small value for what the tables know of `config_class`; `overrides` win, nested ones by nested dicts."""
    default = config_class()
    fields: dict[str, Any] = {}
    for field in dataclasses.fields(config_class):
        value = getattr(default, field.name, None)
        if isinstance(value, int) and not isinstance(value, bool) and field.name in SIZES:
            fields[field.name] = SIZES[field.name]
        elif field.name in TOKENS and (value is not None or field.name == "pad_token_id"):
            fields[field.name] = TOKENS[field.name]
        elif isinstance(value, (list, tuple)) and value and field.name in LISTS and isinstance(value[0], int):
            fields[field.name] = LISTS[field.name](len(value))
    if "depths" in fields or "hidden_sizes" in fields:  # a pyramid: each stage halves the image
        fields.update({name: size for name, size in PYRAMID.items() if isinstance(getattr(default, name, None), int)})
        fields.pop("patch_size", None)
    if {"kv_lora_rank", "num_key_value_heads"} <= fields.keys():
        fields["num_key_value_heads"] = SIZES["num_attention_heads"]  # latent attention has a key for every head
    for name, sub_class in _sub_configs(config_class, default).items():
        nested = overrides.get(name)
        if nested is None or isinstance(nested, dict):
            fields[name] = tiny_config(sub_class, **(nested or {}))
    return {**fields, **{name: v for name, v in overrides.items() if name not in fields or not isinstance(v, dict)}}


def tiny_config(config_class: type[Any], **overrides: Any) -> Any:
    """A `config_class` with small sizes; `overrides` are fields, nested configurations as dicts of theirs."""
    return config_class(**small_fields(config_class, overrides))


def _text(config: Any) -> Any:
    """The configuration that holds the vocabulary."""
    return config.get_text_config() if not hasattr(config, "vocab_size") else config


def _square(config: Any) -> list[int]:
    vision = getattr(config, "vision_config", config)
    size = getattr(vision, "image_size", None) or 64
    return [size, size] if isinstance(size, int) else list(size)


def _channels(config: Any) -> int:
    return getattr(getattr(config, "vision_config", config), "num_channels", None) or 3


def _frames(config: Any) -> int:
    return getattr(config, "num_frames", None) or 4


def _mel(config: Any) -> int:
    audio = getattr(config, "audio_config", config)
    return getattr(audio, "num_mel_bins", None) or getattr(audio, "feature_size", None) or 16


ARGUMENTS: Final[dict[str, Callable[[Any], Maker]]] = {
    "input_ids": lambda config: ints(_text(config).vocab_size - 1, BATCH, LENGTH, low=4),
    "attention_mask": lambda config: ones(BATCH, LENGTH),
    "decoder_input_ids": lambda config: ints(_text(config).vocab_size - 1, BATCH, DECODER_LENGTH, low=4),
    "pixel_values": lambda config: floats(BATCH, _channels(config), *_square(config)),
    "input_values": lambda config: floats(BATCH, 800),
    "input_features": lambda config: floats(BATCH, _mel(config), 2 * getattr(config, "max_source_positions", 32)),
    "pixel_values_videos": lambda config: floats(BATCH, _frames(config), _channels(config), *_square(config)),
}
"""Argument of a model's forward → what to pass."""


def tiny_inputs(module: nn.Module, config: Any, given: dict[str, Maker | None]) -> Callable[[int], Inputs]:
    """What `module.forward` takes, as far as `ARGUMENTS` knows it; `given` replaces (a maker) or leaves out (None)."""
    taken = inspect.signature(module.forward).parameters
    makers: dict[str, Maker | None] = {name: make(config) for name, make in ARGUMENTS.items() if name in taken}
    if "input_ids" not in makers:
        makers.pop("attention_mask", None)
    if getattr(config, "is_encoder_decoder", False) is False:
        makers.pop("decoder_input_ids", None)
    if "use_cache" in taken:
        makers["use_cache"] = const(False)
    makers.update(given)
    return inputs(**{name: maker for name, maker in makers.items() if maker is not None})


def _wake(module: nn.Module) -> None:
    """Weights that keep a signal's size: with the libraries' own (0, or tiny) the output forgets the input."""
    for name, parameter in module.named_parameters():
        if parameter.is_floating_point() and parameter.dim() >= 2 and "embed" not in name:
            torch.nn.init.normal_(parameter, std=(parameter[0].numel() or 1) ** -0.5)


def tiny_case(class_name: str, overrides: dict[str, Any], given: dict[str, Maker | None], tolerance: float) -> Case:
    """The named transformers class with a tiny configuration, in eval mode."""
    model_class = getattr(hf, class_name)
    config = tiny_config(model_class.config_class, **overrides)
    module = model_class(config).eval()
    _wake(module)
    return Case(module, tiny_inputs(module, config, given), tolerance)


@dataclasses.dataclass(frozen=True)
class Row:
    """How one class departs from the tables: fields of its configuration, inputs to replace (or None to leave out)."""

    config: dict[str, Any] = dataclasses.field(default_factory=dict)
    inputs: dict[str, Maker | None] = dataclasses.field(default_factory=dict)
    tolerance: float = 1e-5


PLAIN: Final = Row()


def add_classes(names: str, rows: dict[str, Row]) -> None:
    """Register every transformers class named in `names` (between blanks) and in `rows`, under its own name."""
    for name in dict.fromkeys([*names.split(), *rows]):
        row = rows.get(name, PLAIN)
        build = functools.partial(tiny_case, name, row.config, row.inputs, row.tolerance)
        add(Model(name, build, LONG, "transformers"))
