"""The long list: audio models of transformers, each class with a tiny configuration (see tiny.py)."""

from __future__ import annotations

from .inputs import floats
from .tiny import Row, add_classes

NAMES = """
    Data2VecAudioForCTC Data2VecAudioForSequenceClassification Data2VecAudioModel GlmAsrEncoder HubertForCTC
    HubertForSequenceClassification HubertModel MossTranscribeDiarizeAudioModel Qwen2AudioEncoder SEWDForCTC
    SEWDForSequenceClassification SEWDModel SEWForCTC SEWForSequenceClassification SEWModel SpeechT5ForSpeechToText
    UniSpeechForCTC UniSpeechForSequenceClassification UniSpeechModel UniSpeechSatForCTC
    UniSpeechSatForSequenceClassification UniSpeechSatModel VoxtralEncoder VoxtralRealtimeEncoder
    Wav2Vec2ConformerForSequenceClassification Wav2Vec2ConformerModel Wav2Vec2ForCTC Wav2Vec2ForSequenceClassification
    Wav2Vec2Model WavLMForCTC WavLMForSequenceClassification WavLMModel WhisperForAudioClassification
    WhisperForConditionalGeneration WhisperModel
"""

BERT_FEATURES = Row({"feature_projection_input_dim": 16, "vocab_size": 32}, {"input_features": floats(2, 32, 16)})
ROWS: dict[str, Row] = {
    "ASTForAudioClassification": Row({"max_length": 64, "num_mel_bins": 16}, {"input_values": floats(2, 64, 16)}),
    "Wav2Vec2BertForSequenceClassification": BERT_FEATURES,
    "Wav2Vec2BertForCTC": BERT_FEATURES,
    "Wav2Vec2ConformerForCTC": Row({"vocab_size": 32}),
    "MoonshineForConditionalGeneration": Row({}, {"input_values": floats(2, 2000)}),
    "Speech2TextForConditionalGeneration": Row(
        {"input_feat_per_channel": 16, "conv_channels": 32}, {"input_features": floats(2, 32, 16)}
    ),
}

add_classes(NAMES, ROWS)
