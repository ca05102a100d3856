"""Graph breaks in place: what happened, what to write instead, and the case of ExportDB, its text included."""

from __future__ import annotations

import ast
from typing import Any

from dynamo_lite.errors import DynamoLiteError
from dynamo_lite.exportdb.lookup import CASES
from dynamo_lite.report.proofs import origin_record
from dynamo_lite.report.sources import Sources


def problem_records(problems: Any, sources: Sources) -> list[dict[str, Any]]:
    """The records of the problems that `explain` found, in the order of the run."""
    return [_problem(problem, f"p{number}", sources) for number, problem in enumerate(problems)]


def _problem(problem: Any, identifier: str, sources: Sources) -> dict[str, Any]:
    error: DynamoLiteError = problem.error
    frames = getattr(error, "frames", ())
    return {
        "id": identifier,
        "error": error.id,
        "what": getattr(error, "what", None) or str(error),
        "instead": getattr(error, "instead", ""),
        "fixes": list(getattr(error, "fixes", ())),
        "at": sources.at(frames, "problems", identifier) or _violated_at(error, identifier, sources),
        "stack": sources.stack(frames),
        "then": problem.then,
        "case": error.exportdb,
    }


def _violated_at(error: DynamoLiteError, identifier: str, sources: Sources) -> dict[str, Any] | None:
    """The first line that a violated specification is due to."""
    for violation in getattr(error, "violations", ()):
        for fact in getattr(violation, "facts", ()):
            at = origin_record(fact.origin, identifier, sources, "problems")["at"]
            if at is not None:
                place: dict[str, Any] = at
                return place
    return None


def case_records(names: Any) -> dict[str, dict[str, str]]:
    """The cases of ExportDB with these names: title, description and source."""
    found = {}
    for name in names:
        text = (CASES / f"{name}.py").read_text(encoding="utf-8")
        tree = ast.parse(text)
        title, _, description = (ast.get_docstring(tree) or "").partition("\n")
        after = tree.body[0].end_lineno or 0
        code = "\n".join(text.splitlines()[after:]).strip("\n")
        found[name] = {"title": title, "description": description.strip(), "code": code}
    return found
