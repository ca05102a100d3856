"""Exports in processes of their own, as a user's first export is made.

    python -m benchmarks.fresh_processes EXPORTER MODEL [--toy] [--example]

does one, and prints its seconds and why there is no program, as JSON. A fork of a process that has exported a toy is
made in a tenth of the time, but pays for copying each page of memory that it touches, which slows short exports most.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import pickle
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


class FreshProcesses:
    """Starts one process for each export. A context: all bytecode that they write is in a folder that lasts as long.

    As pip leaves it, there is bytecode; of a checkout there is none where PYTHONDONTWRITEBYTECODE is set, and 500 files
    would be compiled in each process. What the first one compiles, the next ones find.
    """

    def __enter__(self) -> FreshProcesses:
        self._folder = tempfile.TemporaryDirectory()
        self._environment = {**os.environ, "PYTHONPYCACHEPREFIX": self._folder.name, "OMP_NUM_THREADS": "1"}
        self._environment.pop("PYTHONDONTWRITEBYTECODE", None)
        return self

    def __exit__(self, *error: object) -> None:
        self._folder.cleanup()

    def export(self, exporter: str, model: str, example: tuple[Any, Any] | None, toy: bool) -> tuple[float, str]:
        """(seconds, why there is no program) of the export of a model of the core list.

        example: inputs and dynamic shapes; None: the model's own inputs, constant sizes. toy: the exporter has exported
        a toy in that process; else its imports are among the seconds.
        """
        options = [*(["--toy"] if toy else []), *(["--example"] if example else [])]
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.fresh_processes", exporter, model, *options]
        given = pickle.dumps(example) if example else b""
        done = subprocess.run(command, cwd=ROOT, env=self._environment, check=True, capture_output=True, input=given)
        seconds, refusal = json.loads(done.stdout.splitlines()[-1])
        return seconds, refusal


def main() -> None:
    # Not benchmarks.export_time, which imports dynamo_lite: without a toy, that import is among the seconds.
    from benchmarks.exporters import timed, toy
    from tests.models.registry import CORE, load

    parser = argparse.ArgumentParser(description="Export once.")
    parser.add_argument("exporter")
    parser.add_argument("model", help="of the core list")
    parser.add_argument("--toy", action="store_true", help="export a toy before")
    parser.add_argument("--example", action="store_true", help="a pickle of (inputs, dynamic shapes) is in stdin")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    if options.toy:
        timed(options.exporter, *toy())
    case = load(CORE)[options.model].case()
    inputs, shapes = pickle.load(sys.stdin.buffer) if options.example else (case.inputs(0), None)
    assert options.toy or "dynamo_lite" not in sys.modules
    timing = timed(options.exporter, case.module, inputs, shapes)
    print(json.dumps([timing.seconds, timing.refusal]))


if __name__ == "__main__":
    main()
