"""docs/study.md: what tracers get wrong, by the laboratory, and what each mechanism of ours buys.

    python -m benchmarks.study run [--only NAME ...]    # the corpus with each exporter and ablation, or the rest of it
    python -m benchmarks.study collect                  # build/study/*.jsonl to benchmarks/results/study.jsonl
    python -m benchmarks.study run --folder build/other    # in an environment with another torch: each exporter
    python -m benchmarks.study collect --folder build/other    # to benchmarks/results/study_torch_VERSION.jsonl
    python -m benchmarks.study page                     # docs/study.md and, where matplotlib is installed, its figures

`run` writes files of the laboratory; hostile.jsonl and sizes.jsonl beside them are the outputs of `python -m
benchmarks.ablations`. In study.jsonl the first line is the stamp, each other one an exporter with its verdicts, or a
row of the ablations; model_outcomes.jsonl has the real models. benchmarks/study.md.jinja is the page, with the
functions of benchmarks/page.py and those below; tests/docs/test_study.py compares.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks import ablations as _ablations
from benchmarks.page import environment
from benchmarks.result_tables import RESULTS, ROOT

TORCHS = ("torch-strict", "torch-nonstrict", "torch-compile", "torch-jit-trace", "torch-fx")
TRACERS = ("dynamo-lite", "dynamo-lite-guarded", *TORCHS)
ABLATIONS = tuple(each.__name__ for each in _ablations.ABLATIONS)
MEASURED = ROOT / "build" / "study"
DATA = RESULTS / "study.jsonl"
MODELS = RESULTS / "model_outcomes.jsonl"
NOT_MEASURED = {
    "thunder": "lightning-thunder 0.2.6, its newest version, cannot be imported beside torch 2.13 or 2.15: it asks "
    "for `torch.Tensor.align_as`, which they no longer have"
}
"""Tracers that the corpus was not run with, and why."""
TEMPLATE = ROOT / "benchmarks" / "study.md.jinja"
PAGE = ROOT / "docs" / "study.md"
VERDICTS = ("equal", "wrong", "refused", "rejected-call", "crash", "timeout")
SAME = ("commit", "torch", "python", "machine")
WIDTH = 140
"""The longest text of an answer that is kept."""
_REFUSALS = {"TimeIsUp": "stopped by the limit on time"}
_SMALL = re.compile(r"s\d+ (?:>= [12]|!= [01]),")
"""A condition that only excludes sizes below two."""
_FOLDERS = re.compile(r"(?<![\w.])/(?:[\w.+-]+/)+")
"""Those of an absolute path."""


def run(names: list[str], folder: Path) -> int:
    """Run the laboratory with each exporter. The exit status is that of the last run that could not be made, or 0."""
    folder.mkdir(parents=True, exist_ok=True)
    status = 0
    for name in names or measured_in(folder):
        exporter = f"benchmarks.ablations:{name}" if name in ABLATIONS else name
        command = [sys.executable, "-m", "dynamo_lite.lab", "run", "--exporter", exporter, "--resume"]
        done = subprocess.run([*command, "--out", str(folder.resolve() / f"{name}.jsonl")], cwd=ROOT, check=False)
        status = done.returncode if done.returncode > 1 else status  # 1: a program is wrong
    return status


def measured_in(folder: Path) -> tuple[str, ...]:
    """What is run there: ablations with the default torch only."""
    return (*TRACERS, *ABLATIONS) if folder == MEASURED else TRACERS


def file_of(folder: Path, text: str) -> Path:
    """Where what was collected belongs: the name of a file of another torch has its version."""
    version = json.loads(text.partition("\n")[0])["torch"].partition("+")[0]
    return DATA if folder == MEASURED else RESULTS / f"study_torch_{version}.jsonl"


def collect(folder: Path, names: tuple[str, ...] = (*TRACERS, *ABLATIONS)) -> str:
    """The files of the laboratory as one. ValueError where they are not of one state."""
    runs = [folder / f"{name}.jsonl" for name in names]
    read = [[json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] for path in runs]
    stamps = [lines[0]["stamp"] for lines in read]
    if any(stamp[key] != stamps[0][key] for stamp in stamps for key in SAME):
        raise ValueError(f"the files of {folder} are of several states")
    found: list[dict[str, Any]] = [{key: stamps[0][key] for key in SAME} | {"date": stamps[0]["date"][:10]}]
    for stamp, lines in zip(stamps, read):
        rows = {}
        for row in sorted(lines[1:], key=lambda row: row["id"]):
            text = _FOLDERS.sub("", " ".join(row.get("text", "").split()))[:WIDTH]
            rows[row["id"]] = [row["verdict"], text] if text and row["verdict"] != "equal" else [row["verdict"]]
        found.append({"exporter": stamp["exporter"], "rows": rows})
    for path in (folder / "hostile.jsonl", folder / "sizes.jsonl"):
        if path.exists():
            found += [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return "".join(json.dumps(row) + "\n" for row in found)


@cache
def data(path: Path = DATA) -> list[dict[str, Any]]:
    """The lines of study.jsonl, or of the file of another torch."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def stamp(path: Path = DATA) -> dict[str, str]:
    """The state that was measured."""
    return data(path)[0]


def other_torches() -> list[Path]:
    """The files of other torches, the older first."""
    found = RESULTS.glob("study_torch_*.jsonl")
    return sorted(found, key=lambda path: [int(part) for part in re.findall(r"\d+", path.stem)])


