from __future__ import annotations
from typing import Any
def explain(tracer: Any, id: str, question: Any) -> Any:
    from dynamo_lite.tracing.refusals import REFUSALS
    row = REFUSALS[id]
    return row.error(id, str(question), row.instead, tracer.where())
