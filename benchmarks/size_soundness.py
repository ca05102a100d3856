"""Generated programs over sizes, ours against torch.export strict: is a program ever wrong at a size that it admits?

    python -m benchmarks.size_soundness [--programs 2000] [--first 0] [--only ours|torch] [--write]

Each program (tests/dynamic/generated_sizes.py) is exported with both of its sizes under Dim.AUTO and compared with
eager at 34 pairs of sizes, 0 and 1 among them. Where the program raises it admits nothing; where eager raises it must
raise.
"""

from __future__ import annotations

import argparse
import logging
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

import dynamo_lite
from tests.dynamic.generated_sizes import Export, judge

RESULTS = Path(__file__).parent / "results" / "size_soundness.md"
COLUMNS = ("equal", "refused", "wrong", "fails")


def ours(module: nn.Module, args: tuple[Any, ...], dynamic_shapes: Any) -> Callable[..., Any]:
    """dynamo_lite.export."""
    return dynamo_lite.export(module, args, dynamic_shapes=dynamic_shapes).module()


def torch_strict(module: nn.Module, args: tuple[Any, ...], dynamic_shapes: Any) -> Callable[..., Any]:
    """torch.export.export(strict=True), from a clean Dynamo."""
    torch._dynamo.reset()
    return torch.export.export(module, args, dynamic_shapes=dynamic_shapes, strict=True).module()


EXPORTERS: dict[str, Export] = {"ours": ours, "torch": torch_strict}
TITLES = {"ours": "ours", "torch": "torch.export strict"}


def row(name: str, first: int, count: int) -> str:
    """One line of the table."""
    kinds: Counter[str] = Counter()
    admitted = possible = 0
    start = time.perf_counter()
    for seed in range(first, first + count):
        verdict = judge(seed, EXPORTERS[name])
        kinds[verdict.kind] += 1
        if verdict.kind == "equal":
            admitted += verdict.admitted
            possible += verdict.possible
        elif verdict.kind in ("wrong", "fails") or (verdict.kind == "refused" and name == "ours"):
            print(f"{name} {seed} {verdict.kind}: {verdict.text[:300]}", flush=True)
    seconds = time.perf_counter() - start
    share = f"{admitted / possible:.2f}" if possible else "–"
    cells = [TITLES[name], *(str(kinds[kind]) for kind in COLUMNS), share, f"{seconds:.0f}"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", choices=tuple(EXPORTERS))
    parser.add_argument("--write", action="store_true", help=f"replace {RESULTS.name}")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    names = [options.only] if options.only else [*EXPORTERS]
    lines = [
        f"| {options.programs} programs | {' | '.join(COLUMNS)} | sizes admitted | seconds |",
        "|---|" + "---|" * (len(COLUMNS) + 2),
        *(row(name, options.first, options.programs) for name in names),
    ]
    print("\n".join(lines))
    if options.write:
        text = f"# Sizes in Python code: generated programs against eager\n\n{__doc__}\n" + "\n".join(lines) + "\n"
        RESULTS.write_text(text)


if __name__ == "__main__":
    main()
