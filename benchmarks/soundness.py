"""How often is an exporter silently wrong? Generated programs and the probes of tests/export, ours against torch's.

    python -m benchmarks.soundness [--programs 2000] [--probes 50] [--first 0] [--only ours|torch] [--write]

Each program is exported from a fresh copy and compared with eager over three calls (dynamo_lite/lab/observe.py):
outputs, arguments after the call, buffers, aliases. "changed" counts the exports that leave the user's own objects
changed.
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
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tests.export.generated import probe
from tests.export.probe import Probe, all_probes
from tests.export.verdict import Exporter, Verdict, judge, ours

RESULTS = Path(__file__).parent / "results" / "soundness.md"
COLUMNS = ("equal", "refused", "wrong", "fails", "raises", "internal", "changed")


class AsModule(nn.Module):
    """torch.export takes modules only."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__()
        self.fn = fn

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn(*args, **kwargs)


def torch_strict(program: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any]:
    """torch.export.export(strict=True), from a clean Dynamo."""
    torch._dynamo.reset()
    module = program if isinstance(program, nn.Module) else AsModule(program)
    return torch.export.export(module, args, kwargs, strict=True).module()


EXPORTERS: dict[str, Exporter] = {"ours": ours, "torch": torch_strict}


def tally(probes: Iterable[Probe], export: Exporter, name: str) -> tuple[Counter[str], list[str]]:
    """Counts by kind of answer, and the programs that came out wrong."""
    counts: Counter[str] = Counter()
    wrong = []
    for program in probes:
        verdict = _quiet_verdict(program, export)
        kind = _column(verdict, name)
        counts[kind] += 1
        counts["changed"] += verdict.changed is not None
        if kind in ("wrong", "internal", "fails"):
            wrong.append(f"{program.name}: {kind}: {verdict.text[:300]}")
    return counts, wrong


def _quiet_verdict(program: Probe, export: Exporter) -> Verdict:
    silence = io.StringIO()
    with contextlib.redirect_stdout(silence), contextlib.redirect_stderr(silence), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return judge(program, export)


def _column(verdict: Verdict, name: str) -> str:
    if verdict.kind in COLUMNS and (verdict.kind != "internal" or name == "ours"):
        return verdict.kind
    return "refused"  # a refusal's id, or (torch's) any other error at export


def report(title: str, rows: dict[str, Counter[str]], seconds: dict[str, float]) -> str:
    """A markdown table: one row an exporter."""
    lines = [f"## {title}", "", f"| exporter | {' | '.join(COLUMNS)} | seconds |", "|---" * (len(COLUMNS) + 2) + "|"]
    for name, counts in rows.items():
        cells = " | ".join(str(counts[column]) for column in COLUMNS)
        lines.append(f"| {name} | {cells} | {seconds[name]:.0f} |")
    return "\n".join(lines) + "\n"


def _generated(first: int, count: int) -> Iterator[Probe]:
    return (probe(seed) for seed in range(first, first + count))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--probes", type=int, help="so many of the hand-written ones; all by default")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", choices=[*EXPORTERS])
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    subjects: dict[str, Callable[[], Iterable[Probe]]] = {
        "Hand-written probes": lambda: islice(all_probes(), options.probes),
        f"{options.programs} generated stateful modules": lambda: _generated(options.first, options.programs),
    }
    text = "# Soundness: exported programs against eager, three calls each\n\n`python -m benchmarks.soundness "
    text += f"--programs {options.programs} --first {options.first}`, torch {torch.__version__}\n\n"
    for title, probes in subjects.items():
        rows, seconds = {}, {}
        for name, export in EXPORTERS.items():
            if options.only in (None, name):
                start = time.perf_counter()
                rows[name], wrong = tally(probes(), export, name)
                seconds[name] = time.perf_counter() - start
                if name == "ours":
                    print(*wrong, sep="\n")
        table = report(title, rows, seconds)
        print(table, flush=True)
        text += table + "\n"
    if options.write:
        RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
