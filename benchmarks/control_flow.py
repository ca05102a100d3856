"""What branches on data cost: export of the program as it is written, beside the same with torch.cond by hand.

    python -m benchmarks.control_flow [--write]

Calls of Python functions (sys.setprofile) tell more than seconds on a shared machine. --write: into
benchmarks/results/control_flow.md.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

import dynamo_lite
from dynamo_lite.option_types import ControlFlow

_RESULTS = Path(__file__).parent / "results" / "control_flow.md"
_TIMES = 3


class Row(nn.Module):
    """50 branches one behind another."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for i in range(50):
            if x.sum() > i:
                x = x - 0.5
            else:
                x = x * 1.5
        return x


class RowByHand(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for i in range(50):
            x = torch.cond(x.sum() > i, lambda x: x - 0.5, lambda x: x * 1.5, (x,))
        return x


def _nested(x: torch.Tensor, depth: int) -> torch.Tensor:
    if x.sum() > depth:
        y = _nested(x - 1, depth - 1) if depth else x - 1
    else:
        y = _nested(x + 1, depth - 1) if depth else x + 1
    return y


def _nested_by_hand(x: torch.Tensor, depth: int) -> torch.Tensor:
    def left(x: torch.Tensor) -> torch.Tensor:
        return _nested_by_hand(x - 1, depth - 1) if depth else x - 1

    def right(x: torch.Tensor) -> torch.Tensor:
        return _nested_by_hand(x + 1, depth - 1) if depth else x + 1

    return torch.cond(x.sum() > depth, left, right, (x,))


class Nested(nn.Module):
    """Branches in both sides of branches, 6 deep: 63 of them."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return _nested(x, 5)


class NestedByHand(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return _nested_by_hand(x, 5)


def _round(x: torch.Tensor) -> torch.Tensor:
    for _ in range(40):
        x = x * 1.01 + 0.001
    return x


class Loop(nn.Module):
    """A loop with a long body: 80 operators, more than 200 instructions in each round."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        while x.sum() < 1000:
            x = _round(x)
        return x


class LoopByHand(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        from torch._higher_order_ops import while_loop

        (x,) = while_loop(lambda x: x.sum() < 1000, lambda x: (_round(x),), (x,))
        return x


_CASES = ((Row, RowByHand), (Nested, NestedByHand), (Loop, LoopByHand))


def _calls(run: Callable[[], Any]) -> int:
    count = 0

    def seen(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(seen)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


def _measured(make: type[nn.Module], mode: ControlFlow) -> tuple[float, int]:
    def run() -> Any:
        with torch.no_grad():
            return dynamo_lite.export(make(), (torch.ones(3, 2),), control_flow=mode)

    run()
    seconds = []
    for _ in range(_TIMES):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return statistics.median(seconds), _calls(run)


def main() -> None:
    lines = ["# Control flow on data: the cost of capture", "",
             "Export as it is written (`control_flow=\"capture\"`) and with torch.cond or while_loop by hand, both by",
             f"dynamo-lite; CPU seconds, median of {_TIMES} (warm), and calls of Python functions.", "",
             "| program | captured, s | by hand, s | ratio | captured, calls | by hand, calls | ratio |",
             "|---|---|---|---|---|---|---|"]  # fmt: skip
    for ours, hand in _CASES:
        (a, calls), (b, others) = _measured(ours, "capture"), _measured(hand, "refuse")
        what = (ours.__doc__ or "").strip()
        row = f"| {what} | {a:.2f} | {b:.2f} | {a / b:.2f} | {calls} | {others} | {calls / others:.2f} |"
        print(row, flush=True)
        lines.append(row)
    if "--write" in sys.argv:
        _RESULTS.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
