"""The long list: text models of transformers, each class with a tiny configuration (see tiny.py)."""

from __future__ import annotations

from .tiny import Row, add_classes

NAMES = """
    AXK1ForSequenceClassification AXK1Model AXK2ForSequenceClassification AXK2Model AfmoeForCausalLM AfmoeModel
    AlbertForMaskedLM AlbertForSequenceClassification AlbertModel ApertusForCausalLM ApertusModel ArceeForCausalLM
    ArceeForSequenceClassification ArceeModel AriaTextForCausalLM AriaTextModel BailingHybridForCausalLM
    BailingHybridModel BartForCausalLM BartForConditionalGeneration BartModel BeamForCausalLM BeamModel
    BertForMaskedLM BertForSequenceClassification BertGenerationDecoder BertGenerationEncoder BertLMHeadModel
    BertModel BigBirdForCausalLM BigBirdForMaskedLM BigBirdForSequenceClassification BigBirdModel
    BigBirdPegasusForCausalLM BigBirdPegasusForConditionalGeneration BigBirdPegasusModel BioGptForCausalLM
    BioGptForSequenceClassification BioGptModel BitNetForCausalLM BitNetModel BlenderbotForCausalLM
    BlenderbotForConditionalGeneration BlenderbotModel BlenderbotSmallForCausalLM
    BlenderbotSmallForConditionalGeneration BlenderbotSmallModel BloomForCausalLM BloomForSequenceClassification
    BloomModel CLIPTextModel CTRLForSequenceClassification CTRLLMHeadModel CTRLModel CamembertForCausalLM
    CamembertForMaskedLM CamembertForSequenceClassification CamembertModel CodeGenForCausalLM CodeGenModel
    Cohere2ForCausalLM Cohere2Model Cohere2MoeForCausalLM Cohere2MoeModel CohereForCausalLM CohereModel
    ConvBertForMaskedLM ConvBertForSequenceClassification ConvBertModel CpmAntForCausalLM CpmAntModel CwmForCausalLM
    CwmModel DPRQuestionEncoder Data2VecTextForCausalLM Data2VecTextForMaskedLM Data2VecTextForSequenceClassification
    Data2VecTextModel DebertaForMaskedLM DebertaForSequenceClassification DebertaModel DebertaV2ForMaskedLM
    DebertaV2ForSequenceClassification DebertaV2Model DeepseekV32Model DeepseekV3ForSequenceClassification
    DeepseekV3Model DeepseekV4ForCausalLM DeepseekV4Model DiffLlamaForCausalLM DiffLlamaForSequenceClassification
    DiffLlamaModel DistilBertForMaskedLM DistilBertForSequenceClassification DistilBertModel DogeForCausalLM
    DogeForSequenceClassification DogeModel ElectraForCausalLM ElectraForMaskedLM ElectraForSequenceClassification
    ElectraModel Emu3ForCausalLM EncoderDecoderModel Ernie4_5ForCausalLM Ernie4_5Model Ernie4_5_MoeForCausalLM
    Ernie4_5_MoeModel ErnieForCausalLM ErnieForMaskedLM ErnieForSequenceClassification ErnieModel EuroBertForMaskedLM
    EuroBertForSequenceClassification EuroBertModel EvollaModel Exaone4ForCausalLM Exaone4ForSequenceClassification
    Exaone4Model ExaoneMoeForCausalLM ExaoneMoeModel FNetForMaskedLM FNetForSequenceClassification FNetModel
    FalconForCausalLM FalconForSequenceClassification FalconMambaForCausalLM FalconMambaModel FalconModel
    FlexOlmoForCausalLM FlexOlmoModel FlintForCausalLM FlintModel FunnelBaseModel FunnelForMaskedLM
    FunnelForSequenceClassification FunnelModel GPT2ForSequenceClassification GPT2LMHeadModel GPT2Model
    GPTBigCodeForCausalLM GPTBigCodeForSequenceClassification GPTBigCodeModel GPTJForCausalLM
    GPTJForSequenceClassification GPTJModel GPTNeoXForCausalLM GPTNeoXForSequenceClassification
    GPTNeoXJapaneseForCausalLM GPTNeoXJapaneseModel GPTNeoXModel Gemma2ForCausalLM Gemma2ForSequenceClassification
    Gemma2Model Gemma3ForCausalLM Gemma3TextForSequenceClassification Gemma3TextModel GemmaForCausalLM
    GemmaForSequenceClassification GemmaModel Glm4ForCausalLM Glm4ForSequenceClassification Glm4Model
    Glm4MoeForCausalLM Glm4MoeLiteModel Glm4MoeModel GlmForCausalLM GlmForSequenceClassification GlmModel
    GlmMoeDsaModel GptOssForCausalLM GptOssForSequenceClassification GptOssModel GraniteDoclingTextModel
    GraniteForCausalLM GraniteModel GraniteMoeForCausalLM GraniteMoeModel GraniteMoeSWAForCausalLM GraniteMoeSWAModel
    GraniteMoeSharedForCausalLM GraniteMoeSharedModel GraniteSWAForCausalLM GraniteSWAModel GteForMaskedLM
    GteForSequenceClassification GteModel HYV3ForCausalLM HYV3Model HYV4ForCausalLM HYV4Model HeliumForCausalLM
    HeliumForSequenceClassification HeliumModel HiggsAudioV2ForConditionalGeneration HrmTextForCausalLM HrmTextModel
    HyperCLOVAXForCausalLM HyperCLOVAXModel IBertForMaskedLM IBertForSequenceClassification IBertModel
    ImageGPTForImageClassification ImageGPTModel Inkling2ForCausalLM Inkling2TextModel InklingForCausalLM
    InklingTextModel Jais2ForCausalLM Jais2Model JambaForCausalLM JambaForSequenceClassification JambaModel
    JetMoeForCausalLM JetMoeForSequenceClassification JetMoeModel JinaEmbeddingsV3ForMaskedLM
    JinaEmbeddingsV3ForSequenceClassification JinaEmbeddingsV3Model Kolibri1ForCausalLM Kolibri1Model Kosmos2_5Model
    LagunaForCausalLM LagunaModel LayoutLMForMaskedLM LayoutLMForSequenceClassification LayoutLMModel Lfm2ForCausalLM
    Lfm2Model Lfm3ForCausalLM Lfm3Model Llama4ForCausalLM Llama4TextModel LlamaForCausalLM
    LlamaForSequenceClassification LlamaModel LongT5ForConditionalGeneration LongT5Model LongformerForMaskedLM
    LongformerForSequenceClassification M2M100ForConditionalGeneration M2M100Model MBartForCausalLM
    MBartForConditionalGeneration MBartModel MPNetForMaskedLM MPNetForSequenceClassification MPNetModel
    MT5ForConditionalGeneration MT5Model MambaForCausalLM MambaModel MarianForCausalLM MarianMTModel MarianModel
    MarkupLMForSequenceClassification MarkupLMModel MegatronBertForCausalLM MegatronBertForMaskedLM
    MegatronBertForSequenceClassification MegatronBertModel MellumForCausalLM MellumModel MiMoV2FlashForCausalLM
    MiMoV2FlashModel MiniCPM3ForSequenceClassification MiniCPM3Model MiniMaxForCausalLM
    MiniMaxForSequenceClassification MiniMaxM2ForCausalLM MiniMaxM2Model MiniMaxM3VLForCausalLM MiniMaxM3VLTextModel
    MiniMaxModel Ministral3ForCausalLM Ministral3ForSequenceClassification Ministral3Model
    Mistral4ForSequenceClassification Mistral4Model MistralForCausalLM MistralForSequenceClassification
    MistralLarge4TextModel MistralModel MixtralForCausalLM MixtralForSequenceClassification MixtralModel
    MllamaForCausalLM MobileBertForMaskedLM MobileBertForSequenceClassification MobileBertModel
    ModernBertDecoderForCausalLM ModernBertDecoderForSequenceClassification ModernBertDecoderModel
    ModernBertForMaskedLM ModernBertForSequenceClassification ModernBertModel Molmo2TextModel MoshiForCausalLM
    MoshiModel MptForCausalLM MptForSequenceClassification MptModel MraForMaskedLM MraForSequenceClassification
    MraModel MuseGlimmerTextModel MuseSparkTextModel MvpForCausalLM MvpForConditionalGeneration MvpModel
    NanoChatForCausalLM NanoChatModel NemotronHForCausalLM NemotronHModel NllbMoeForConditionalGeneration NllbMoeModel
    NomicBertForMaskedLM NomicBertForSequenceClassification NomicBertModel NystromformerForMaskedLM
    NystromformerForSequenceClassification NystromformerModel OPTForCausalLM OPTForSequenceClassification OPTModel
    Olmo2ForCausalLM Olmo2ForSequenceClassification Olmo2Model Olmo3ForCausalLM Olmo3ForSequenceClassification
    Olmo3Model OlmoForCausalLM OlmoForSequenceClassification OlmoHybridForCausalLM OlmoHybridModel OlmoModel
    OlmoeForCausalLM OlmoeModel OpenAIGPTForSequenceClassification OpenAIGPTLMHeadModel OpenAIGPTModel
    OpenAIPrivacyFilterModel PLBartForCausalLM PLBartForConditionalGeneration PLBartModel PegasusForCausalLM
    PegasusForConditionalGeneration PegasusModel PegasusXForConditionalGeneration PegasusXModel PersimmonForCausalLM
    PersimmonForSequenceClassification PersimmonModel Phi3ForCausalLM Phi3ForSequenceClassification Phi3Model
    PhiForCausalLM PhiForSequenceClassification PhiModel PhimoeForCausalLM PhimoeForSequenceClassification PhimoeModel
    ProphetNetForCausalLM ProphetNetForConditionalGeneration ProphetNetModel Qwen2ForCausalLM
    Qwen2ForSequenceClassification Qwen2Model Qwen2MoeForCausalLM Qwen2MoeForSequenceClassification Qwen2MoeModel
    Qwen3ForCausalLM Qwen3ForSequenceClassification Qwen3Model Qwen3MoeForCausalLM Qwen3MoeForSequenceClassification
    Qwen3MoeModel Qwen3NextForCausalLM Qwen3NextForSequenceClassification Qwen3VLMoeTextModel Qwen3VLTextModel
    Qwen3_5ForCausalLM Qwen3_5MoeForCausalLM Qwen3_5TextForSequenceClassification Qwen4ExpForCausalLM
    RecurrentGemmaForCausalLM RecurrentGemmaModel RemBertForCausalLM RemBertForMaskedLM
    RemBertForSequenceClassification RemBertModel RoFormerForCausalLM RoFormerForMaskedLM
    RoFormerForSequenceClassification RoFormerModel RobertaForCausalLM RobertaForMaskedLM
    RobertaForSequenceClassification RobertaModel RobertaPreLayerNormForCausalLM RobertaPreLayerNormForMaskedLM
    RobertaPreLayerNormForSequenceClassification RobertaPreLayerNormModel RwkvForCausalLM RwkvModel
    Sam3LiteTextTextModel SeamlessM4TForTextToText SeamlessM4Tv2ForTextToText SeedOssForCausalLM
    SeedOssForSequenceClassification SeedOssModel SmolLM3ForCausalLM SmolLM3ForSequenceClassification SmolLM3Model
    SolarOpenForCausalLM SolarOpenModel SplinterModel StableLmForCausalLM StableLmForSequenceClassification
    StableLmModel Starcoder2ForCausalLM Starcoder2ForSequenceClassification Starcoder2Model
    SwitchTransformersForConditionalGeneration SwitchTransformersModel T5ForConditionalGeneration
    T5GemmaForConditionalGeneration T5GemmaForSequenceClassification T5GemmaModel T5Model TapasForMaskedLM
    TapasForSequenceClassification TapasModel Tipsv2TextModel TrOCRForCausalLM UMT5ForConditionalGeneration UMT5Model
    UltrabertForMaskedLM UltrabertForSequenceClassification UltrabertModel VaultGemmaForCausalLM VaultGemmaModel
    VisualBertModel WhisperForCausalLM XGLMForCausalLM XGLMModel XLMRobertaForCausalLM XLMRobertaForMaskedLM
    XLMRobertaForSequenceClassification XLMRobertaXLForCausalLM XLMRobertaXLForMaskedLM
    XLMRobertaXLForSequenceClassification XLNetForSequenceClassification XLNetLMHeadModel YosoForMaskedLM
    YosoForSequenceClassification
"""