def rows(exporter: str, path: Path = DATA) -> dict[str, list[str]]:
    """Program → verdict, text. LookupError for an exporter that was not measured."""
    for line in data(path):
        if line.get("exporter") == exporter:
            found: dict[str, list[str]] = line["rows"]
            return found
    raise LookupError(f"{path.name} has no exporter {exporter!r}")


def classes() -> list[str]:
    """The classes of the programs."""
    return sorted({id.partition(".")[0] for id in rows(TRACERS[0])})


def counts(exporter: str, kind: str = "", path: Path = DATA) -> Counter[str]:
    """Verdict → programs, of a class or of all."""
    return Counter(row[0] for id, row in rows(exporter, path).items() if not kind or id.startswith(f"{kind}."))


def moved(exporter: str, path: Path) -> list[tuple[str, str, str]]:
    """(id, verdict with the default torch, verdict with another) where they differ."""
    before = rows(exporter)
    return [(id, before[id][0], row[0]) for id, row in rows(exporter, path).items() if row[0] != before[id][0]]


def with_verdict(exporter: str, verdict: str) -> list[str]:
    """The ids of the programs with a verdict."""
    return [id for id, row in rows(exporter).items() if row[0] == verdict]


def changed(exporter: str) -> list[tuple[str, str, str]]:
    """(id, verdict of dynamo-lite, verdict of this exporter) where they differ."""
    ours = rows("dynamo-lite")
    return [(id, ours[id][0], row[0]) for id, row in rows(exporter).items() if row[0] != ours[id][0]]


def ablations() -> list[str]:
    """The names of the ablations that were measured."""
    return [line["exporter"] for line in data() if "exporter" in line and line["exporter"] not in TRACERS]


def what(exporter: str) -> str:
    """What an ablation takes out: the docstring of its class."""
    (found,) = (each for each in _ablations.ABLATIONS if each.name == exporter)
    return " ".join((found.__doc__ or "").split())


def measured(what: str) -> list[dict[str, Any]]:
    """The rows of `python -m benchmarks.ablations WHAT`; none if they were not measured."""
    return [line[what] for line in data() if what in line]


@cache
def _model_lines() -> list[dict[str, Any]]:
    return [json.loads(line) for line in MODELS.read_text(encoding="utf-8").splitlines()]


def model_stamp() -> dict[str, Any]:
    """The state that `python -m benchmarks.model_outcomes` has measured; `models`: of how many."""
    return _model_lines()[0]


def model_counts() -> dict[str, Any]:
    """How many models were tried (`sampled`), how many came to what (`rows`), that as `shares`, and the largest of
    their errors: two standard errors of a share, in points."""
    rows = _model_lines()[1:]
    made = [row for row in rows if not row["refused"]]
    ids = Counter(row["refused"].partition(":")[0] for row in rows if row["refused"])
    kinds = Counter(kind for row in made for kind in row["captured"])
    found = {
        "exported": len(made),
        **{_REFUSALS.get(id, f"refused: {id}"): count for id, count in sorted(ids.items())},
        "with a captured branch or loop": sum(bool(row["operators"]) for row in made),
        **{f"… a {kind}": count for kind, count in sorted(kinds.items())},
        "with branches on sizes that were compared, and are no guards": sum(row["compared"] > 0 for row in made),
        "with a size made constant": sum(bool(row["constant"]) for row in made),
        "narrowed: with a condition on sizes that the example decided": sum(map(_is_narrowed, made)),
    }
    total, listed = len(rows), model_stamp()["models"]
    rest = (listed - total) / (listed - 1)
    error = max(2 * math.sqrt(rest * n * (total - n) / total**3) for n in found.values())
    shares = {name: f"{100 * count / total:.0f} %" for name, count in found.items()}
    return {"sampled": total, "rows": found, "shares": shares, "error": round(100 * error)}


def _is_narrowed(row: dict[str, Any]) -> bool:
    """Whether sizes of two and more are excluded."""
    return not all(_SMALL.match(condition) for condition in row["narrowed"])


def page() -> str:
    """docs/study.md."""
    names = {"tracers": TRACERS, "verdicts": VERDICTS, "not_measured": NOT_MEASURED}
    functions = (
        stamp,
        rows,
        classes,
        counts,
        with_verdict,
        changed,
        other_torches,
        moved,
        ablations,
        what,
        measured,
        model_stamp,
        model_counts,
    )
    template = environment().from_string(TEMPLATE.read_text(encoding="utf-8"))
    return template.render(names | {function.__name__: function for function in functions})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "collect", "page"))
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="of `run`: these exporters")
    parser.add_argument("--folder", type=Path, default=MEASURED, help="the files of the laboratory")
    options = parser.parse_args()
    if options.what == "run":
        return run(options.only, options.folder)
    if options.what == "collect":
        text = collect(options.folder, measured_in(options.folder))
        file_of(options.folder, text).write_text(text, encoding="utf-8")
        return 0
    PAGE.write_text(page(), encoding="utf-8")
    if importlib.util.find_spec("matplotlib") is None:
        print("matplotlib is not installed: the figures are as they were (pip install 'dynamo-lite[figures]')")
        return 0
    from benchmarks import figures

    figures.study()
    return 0


if __name__ == "__main__":
    sys.exit(main())
