"""torch.export (strict and not) on the cases of ExportDB: does it refuse, is it right, is it silently wrong?

    python -m benchmarks.exportdb [--cases 20] [--write]

Each program that exports is called twice on the example, and once on each of the other inputs that the case holds, and
compared with a fresh eager module: results, arguments, buffers. Where one of the two does not end within a minute (a
lock that is taken and not released), they differ. `--write` writes benchmarks/results/exportdb.md.
"""

from __future__ import annotations

import argparse
import platform
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from benchmarks.soundness import AsModule
from benchmarks.time_limit import TimeIsUp, time_limit
from dynamo_lite.exportdb import catalogue
from dynamo_lite.exportdb.case import Case
from dynamo_lite.exportdb.checking import differences

RESULTS = Path(__file__).parent / "results" / "exportdb.md"
ANSWERS = ("equal", "refused", "wrong", "raises")

Exporter = Callable[[Case], Any]
SECONDS = 60
"""How long the calls of one program may take."""


def _torch(strict: bool) -> Exporter:
    def export(case: Case) -> Any:
        call = case.inputs()
        module = case.module()
        if not isinstance(module, torch.nn.Module):
            module = AsModule(module)
        return torch.export.export(module, call.args, call.kwargs, dynamic_shapes=case.dynamic_shapes(), strict=strict)

    return export


EXPORTERS: dict[str, Exporter] = {
    "dynamo-lite": lambda case: case.export(),
    "torch.export strict": _torch(strict=True),
    "torch.export non-strict": _torch(strict=False),
}


def answer(case: Case, export: Exporter) -> str:
    """What `export` makes of a case."""
    torch.manual_seed(0)
    try:
        program = export(case)
    except Exception:
        return "refused"
    calls = [case.inputs(), case.inputs(), *case.other_inputs()]
    try:
        with time_limit(SECONDS):
            return "wrong" if differences(case.module(), program, calls, not case.returned) else "equal"
    except TimeIsUp:  # a lock that one of the two leaves locked: eager's next call waits
        return "wrong"
    except Exception:
        return "raises"


def _is_comparable(case: Case) -> bool:
    """Left out: cases about the call of our export, and those that a plain eager call does not show."""
    return not any(hasattr(case.file, name) for name in ("export", "eager", "wrong_inputs"))


def measure(most: int | None = None) -> dict[str, dict[str, str]]:
    """exporter → case → answer, of all cases or the first `most`."""
    cases = [case for case in catalogue.all_cases() if _is_comparable(case)][:most]
    rows: dict[str, dict[str, str]] = {}
    for name, export in EXPORTERS.items():
        rows[name] = {}
        for case in cases:
            torch._dynamo.reset()
            rows[name][case.name] = answer(case, export)
    return rows


def report(rows: dict[str, dict[str, str]]) -> str:
    """The table as Markdown."""
    total = len(rows["dynamo-lite"])
    lines = [
        "# torch.export on the cases of ExportDB",
        "",
        "Command: `python -m benchmarks.exportdb --write`. "
        f"torch {torch.__version__}, Python {platform.python_version()}; {total} cases (without those about the call "
        "of our own export). The cases are ours, so they say where the two differ, not how often that is met.",
        "",
        "| | " + " | ".join(ANSWERS) + " |",
        "|---|" + "---|" * len(ANSWERS),
    ]
    for name, answers in rows.items():
        counts = Counter(answers.values())
        lines.append(f"| {name} | " + " | ".join(str(counts[a]) for a in ANSWERS) + " |")
    lines += [
        "",
        "equal: exports, and equals eager on each call. raises: exports, and the program raises where eager does not. "
        "An effect that no result shows (an attribute on an argument, a list that only grows) counts as equal here.",
    ]
    ours, strict, other = rows.values()
    lines += ["", "Where torch.export strict is wrong, or its program raises (dynamo-lite; non-strict):", ""]
    lines += [f"- `{c}`: {a} ({ours[c]}; {other[c]})" for c, a in strict.items() if a in ("wrong", "raises")]
    lines += ["", "Where torch.export strict refuses and dynamo-lite equals eager:", ""]
    lines += [f"- `{c}`" for c, a in strict.items() if (a, ours[c]) == ("refused", "equal")]
    lines += ["", "Where torch.export strict equals eager and dynamo-lite refuses:", ""]
    lines += [f"- `{c}`" for c, a in strict.items() if (a, ours[c]) == ("equal", "refused")]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, help="so many; all by default")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/exportdb.md")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    text = report(measure(options.cases))
    print(text)
    if options.write:
        RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
