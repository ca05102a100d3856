"""Whole programs in which data decide what runs: what dynamo-lite captures, and what is rewritten by hand elsewhere.

    python -m benchmarks.whole_programs STATE [--only=NAME,NAME] [--write]

The programs are in benchmarks/whole_program_modules. Each is exported on its first call and compared with eager on all
(benchmarks/control_flow_modules.py says how). STATE: a JSON file of the outcomes so far, which are not run again.
--write: the table, into benchmarks/results/whole_programs.md.
"""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path

from benchmarks.control_flow_modules import OURS, Outcome, cell, measured
from benchmarks.exporters import commit, machine
from benchmarks.whole_program_modules import PROGRAMS

_RESULTS = Path(__file__).parent / "results" / "whole_programs.md"
_EXPORTERS = (OURS, "strict", "non-strict")


def _table(state: dict[str, dict[str, Outcome]]) -> str:
    cells = {
        name: [cell(entry, state.get(name, {}).get(e, {})) for e in _EXPORTERS] for name, entry in PROGRAMS.items()
    }
    equal = [sum(row[index] == "equal" for row in cells.values()) for index in range(len(_EXPORTERS))]
    wrong = sum("wrong" in row[0] for row in cells.values())
    rows = [
        f"| {name} | {entry.what} | {' | '.join(cells[name])} | {entry.rewrite} |" for name, entry in PROGRAMS.items()
    ]
    head = (__doc__ or "").split("\n    ")[1].splitlines()[0]
    return "\n".join([
        "# Whole programs: where data decide what runs", "",
        f"`{head}` (commit {commit()}), {date.today()}; {machine()}.",
        "Each program is exported on one call and compared with eager on others, which take other ways and have other",
        "sizes of data; \"equal\": on all of them.", "",
        f"Of {len(PROGRAMS)} programs: dynamo-lite {equal[0]} equal, {wrong} wrong; torch strict {equal[1]} equal; "
        f"torch non-strict {equal[2]} equal.", "",
        "| program | what it is | dynamo-lite | torch strict | torch non-strict | rewritten by hand as |",
        "|---|---|---|---|---|---|", *rows, ""])  # fmt: skip


def main() -> None:
    state = measured(PROGRAMS, _EXPORTERS)
    if "--write" in sys.argv:
        _RESULTS.write_text(_table(state))


if __name__ == "__main__":
    main()
