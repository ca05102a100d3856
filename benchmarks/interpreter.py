"""How long the interpreter takes per instruction, and how much slower than CPython that is.

    python benchmarks/interpreter.py [--write]

Each program is a function with a loop; its instructions are counted with `Observer.on_instruction` in a run of its own.
`--write` puts the table into benchmarks/results/interpreter.md.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from dynamo_lite.interpreter import Interpreter, Observer

RESULTS = Path(__file__).resolve().parent / "results" / "interpreter.md"


def arithmetic(n: int) -> float:
    x, y = 1, 2.5
    for i in range(n):
        x = (x * 3 + i) % 1000
        y = y * 0.5 + x
        if x > 500 and y < 1e6:
            y -= 1.0
    return y


def _add(a: int, b: int = 1) -> int:
    return a + b


def calls(n: int) -> int:
    x = 0
    for _ in range(n):
        x = _add(x, 2)
        x = _add(x)
        x = _add(b=1, a=x)
    return x


def native_calls(n: int) -> int:
    kept: list[int] = []
    for i in range(n):
        kept.append(i)
        len(kept)
        abs(i)
    return len(kept)


class Point:
    scale = 3

    def __init__(self, x: int) -> None:
        self.x = x

    def moved(self, by: int) -> int:
        self.x = self.x + by
        return self.x * self.scale

    @property
    def doubled(self) -> int:
        return self.x * 2

    def __add__(self, other: Point) -> Point:
        return self


def attributes(n: int) -> int:
    p = Point(1)
    for _ in range(n):
        p.x = p.x + p.scale
        p.x = p.x % 1000
    return p.x


def methods(n: int) -> int:
    p, total = Point(1), 0
    for _ in range(n):
        total = p.moved(1)
    return total


def dunders_and_properties(n: int) -> int:
    p, total = Point(1), 0
    for _ in range(n):
        total += (p + p).doubled
    return total


def containers(n: int) -> int:
    table: dict[str, int] = {"a": 1}
    row, total = [1, 2, 3], 0
    for i in range(n):
        table["a"] = row[i % 3]
        total += table["a"]
        _, b, _ = row
        total += b
    return total


def comprehension(n: int) -> int:
    return sum([x * x for x in range(n) if x % 2])


def generator(n: int) -> int:
    def squares() -> Any:
        for x in range(n):  # noqa: UP028
            yield x

    total = 0
    for x in squares():
        total += x
    return total


def instances(n: int) -> int:
    last = Point(0)
    for i in range(n):
        last = Point(i)
    return last.x


def exceptions(n: int) -> int:
    caught = 0
    for _ in range(n):
        try:
            raise KeyError
        except KeyError:
            caught += 1
    return caught


PROGRAMS: list[Callable[[int], Any]] = [
    arithmetic, calls, native_calls, attributes, methods, dunders_and_properties, containers, comprehension, generator,
    instances, exceptions,
]  # fmt: skip


class Counter(Observer):
    def __init__(self) -> None:
        self.instructions = 0

    def on_instruction(self, frame: Any, instruction: Any) -> None:
        self.instructions += 1


def instructions_of(program: Callable[[int], Any], n: int) -> int:
    counter = Counter()
    Interpreter(counter).enter(program, (n,), {})
    return counter.instructions


def seconds(run: Callable[[], Any], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.process_time()  # CPU time: a busy machine must not show
        run()
        times.append(time.process_time() - start)
    return statistics.median(times)


def measure(program: Callable[[int], Any], n: int, repeats: int) -> tuple[int, float, float]:
    """(instructions, ns per instruction interpreted, times as slow as CPython)"""
    count = instructions_of(program, n)
    ours = seconds(lambda: Interpreter().enter(program, (n,), {}), repeats)
    native = seconds(lambda: program(n), repeats)
    return count, ours / count * 1e9, ours / native


def table(n: int, repeats: int) -> str:
    lines = ["| program | instructions | ns per instruction | times CPython |", "|---|---|---|---|"]
    each = []
    for program in PROGRAMS:
        count, ns, ratio = measure(program, n, repeats)
        each.append(ns)
        lines.append(f"| {program.__name__.replace('_', ' ')} | {count} | {ns:.0f} | {ratio:.0f} |")
    lines.append(f"| geometric mean | | {statistics.geometric_mean(each):.0f} | |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--iterations", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}")
    options = parser.parse_args()
    found = table(options.iterations, options.repeats)
    print(found)
    if options.write:
        RESULTS.write_text(
            "# Interpreter: time per instruction\n\n"
            f"`python benchmarks/interpreter.py --write`, Python {platform.python_version()}, {os.cpu_count()} cores, "
            f"median of {options.repeats} runs of {options.iterations} iterations. Goal: under 1500 ns.\n\n{found}\n"
        )


if __name__ == "__main__":
    main()
