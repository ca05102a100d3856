"""Reports in torch's structured trace log: with TORCH_TRACE=folder set, tlparse shows each trace's report.

Artifacts: dynamo_lite_report (JSON, the document of `trace.report`), dynamo_lite_summary (`trace.explain()`), and for a
graph break dynamo_lite_graph_break.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from dynamo_lite.errors import DynamoLiteError


def is_on() -> bool:
    """Whether the log is switched on. torch reads the same variable, when it is imported."""
    return bool(os.environ.get("TORCH_TRACE"))


@contextmanager
def structured(reported: Callable[[], list[Any]]) -> Iterator[None]:
    """Around a trace; `reported()` then has it."""
    try:
        yield
    except DynamoLiteError as error:
        if is_on():
            text = str(error)
            _artifact("dynamo_lite_graph_break", "string", lambda: text)
        raise
    if is_on():
        from dynamo_lite.report.document import of_trace

        for trace in reported():
            _artifact("dynamo_lite_report", "json", partial(_as_json, of_trace, trace))
            _artifact("dynamo_lite_summary", "string", trace.explain)


def _as_json(of_trace: Callable[[Any, str], dict[str, Any]], trace: Any) -> str:
    return json.dumps(of_trace(trace, trace.title))


def _artifact(name: str, encoding: str, payload: Callable[[], str]) -> None:
    from dynamo_lite.logging._torch import trace_structured

    metadata = {"name": name, "encoding": encoding}
    trace_structured("artifact", metadata_fn=lambda: metadata, payload_fn=payload, expect_trace_id=False)