# A tiny configuration that breaks a rule between its fields needs the one that mends it.
HEAD_DIM = Row({"head_dim": 8})
MAMBA_HEADS = Row({"mamba_d_head": 16})
ROWS: dict[str, Row] = {
    "BambaForCausalLM": MAMBA_HEADS,
    "Mamba2ForCausalLM": Row({"num_heads": 8, "head_dim": 8, "n_groups": 1}),
    "HunYuanDenseV1ForCausalLM": HEAD_DIM,
    "HunYuanMoEV1ForCausalLM": HEAD_DIM,
    "MinistralForCausalLM": HEAD_DIM,
    "GPTNeoForCausalLM": Row({"attention_types": [[["global", "local"], 1]]}),
    "EsmForMaskedLM": Row({"vocab_size": 33, "mask_token_id": 32, "pad_token_id": 1}),
    "EsmcForMaskedLM": Row({"num_key_value_heads": 4}),
    "FlaubertWithLMHeadModel": Row({"emb_dim": 32, "n_words": 99}),
    "XLMWithLMHeadModel": Row({"emb_dim": 32, "n_words": 99}),
    "LukeForMaskedLM": Row({"entity_vocab_size": 20}),
    "RoCBertForMaskedLM": Row({"pronunciation_vocab_size": 30, "shape_vocab_size": 30}),
    "SqueezeBertForMaskedLM": Row({"embedding_size": 32}),
    "XmodForMaskedLM": Row({"default_language": "en_XX"}),
    "ReformerForMaskedLM": Row(
        {"axial_pos_embds": False, "attn_layers": ["local", "local"], "local_attn_chunk_length": 4, "is_decoder": False}
    ),
    "LEDForConditionalGeneration": Row({"attention_window": 4}),
}

add_classes(NAMES, ROWS)
