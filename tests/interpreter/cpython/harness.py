"""CPython's own tests, natively against interpreted: which methods pass natively and do not pass interpreted.

    python -m tests.interpreter.cpython.harness [modules...] [-v] [-j 2]

prints a table and the methods that differ.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SECONDS_PER_METHOD = 10.0  # CPU time
SECONDS_PER_MODULE = 600.0


@cache
def settings() -> dict[str, Any]:
    """modules.toml: the modules, and per module the methods that may differ, with the reason."""
    return tomllib.loads((HERE / "modules.toml").read_text())


def listed(section: str, module: str) -> dict[str, str]:
    """Method pattern (`Class.method`, * allowed) → reason, for the running Python; section "differs" or "slow"."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    table = settings().get(section, {})
    return table.get(module, {}) | table.get(version, {}).get(module, {})


def matches(method_id: str, patterns: dict[str, str]) -> bool:
    return any(fnmatchcase(short(method_id), pattern) for pattern in patterns)


def is_available(module: str) -> bool:
    from importlib.util import find_spec

    try:
        return find_spec(f"test.{module}") is not None
    except ModuleNotFoundError:
        return False


@dataclass
class Comparison:
    """The outcome for one module. `differing` maps each method that passes natively only to what happened."""

    module: str
    native_passes: int = 0
    differing: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def unlisted(self) -> dict[str, str]:
        known = listed("differs", self.module)
        return {name: what for name, what in self.differing.items() if not matches(name, known)}


def short(method_id: str) -> str:
    """`test.test_dict.DictTest.test_keys` → `DictTest.test_keys`; a doctest keeps its own name."""
    return ".".join(method_id.split(".")[-2:])


def run_worker(module: str, mode: str, only: list[str], skip: list[str] | None = None) -> dict[str, dict[str, Any]]:
    """Method id → record. A worker that dies or hangs is started again after the method at fault."""
    records: dict[str, dict[str, Any]] = {}
    while True:
        skipped = "\n".join([*records, *(skip or [])])
        env = {**os.environ, "PYTHONPATH": str(ROOT), "CPYTHON_TESTS_SKIP": skipped, "PYTHONHASHSEED": "0"}
        command = [sys.executable, str(HERE / "worker.py"), module, mode, str(SECONDS_PER_METHOD), *only]
        crashed = ""
        try:
            done = subprocess.run(command, env=env, cwd=os.environ.get("TMPDIR", "/tmp"), capture_output=True,
                                  text=True, timeout=SECONDS_PER_MODULE)  # fmt: skip
            lines, errors = done.stdout.splitlines(), done.stderr
            if done.returncode:
                crashed = f"exit status {done.returncode}: " + errors.strip()[-300:]
        except subprocess.TimeoutExpired as expired:
            lines, crashed = (expired.stdout or b"").decode().splitlines(), "the process hung"
        running = ""
        for line in lines:
            record = json.loads(line)
            if record["status"] == "started":
                running = record["id"]
            else:
                records[record["id"]] = record
                running = ""
        if not crashed:
            return records
        if not running:
            raise RuntimeError(f"{module} ({mode}): {crashed}")
        records[running] = {"id": running, "status": "crash", "detail": crashed, "s": 0.0}


def compare(module: str, only: list[str], include_slow: bool = False) -> Comparison:
    """Runs the module both ways. Methods listed as slow are left out of both, unless `include_slow`."""
    native = run_worker(module, "native", only)
    left_out = [] if include_slow else [name for name in native if matches(name, listed("slow", module))]
    ours = run_worker(module, "interpreted", only, left_out)
    for name in left_out:
        del native[name]
    comparison = Comparison(module, seconds=sum(record["s"] for record in ours.values()))
    for name, record in native.items():
        if record["status"] != "pass":
            continue
        comparison.native_passes += 1
        found = ours.get(name, {"status": "not run", "detail": ""})
        if found["status"] != "pass":
            comparison.differing[name] = f"{found['status']}: {found['detail']}"
    return comparison


def report(comparison: Comparison, verbose: bool) -> None:
    passing = comparison.native_passes - len(comparison.differing)
    print(f"{comparison.module:28} {passing:5} / {comparison.native_passes:<5} {len(comparison.unlisted):3} unlisted"
          f"   {comparison.seconds:6.1f} s")  # fmt: skip
    for name, what in comparison.differing.items():
        if verbose or name in comparison.unlisted:
            print(f"    {short(name)}: {what}")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("modules", nargs="*")
    parser.add_argument("-k", action="append", default=[], help="only methods whose id contains this")
    parser.add_argument("-v", action="store_true", help="also the methods that are listed as different")
    parser.add_argument("--slow", action="store_true", help="also the methods that are listed as slow")
    parser.add_argument("-j", type=int, default=2)
    options = parser.parse_args()
    modules = [m for m in options.modules or settings()["modules"] if is_available(m)]
    total = passing = 0
    with ThreadPoolExecutor(options.j) as pool:
        for comparison in pool.map(lambda module: compare(module, options.k, options.slow), modules):
            report(comparison, options.v)
            total += comparison.native_passes
            passing += comparison.native_passes - len(comparison.differing)
    print(f"{'all':28} {passing:5} / {total:<5} {100 * passing / max(total, 1):.2f} %")


if __name__ == "__main__":
    main()
