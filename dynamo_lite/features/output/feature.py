"""The record of `output`."""

from __future__ import annotations

import builtins
import traceback
import warnings

from dynamo_lite.features.output import listeners, log_calls, printing
from dynamo_lite.tracing.feature import Feature, NamedRules

_RULES = {
    id(builtins.print): printing.call_print,
    id(traceback.print_exception): printing.call_print_exception,
    id(warnings.catch_warnings.__enter__): printing.call_catch_warnings,
}

FEATURE = Feature(
    name="output",
    needs=("tracebacks",),
    state=(listeners.Listeners,),
    rules=lambda: _RULES,
    named=(
        NamedRules(log_calls.NAMES, log_calls.rule, is_skipped=True),
        NamedRules(printing.WARNINGS, lambda name: printing.call_warn),
    ),
    before_end=(listeners.check_unread,),
    graph_breaks=("global-state", "outside-object"),
)
