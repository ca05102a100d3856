"""The record of `texts`."""

from __future__ import annotations

import io

from dynamo_lite.features.texts import error_messages, format_fields, formatting, native_readers, tensor_repr
from dynamo_lite.tracing.feature import Feature, WhileAwake
from dynamo_lite.tracing.strings.discarded import TEXT_CALLS

_RULES = {
    id(str.join): native_readers.call_text_reader,
    id(io.StringIO.writelines): native_readers.call_text_reader,
    id(str.format): format_fields.call_format,
    id(str.format_map): format_fields.call_format,
}

FEATURE = Feature(
    name="texts",
    state=(formatting.TextsAtWork,),
    rules=lambda: _RULES,
    while_awake=WhileAwake(native_readers.plan, native_readers.before_write),
    after=lambda: dict.fromkeys(TEXT_CALLS, formatting.after_call),
    around=tensor_repr.refused,
    on={
        "text": formatting.finished,
        "size in text": formatting.defers_size,
        "number in text": formatting.number_in_text,
        "caught": error_messages.check,
        "raised": error_messages.reword,
        "late import": tensor_repr.let_go,
        "outputs": formatting.of_outputs,
    },
    graph_breaks=formatting.TEXTS,
)
