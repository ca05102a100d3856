"""The proofs of a trace as a file: why its guards on sizes suffice, and what was decided about sizes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch.export import ExportedProgram

from dynamo_lite.symbolic_shapes.certificates.document import Subject, document
from dynamo_lite.symbolic_shapes.dims.violations import Solution
from dynamo_lite.symbolic_shapes.environment import ShapeEnv
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, Truth
from dynamo_lite.symbolic_shapes.size_guards.simplify import simplify
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv

ENTRY = "dynamo_lite_certificates.json"
"""The name of the entry in a program's archive (dynamo_lite/certificates/checker.py reads it)."""


@dataclass(frozen=True, eq=False)
class Certificates:
    """Proofs of a trace: each guard on sizes from the recorded facts, each fact from the guards, each decision from the
    facts. `python -m dynamo_lite.lab verify FILE` replays them.

    They are made when they are asked for. docs/certificates.md describes the file.
    """

    env: ShapeEnv
    questions: Iterable[Bool]
    solution: Solution | None
    title: str

    def document(self) -> dict[str, Any]:
        """The content of the file. Raises BadCertificate where a proof does not check."""
        from dynamo_lite import __version__

        table = self.solution.table if self.solution is not None else None
        answers = [(r, self.env.decide(r)) for r in self.questions if not isinstance(r, Truth)]
        subject = Subject(
            self.solution.guard_set if self.solution is not None else simplify([]),
            self.env.facts,
            [a.certificate for _, a in answers if a.verdict and a.certificate is not None],
            [r for r, a in answers if not a.verdict or a.certificate is None],
            table.in_words if table is not None else str,
        )
        symbols = {} if table is None else {str(symbol): label for symbol, label in table.labels.items()}
        return document(subject, {"dynamo_lite": __version__, "program": self.title, "symbols": symbols})

    def save(self, path: str | Path) -> None:
        """Write them to a file of JSON."""
        Path(path).write_text(_text(self.document()), encoding="utf-8")

    def __repr__(self) -> str:
        return f"<Certificates of {self.title}>"


def certificates_of(
    env: TorchShapeEnv | None, solution: Solution | None, compared: Iterable[Any], title: str
) -> Certificates:
    """The certificates of a run with this environment; compared: its branches on sizes that add no guard."""
    core = env.core if env is not None else ShapeEnv()
    of_branches = [relation for branch in compared for relation in branch.relations()]
    questions = [*env.memo.decided(), *of_branches] if env is not None else []
    return Certificates(core, dict.fromkeys(questions), solution, title)


def with_certificates(program: ExportedProgram, files: dict[str, Any] | None) -> dict[str, Any] | None:
    """The further entries of a program's file: those given, and its certificates where a size varies."""
    trace = getattr(program, "trace", None)
    if trace is None or trace.solution is None:
        return files
    return {**(files or {}), ENTRY: _text(trace.certificates.document())}


def _text(found: dict[str, Any]) -> str:
    return json.dumps(found, separators=(",", ":"))
