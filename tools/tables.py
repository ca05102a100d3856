"""The tables of benchmarks/results, measured on one state: `make tables`; a small part of each: `make tables-smoke`.

    python tools/tables.py smoke [NAME ...]    # each on a few samples; fails if a table has another form
    python tools/tables.py run [NAME ...]      # all of them, for hours; each writes its file in benchmarks/results
    python tools/tables.py page                # the tables that `run` has measured, on one page with their stamp

benchmarks/tables.toml has the commands. What a benchmark prints is kept as data: build/tables/NAME.json has its tables
(columns and rows), the seconds, and a stamp (commit, torch, Python, machine, date). A template makes the
page of those files; those of another commit, torch or Python than the first are left out, and named.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.result_tables import RESULTS, ROOT, header, tables

MEASURED = ROOT / "build" / "tables"
SAME = ("commit", "torch", "python")
"""Parts of the stamp that all tables of a page share."""
PAGE = """\
# Tables of one state

Commit {{ stamp.commit }}, torch {{ stamp.torch }}, Python {{ stamp.python }}, {{ stamp.machine }}; {{ stamp.date }}.
{% for each in measured %}
## {{ each.name }}

`{{ each.command }}`, {{ "%.0f" | format(each.seconds) }} s
{% for table in each.tables %}
| {{ table.columns | join(" | ") }} |
|{{ "---|" * (table.columns | length) }}
{% for row in table.rows -%}
| {{ row | join(" | ") }} |
{% endfor %}{% endfor %}{% endfor %}{% if left_out %}
Left out, since measured on another state: {{ left_out | join(", ") }}.
{% endif %}"""


@dataclass(frozen=True)
class Benchmark:
    """A row of benchmarks/tables.toml: `args` of the whole measurement, `smoke` of the small one, if there is one."""

    name: str
    module: str
    smoke: list[str] | None = None
    args: list[str] = field(default_factory=list)
    form: list[str] = field(default_factory=list)

    def command(self, is_smoke: bool) -> list[str]:
        words = (self.smoke or []) if is_smoke else [*self.args, "--write"]
        return ["python", "-m", f"benchmarks.{self.module}", *words]

    def columns(self) -> set[tuple[str, ...]]:
        """The headers of the tables in its file of benchmarks/results; `form` where that was put together by hand."""
        if self.form:
            return {tuple(self.form)}
        text = (RESULTS / f"{self.name}.md").read_text(encoding="utf-8")
        return {header(table) for table in tables(text)}


def benchmarks(names: Sequence[str] = ()) -> list[Benchmark]:
    """Those of benchmarks/tables.toml with these names, or all. LookupError for a name that is not there."""
    rows = tomllib.loads((ROOT / "benchmarks" / "tables.toml").read_text(encoding="utf-8"))["benchmark"]
    found = {row["name"]: Benchmark(**row) for row in rows}
    unknown = [name for name in names if name not in found]
    if unknown:
        raise LookupError(f"no benchmark {unknown[0]!r}; there are {', '.join(found)}")
    return [found[name] for name in names] if names else list(found.values())


def stamp() -> dict[str, str]:
    """The state that is measured. A commit with `+` has changes that are not committed."""
    git = ["git", "-C", str(ROOT)]
    commit = subprocess.run([*git, "rev-parse", "--short=10", "HEAD"], capture_output=True, text=True, check=False)
    changed = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True, check=False).stdout
    return {
        "commit": (commit.stdout.strip() or "unknown") + "+" * bool(changed.strip()),
        "torch": version("torch"),
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def measured(benchmark: Benchmark, is_smoke: bool, seconds: float, about: dict[str, str]) -> dict[str, Any]:
    """Run one benchmark: its tables, or `error`."""
    command = benchmark.command(is_smoke)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    row: dict[str, Any] = {"name": benchmark.name, "command": " ".join(command), "stamp": about}
    start = time.perf_counter()
    try:
        done = subprocess.run(
            [sys.executable, *command[1:]], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=seconds,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {**row, "seconds": seconds, "tables": [], "error": f"no end in {seconds:.0f} s"}
    row |= {"seconds": time.perf_counter() - start, "tables": list(tables(done.stdout))}
    return row | ({"error": f"exit status {done.returncode}: {done.stderr[-800:]}"} if done.returncode else {})


def form(benchmark: Benchmark, row: dict[str, Any]) -> str:
    """What is not as in benchmarks/results; empty if the form is right."""
    if "error" in row:
        return str(row["error"])
    known, found = benchmark.columns(), [header(table) for table in row["tables"]]
    if not any(columns[: len(one)] == one for columns in found for one in known):
        return f"its tables have the columns {found}, those of benchmarks/results {sorted(known)}"
    ragged = [r for table in row["tables"] for r in table["rows"] if len(r) != len(table["columns"])]
    return f"a row has not as many cells as columns: {ragged[0]}" if ragged else ""


def run(names: Sequence[str], is_smoke: bool, jobs: int, seconds: float) -> int:
    """The exit status: 1 if some benchmark fails, or prints tables of another form."""
    chosen = [each for each in benchmarks(names) if not is_smoke or each.smoke is not None]
    about, status = stamp(), 0
    MEASURED.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(jobs) as pool:
        rows = pool.map(lambda benchmark: measured(benchmark, is_smoke, seconds, about), chosen)
        for benchmark, row in zip(chosen, rows):
            wrong = form(benchmark, row)
            status |= bool(wrong)
            print(f"{benchmark.name:22} {row['seconds']:6.1f} s  {wrong or 'as in benchmarks/results'}", flush=True)
            if not is_smoke and "error" not in row:
                (MEASURED / f"{benchmark.name}.json").write_text(json.dumps(row, indent=1), encoding="utf-8")
    return status


def page(rows: Sequence[dict[str, Any]]) -> str:
    """The tables of one state as Markdown."""
    from jinja2 import Environment

    about = rows[0]["stamp"]
    same = [row for row in rows if all(row["stamp"][key] == about[key] for key in SAME)]
    left_out = [row["name"] for row in rows if row not in same]
    template = Environment(autoescape=False, trim_blocks=False).from_string(PAGE)
    return template.render(stamp=about, measured=same, left_out=left_out) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("smoke", "run", "page"))
    parser.add_argument("names", nargs="*")
    parser.add_argument("--jobs", type=int, default=1, help="benchmarks at a time: times are right with 1")
    parser.add_argument("--seconds", type=float, help="the limit of one benchmark")
    options = parser.parse_args()
    if options.what == "page":
        files = [MEASURED / f"{benchmark.name}.json" for benchmark in benchmarks(options.names)]
        rows = [json.loads(path.read_text(encoding="utf-8")) for path in files if path.exists()]
        if not rows:
            print("nothing is measured: python tools/tables.py run", file=sys.stderr)
            return 2
        (MEASURED / "tables.md").write_text(page(rows), encoding="utf-8")
        print(MEASURED / "tables.md")
        return 0
    is_smoke = options.what == "smoke"
    return run(options.names, is_smoke, options.jobs, options.seconds or (120 if is_smoke else 4 * 3600))


if __name__ == "__main__":
    sys.exit(main())
