"""How many operators the core models export to: ours against torch.export(strict=True), and which differ.

    python benchmarks/node_parity.py        writes benchmarks/results/node_parity.md
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections import Counter
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import dynamo_lite  # noqa: E402
from tests.models.registry import CORE, Model, load  # noqa: E402
from tests.parity import operators  # noqa: E402


def row(model: Model) -> str:
    """One line of the table: counts, what ours has more (+) or less (-), and the same among used results."""
    case = model.case()
    ours = dynamo_lite.export(case.module, *case.inputs(0))
    case = model.case()
    args, kwargs = case.inputs(0)
    try:
        theirs = torch.export.export(case.module, args, kwargs, strict=True)
    except Exception as error:
        return f"| {model.name} | {sum(operators(ours).values())} | refused: {type(error).__name__} | | |"
    counts = [sum(operators(program).values()) for program in (ours, theirs)]
    used = [operators(program, used_only=True) for program in (ours, theirs)]
    return f"| {model.name} | {counts[0]} | {counts[1]} | {_difference(operators(ours), operators(theirs))} | " + (
        f"{_difference(*used)} |"
    )


def _difference(ours: Counter[str], theirs: Counter[str]) -> str:
    changed = {name: ours[name] - theirs[name] for name in sorted(ours | theirs) if ours[name] != theirs[name]}
    return ", ".join(f"{count:+d} {name}" for name, count in changed.items()) or "same"


def main() -> None:
    """Write the table."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    lines = [
        "# Operators of the core models, ours against torch.export(strict=True)",
        "",
        f"`python benchmarks/node_parity.py`, torch {torch.__version__}. Static shapes.",
        "Unused: results that nothing depends on, which strict drops with Dynamo's graph (docs/capture.md).",
        "",
        "| model | ours | strict | all operators | without the unused |",
        "|---|---|---|---|---|",
        *(row(model) for model in load(CORE).values()),
    ]
    (ROOT / "benchmarks" / "results" / "node_parity.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
