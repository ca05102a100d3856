"""strict=False on the probes of tests/export: is the program right, and where it is not, does a note say so?

    python -m benchmarks.nonstrict [--only WORD] [--write]

Each probe is exported with strict=False from a fresh copy and compared with eager over three calls, and the user's
objects with what they were (tests/export/verdict.py). A probe falls into one class:

equal               the program equals eager (or eager raises, and export raises the same); nothing is changed
refused             export raised one of the errors that it raises on purpose
noted               the program differs from eager, and a note says that it may ("unsound here because ...")
noted but changed   a note says so, and export left an object of the user's changed
WRONG               the program differs from eager, or an object is left changed, and no note says so
internal            export raised something else
"""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import dynamo_lite
from dynamo_lite.nonstrict.tracer import UNSOUND
from tests.export.probe import Probe, all_probes
from tests.export.verdict import Verdict, judge

RESULTS = Path(__file__).parent / "results" / "nonstrict.md"
EQUAL, REFUSED, NOTED, CHANGED, WRONG, INTERNAL = CLASSES = (
    "equal",
    "refused",
    "noted",
    "noted but changed",
    "WRONG",
    "internal",
)


@dataclass(frozen=True)
class Row:
    """One probe's class, in words why, and the notes of its program."""

    probe: Probe
    kind: str
    text: str
    notes: list[str]


def classify(probe: Probe) -> Row:
    """Export one probe with strict=False and judge it."""
    notes: list[str] = []

    def free(program: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any]:
        exported = dynamo_lite.export(program, args, kwargs, strict=False)
        notes.extend(exported.notes)
        return exported.module()

    with _quiet():
        verdict = judge(probe, free)
    return Row(probe, kind_of(verdict, notes), _words(verdict), [n for n in notes if n.startswith(UNSOUND)])


def kind_of(verdict: Verdict, notes: list[str]) -> str:
    """The class of a verdict on a program with these notes (the first of them tells that CPython ran it)."""
    if verdict.kind == "internal":
        return INTERNAL
    noted = any(note.startswith(UNSOUND) for note in notes)
    if verdict.kind in ("wrong", "fails") and not noted:
        return WRONG
    if verdict.changed is not None or verdict.leaked is not None:
        return CHANGED if len(notes) > 1 else WRONG
    if verdict.kind in ("wrong", "fails"):
        return NOTED
    return EQUAL if verdict.kind in ("equal", "raises") else REFUSED


def _words(verdict: Verdict) -> str:
    parts = [verdict.text if verdict.kind not in ("equal", "raises") else "", verdict.changed or ""]
    parts.append(f"a FakeTensor is left in {verdict.leaked}" if verdict.leaked else "")
    return " ".join("; ".join(filter(None, parts)).split()).replace("|", "/")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    silence = io.StringIO()
    with contextlib.redirect_stdout(silence), contextlib.redirect_stderr(silence), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def rows(probes: Iterable[Probe]) -> Iterator[Row]:
    for probe in probes:
        row = classify(probe)
        if row.kind in (WRONG, INTERNAL, CHANGED):
            print(f"{row.kind}: {row.probe.name}: {row.text[:200]} {row.notes}", flush=True)
        yield row


def report(found: list[Row], seconds: float) -> str:
    """The table as markdown: counts, then what is noted and not equal."""
    counts = Counter(row.kind for row in found)
    lines = [
        "# strict=False on the hand-written probes",
        "",
        f"Written by `python -m benchmarks.nonstrict --write`: {len(found)} probes in {seconds:.0f} s, "
        f"torch {torch.__version__}.",
        "The classes are explained there.",
        "",
        f"| {' | '.join(CLASSES)} |",
        "|---" * len(CLASSES) + "|",
        f"| {' | '.join(str(counts[name]) for name in CLASSES)} |",
        "",
    ]
    for kind in (INTERNAL, WRONG, CHANGED, NOTED):
        chosen = [row for row in found if row.kind == kind]
        if chosen:
            lines += [f"## {kind}", "", "| probe | what differs | notes |", "|---|---|---|"]
            lines += [f"| {row.probe.name} | {row.text[:70]} | {_short(row.notes)} |" for row in chosen]
            lines.append("")
    return "\n".join(lines)


def _short(notes: list[str]) -> str:
    return "; ".join(note.removeprefix(UNSOUND).replace("|", "/").replace("\n", " ")[:110] for note in notes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="probes whose name holds this")
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    start = time.perf_counter()
    found = [*rows(probe for probe in all_probes() if options.only in probe.name)]
    text = report(found, time.perf_counter() - start)
    if options.write:
        RESULTS.write_text(text)
    print(dict(Counter(row.kind for row in found)))


if __name__ == "__main__":
    main()
