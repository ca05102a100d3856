"""What it costs to ask whether a trace still holds: µs a check, beside torch.compile's own guards on the same module.

    python benchmarks/guards.py [--layers 50] [--write]

The module is a stack of blocks (LayerNorm, two Linear, an activation, a scale read from a list, a flag). Measured:
building the guards (at the end of a trace), compiling them (at the first check), a check that passes, and checks of a
changed module that fail. torch.compile's guard manager is called from Python in the same way, with the arguments that
TorchDynamo gives it. The two hold different guards; the counts stand beside the times. Times of checks and calls are
the least of many: what else the machine does only adds to them. Milliseconds are time of the processor.

"module()" is a call of the program's module with what it checks of its inputs, beside torch's module of the same
program.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import dynamo_lite  # noqa: E402
from benchmarks.exporters import machine  # noqa: E402
from dynamo_lite.guards import GuardSet  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "guards.md"
REPEATS = 2000


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)
        self.act = nn.GELU()
        self.scales = [0.5, 1.0]
        self.residual = True

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.down(self.act(self.up(self.norm(x)))) * self.scales[0]
        return x + y if self.residual else y


class Stack(nn.Module):
    def __init__(self, layers: int, width: int = 16) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(width) for _ in range(layers)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return x


def microseconds(run: Callable[[], Any], repeats: int = REPEATS) -> float:
    """The least time of a call."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return 1e6 * min(times)


def milliseconds(run: Callable[[], Any]) -> float:
    """The time of the processor that one call takes: what is long is interrupted by whatever else the machine does."""
    start = time.process_time()
    run()
    return 1e3 * (time.process_time() - start)


def ours(mod: Stack, x: torch.Tensor) -> list[tuple[str, str]]:
    """Rows of the table: what, figure."""
    start = time.process_time()
    trace = dynamo_lite.trace(mod, (x,))
    traced = time.process_time() - start
    guards, failing = trace.guards, trace.guards.failing
    parts = tuple(guards), guards._arguments, guards._namespace
    first = min(milliseconds(lambda: GuardSet(*parts).failing(mod, (x,))) for _ in range(5))
    assert failing(mod, (x,)) == -1
    rows = [
        ("dynamo-lite: trace, with its guards", f"{traced * 1e3:.0f} ms"),
        ("dynamo-lite: first check (compiles the function)", f"{first:.0f} ms"),
        (
            f"dynamo-lite: check that passes, {len(guards)} guards",
            f"{microseconds(lambda: failing(mod, (x,))):.0f} µs",
        ),
    ]
    failing(mod, (x,), weights="any")
    any_weights = microseconds(lambda: failing(mod, (x,), weights="any"))
    rows.append(("dynamo-lite: the same with any weights", f"{any_weights:.0f} µs"))
    wrong = torch.ones(3, x.shape[1])
    rows.append(("dynamo-lite: check that fails on a size", f"{microseconds(lambda: failing(mod, (wrong,))):.1f} µs"))
    last: Any = mod.blocks[-1]
    last.residual = False
    assert failing(mod, (x,)) >= 0
    rows.append(
        ("dynamo-lite: check that fails in the last block", f"{microseconds(lambda: failing(mod, (x,))):.0f} µs")
    )
    last.residual = True
    return rows


def theirs(mod: Stack, x: torch.Tensor) -> list[tuple[str, str]]:
    """torch.compile's guards of the same call."""
    from torch._dynamo.eval_frame import _debug_get_cache_entry_list

    torch._dynamo.reset()
    compiled = torch.compile(mod, backend="eager", fullgraph=True)
    start = time.process_time()
    with torch.no_grad():
        compiled(x)
        first = time.process_time() - start
        entries = _debug_get_cache_entry_list(Stack.forward.__code__)
        manager = entries[0].guard_manager
        scope = {"self": mod, "x": x}
        assert manager.check(scope)
        count = sum(": " in line and "GuardManager" not in line for line in str(manager).splitlines())
        checked = microseconds(lambda: manager.check(scope))
    return [
        ("torch.compile: first call (trace, guards, no code generation)", f"{first * 1e3:.0f} ms"),
        (f"torch.compile: check that passes, {count} guards", f"{checked:.0f} µs"),
    ]


class Tiny(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


def calls(name: str, mod: nn.Module, x: torch.Tensor) -> list[tuple[str, str]]:
    """A call of the program's module, torch's and ours, beside the model's own."""
    program = dynamo_lite.export(mod, (x,))
    checked, plain = program.module(), torch.export.export(mod, (x,), strict=True).module()
    batch = torch.export.Dim("batch", min=1, max=64)
    dynamic = dynamo_lite.export(mod, (x,), dynamic_shapes={"x": {0: batch}}).module()
    runs = {"eager": mod, "torch's module()": plain, "module()": checked, "module(), dynamic batch": dynamic}
    least = dict.fromkeys(runs, float("inf"))
    for _ in range(5):  # one after the other, so that all see the same machine
        for what, run in runs.items():
            least[what] = min(least[what], microseconds(lambda: run(x), 200))  # noqa: B023
    return [(f"a call of {name}: {what}", f"{time:.0f} µs") for what, time in least.items()]


def table(layers: int) -> str:
    torch.manual_seed(0)
    mod, x = Stack(layers).eval(), torch.ones(2, 16)
    dynamo_lite.trace(mod, (x,))  # imports and caches
    with torch.no_grad():
        rows = ours(mod, x) + theirs(mod, x)
        rows += calls("x + 1", Tiny(), x) + calls(f"the {layers} blocks", mod, x)
    lines = [f"# Guards: {layers} blocks, one call of a check", "", machine(), "", "| what | time |", "|---|---|"]
    return "\n".join([*lines, *(f"| {what} | {figure} |" for what, figure in rows), "", (__doc__ or "").strip(), ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=50)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    text = table(options.layers)
    print(text)
    if options.write:
        RESULTS.write_text(text)


if __name__ == "__main__":
    main()
