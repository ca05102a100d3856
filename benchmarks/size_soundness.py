"""Generated programs over sizes, ours against torch.export strict: is a program ever wrong at a size that it admits?

    python -m benchmarks.size_soundness [--kind computed|captured|promised] [--programs 2000] [--first 0]
        [--only ours|torch] [--write]

Each program is exported with both of its sizes dynamic and compared with eager at 34 pairs of sizes and more. Where the
program raises it admits nothing; where eager raises it must raise. The kinds:

- computed: arithmetic with sizes in Python (tests/dynamic/generated_sizes.py), under Dim.AUTO, 0 and 1 among the sizes;
- captured: branches, chunks, pads, loops and lists (tests/dynamic/generated_captures.py), under Dim.AUTO;
- promised: the same under Dim("n", min=1): a call that eager takes and the program does not is "rejects".
"""

from __future__ import annotations

import argparse
import logging
import time
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

import dynamo_lite
from tests.dynamic import generated_captures, generated_sizes
from tests.dynamic.generated_sizes import Export, Verdict

RESULTS = Path(__file__).parent / "results"
COLUMNS = ("equal", "refused", "wrong", "rejects", "fails")
KINDS: dict[str, Callable[[int, Export], Verdict]] = {
    "computed": generated_sizes.judge,
    "captured": partial(generated_captures.judge, promised=False),
    "promised": partial(generated_captures.judge, promised=True),
}
_FAULTS = ("wrong", "rejects", "fails")


def ours(module: nn.Module, args: tuple[Any, ...], dynamic_shapes: Any) -> Callable[..., Any]:
    """dynamo_lite.export."""
    return dynamo_lite.export(module, args, dynamic_shapes=dynamic_shapes).module()


def torch_strict(module: nn.Module, args: tuple[Any, ...], dynamic_shapes: Any) -> Callable[..., Any]:
    """torch.export.export(strict=True), from a clean Dynamo."""
    torch._dynamo.reset()
    return torch.export.export(module, args, dynamic_shapes=dynamic_shapes, strict=True).module()


EXPORTERS: dict[str, Export] = {"ours": ours, "torch": torch_strict}
TITLES = {"ours": "ours", "torch": "torch.export strict"}


def row(name: str, kind: str, first: int, count: int) -> str:
    """One line of the table."""
    kinds: Counter[str] = Counter()
    admitted = possible = 0
    start = time.perf_counter()
    for seed in range(first, first + count):
        verdict = KINDS[kind](seed, EXPORTERS[name])
        kinds[verdict.kind] += 1
        if verdict.kind == "equal":
            admitted += verdict.admitted
            possible += verdict.possible
        elif verdict.kind in _FAULTS or (verdict.kind == "refused" and name == "ours"):
            print(f"{name} {seed} {verdict.kind}: {verdict.text[:300]}", flush=True)
    seconds = time.perf_counter() - start
    share = f"{admitted / possible:.2f}" if possible else "–"
    cells = [TITLES[name], kind, *(str(kinds[column]) for column in COLUMNS), share, f"{seconds:.0f}"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=tuple(KINDS), default="computed")
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", choices=tuple(EXPORTERS))
    parser.add_argument("--write", action="store_true", help="keep the table in benchmarks/results")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    names = [options.only] if options.only else [*EXPORTERS]
    lines = [
        f"| {options.programs} programs | kind | {' | '.join(COLUMNS)} | sizes admitted | seconds |",
        "|---|" + "---|" * (len(COLUMNS) + 3),
        *(row(name, options.kind, options.first, options.programs) for name in names),
    ]
    print("\n".join(lines))
    if options.write:
        text = f"# Generated programs over sizes: {options.kind}\n\n{__doc__}\n" + "\n".join(lines) + "\n"
        name = "size_soundness" if options.kind == "computed" else f"size_soundness_{options.kind}"
        (RESULTS / f"{name}.md").write_text(text)


if __name__ == "__main__":
    main()
