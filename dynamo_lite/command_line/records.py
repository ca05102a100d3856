"""The output of the commands, as data: `--json` prints it as it is; the text is made from it."""

from __future__ import annotations

import traceback
from typing import Any

from dynamo_lite.errors import DynamoLiteError, GraphBreak, UserFrame
from dynamo_lite.folders import OWN


def frame_record(frame: UserFrame) -> dict[str, Any]:
    """One line of the program."""
    return {"file": frame.filename, "line": frame.lineno, "function": frame.name, "code": frame.source}


def error_record(error: BaseException) -> dict[str, Any]:
    """Return an error: `kind` is its class, `id` its stable name (None: the program's own), `text` the printed text."""
    record: dict[str, Any] = {"kind": type(error).__name__, "id": None, "text": str(error)}
    if isinstance(error, DynamoLiteError):
        record |= {"id": error.id, "exportdb": error.exportdb, "fixes": list(getattr(error, "fixes", ()))}
    else:
        record["frames"] = [frame_record(frame) for frame in frames_of(error)]
    if isinstance(error, GraphBreak):
        frame = error.frame
        record |= {
            "what": error.what,
            "instead": error.instead,
            "at": frame_record(frame) if frame is not None else None,
            "frames": [frame_record(frame) for frame in error.frames],
        }
    return record


def frames_of(error: BaseException) -> list[UserFrame]:
    """Where the program was when it raised: the frames of the traceback that are not dynamo-lite's own."""
    rows = traceback.extract_tb(error.__traceback__)
    ours = [row.filename.startswith(OWN) for row in rows]
    if True not in ours:
        return []
    inside = [row for row, own in zip(rows, ours) if not own][ours.index(True) :]
    return [UserFrame(row.filename, row.lineno or 0, row.name) for row in inside]


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def trace_record(trace: Any) -> dict[str, Any]:
    """Return a summary of an export: the numbers, and what a reader should know about it."""
    program = trace.program
    return {
        "operators": sum(node.op == "call_function" for node in program.graph.nodes),
        "inputs": [spec.arg.name for spec in program.graph_signature.input_specs if _is_user(spec)],
        "ranges": {str(symbol): [str(r.lower), str(r.upper)] for symbol, r in program.range_constraints.items()},
        "size_guards": [guard.text for guard in trace.guards if guard.kind == "python"],
        "guards": len(trace.guards),
        "effects": [str(effect) for effect in trace.effects],
        "fixed_sizes": [str(row) for row in trace.specializations],
        "notes": list(trace.notes),
    }


def explanation_record(found: Any) -> dict[str, Any]:
    """Return the result of `explain`."""
    return {
        "problems": [{**error_record(problem.error), "then": problem.then} for problem in found.problems],
        "captured": found.captured if isinstance(found.captured, list) else [],
        "effects": [str(effect) for effect in found.effects],
        "fixed_sizes": [str(row) for row in found.specializations],
        "notes": list(found.notes),
        "complete": found.complete,
    }


def check_record(report: Any) -> dict[str, Any]:
    """Return the runs of `check`."""
    difference = report.difference
    return {
        "runs": [{"on": replay.label, "outcome": replay.outcome, "noted": replay.noted} for replay in report.replays],
        "difference": None if difference is None else str(difference),
    }


def doctor_record(examination: Any) -> dict[str, Any]:
    """Return the findings of the doctor."""
    rows = [
        {"kind": row.kind, "name": row.name, "where": row.where, "said": row.text, "costs": row.costs}
        for row in examination.findings
    ]
    return {"counts": examination.counts, "compared_with": examination.compared_with, "findings": rows}


def _is_user(spec: Any) -> bool:
    return str(spec.kind.name) == "USER_INPUT"
