"""Hostile programs by class: how often is each exporter right? Ours, torch.export strict and non-strict.

    python -m benchmarks.hostile [--class NAME ...] [--only EXPORTER ...] [--programs 200] [--rows FILE] [--write]

The programs are the files of tests/hostile/programs (a class each) and modules made at random with the statements of
tests/hostile/statements. Each is exported from a fresh copy and compared with eager over three calls
(dynamo_lite/lab/observe.py). Every class runs in a process of its own for each exporter, and a program that ends the
process counts as "crashed"; the class goes on after it. "changed" counts the exports that leave the user's own objects
changed. With --rows what is measured is kept in FILE, and what is in there is not measured again.
"""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from benchmarks.exporters import NON_STRICT, OURS, STRICT, machine
from benchmarks.soundness import COLUMNS, AsModule, _column, _quiet_verdict
from tests.export.generated import probe as generated
from tests.export.probe import Probe, probes_by_file
from tests.export.verdict import Exporter, ours

RESULTS = Path(__file__).parent / "results" / "hostile.md"
SHOWN = (*COLUMNS[:6], "crashed", "changed")
SECONDS_PER_PROGRAM = 60


def _torch(strict: bool) -> Exporter:
    def export(
        program: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any = None
    ) -> Callable[..., Any]:
        torch._dynamo.reset()
        module = program if isinstance(program, nn.Module) else AsModule(program)
        return torch.export.export(module, args, kwargs, dynamic_shapes=dynamic_shapes, strict=strict).module()

    return export


EXPORTERS: dict[str, Exporter] = {OURS: ours, STRICT: _torch(True), NON_STRICT: _torch(False)}


@dataclass
class Row:
    """What one exporter made of one class: counts by column, seconds, and the programs that came out wrong."""

    counts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)


def classes(programs: int) -> dict[str, tuple[str, list[Probe]]]:
    """Name of a class → its title and its programs; `programs` of them are made at random from all statements."""
    from tests.hostile.statements import all_statements

    found = {}
    for file, probes in probes_by_file("tests.hostile.programs").items():
        title = (file.__doc__ or "").strip().splitlines()[0].rstrip(".")
        found[file.__name__.rpartition(".")[2]] = (title, probes)
    if programs:
        words = all_statements()
        found["generated"] = (f"{programs} random modules", [generated(seed, words) for seed in range(programs)])
    return found


def judged(probes: list[Probe], exporter: str) -> Row:
    """Judge all programs in processes of their own; where one dies, the next goes on after the program it was at."""
    row, start, first = Row(), time.perf_counter(), 0
    while first < len(probes):
        done = 0
        for line in _answers(probes[first:], exporter):
            done += 1
            row.counts[line["kind"]] += 1
            row.counts["changed"] += line["changed"]
            if line["kind"] in ("wrong", "internal", "fails") or line["changed"]:
                row.wrong.append(f"{line['name']}: {line['kind']}: {line['text']}")
        first += done
        if first < len(probes):
            row.counts["crashed"] += 1
            row.wrong.append(f"{probes[first].name}: crashed")
            first += 1
    row.seconds = time.perf_counter() - start
    return row


def _answers(probes: list[Probe], exporter: str) -> Iterator[dict[str, Any]]:
    """The answers of one forked process, up to the program that ends it or takes too long."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(probes, exporter, sender))
    process.start()
    sender.close()
    try:
        for _ in probes:
            if not receiver.poll(SECONDS_PER_PROGRAM):
                return
            yield json.loads(receiver.recv_bytes())
    except EOFError:
        return
    finally:
        process.kill()
        process.join()
        receiver.close()


def _work(probes: list[Probe], exporter: str, sender: Any) -> None:
    """In the forked process: one line an answer. Leaves without the parent's exit handlers."""
    logging.disable(logging.CRITICAL)
    name = "ours" if exporter == OURS else exporter
    for probe in probes:
        try:
            verdict = _quiet_verdict(probe, EXPORTERS[exporter])
            kind, text, changed = _column(verdict, name), verdict.text[:300], verdict.changed is not None
        except Exception as error:  # the export left something in the process that makes eager fail
            kind, text, changed = "fails", f"{type(error).__name__}: {error}"[:300], False
        answer = {"name": probe.name, "kind": kind, "text": text, "changed": changed}
        sender.send_bytes(json.dumps(answer).encode())
    sender.close()
    os._exit(0)


def table(title: str, rows: dict[str, Row]) -> str:
    """One row an exporter."""
    lines = [f"## {title}", "", f"| exporter | {' | '.join(SHOWN)} | seconds |", "|---" * (len(SHOWN) + 2) + "|"]
    for name, row in rows.items():
        cells = " | ".join(str(row.counts[column]) for column in SHOWN)
        lines.append(f"| {name} | {cells} | {row.seconds:.0f} |")
    return "\n".join(lines) + "\n"


def _sum(rows: list[Row]) -> Row:
    total = Row()
    for row in rows:
        total.counts.update(row.counts)
        total.seconds += row.seconds
    return total


class Kept:
    """What earlier runs have measured, in lines of JSON: [class, exporter, programs, counts, seconds, wrong]."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        lines = path.read_text(encoding="utf-8").splitlines() if path is not None and path.exists() else []
        self.rows = {(name, by, many): Row(Counter(n), s, w) for name, by, many, n, s, w in map(json.loads, lines)}

    def row(self, name: str, probes: list[Probe], exporter: str) -> Row:
        key = name, exporter, len(probes)
        if key not in self.rows:
            row = self.rows[key] = judged(probes, exporter)
            if self.path is not None:
                with self.path.open("a", encoding="utf-8") as file:
                    print(json.dumps([*key, row.counts, row.seconds, row.wrong]), file=file)
        return self.rows[key]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--class", dest="classes", nargs="*", help="files of tests/hostile/programs; all by default")
    parser.add_argument("--only", nargs="*", choices=[*EXPORTERS], default=[*EXPORTERS])
    parser.add_argument("--programs", type=int, default=200, help="random modules; 0 for none")
    parser.add_argument("--rows", type=Path, help="a file of what was measured before")
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}")
    options = parser.parse_args()
    found = {k: v for k, v in classes(options.programs).items() if not options.classes or k in options.classes}
    count = sum(len(probes) for _, probes in found.values())
    text = f"# Hostile programs: {count} in {len(found)} classes, three calls each\n\n{machine()}\n\n"
    text += f"`python -m benchmarks.hostile --programs {options.programs}`\n\n"
    rows: dict[str, dict[str, Row]] = {}
    kept = Kept(options.rows)
    for name, (title, probes) in found.items():
        rows[name] = {exporter: kept.row(name, probes, exporter) for exporter in options.only}
        print(table(title, rows[name]), flush=True)
        if OURS in rows[name]:
            print(*rows[name][OURS].wrong, sep="\n", flush=True)
    total = {exporter: _sum([of_class[exporter] for of_class in rows.values()]) for exporter in options.only}
    text += "\n".join([table("All", total), *(table(found[name][0], of_class) for name, of_class in rows.items())])
    text += f"\n{(__doc__ or '').strip()}\n"
    if options.write:
        RESULTS.write_text(text, encoding="utf-8")
    else:
        print(table("All", total))


if __name__ == "__main__":
    main()
