"""A run: programs shared out to host processes (host.py), and its file of JSON lines.

The first line of the file is the stamp (what ran, on what, when); each other line is the answer to one program.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from typing import Any

import torch

from dynamo_lite.lab.exporters import Exporter
from dynamo_lite.lab.judge import CRASH, LabAnswer

STAMP = "stamp"


@dataclass(frozen=True)
class Limits:
    """The most that one program may take: seconds of wall clock, and memory beyond that of the process."""

    seconds: float = 60.0
    megabytes: int = 4096


STANDARD = Limits()


@dataclass
class RunFile:
    """The contents of a file: the stamp, and the answers by id (the last one, where there are several)."""

    stamp: dict[str, Any]
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return f"{self.stamp['exporter']} {self.stamp['version']}"


def stamp(exporter: Exporter, **chosen: Any) -> dict[str, Any]:
    """The circumstances of a run: exporter, commit, torch, Python, date, machine, and `chosen`."""
    return {
        "exporter": exporter.name,
        "version": exporter.version,
        "commit": _commit(),
        "torch": str(torch.__version__),
        "python": platform.python_version(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        **chosen,
    }


def _commit() -> str:
    """That of the checkout that this file is in, "" in an installed package."""
    folder = Path(__file__).parents[2]
    if not (folder / ".git").exists():
        return ""
    command = ["git", "-C", str(folder), "rev-parse", "--short=12", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def read(path: Path) -> RunFile:
    """Read a file of a run. ValueError for any other file; a last line that was cut off is left out."""
    lines = path.read_text(encoding="utf-8").splitlines()
    try:
        found = RunFile(json.loads(lines[0])[STAMP])
    except (IndexError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} was not written by `lab run`: its first line has to be a stamp") from error
    for number, line in enumerate(lines[1:], 2):
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            if number == len(lines):
                break
            raise ValueError(f"{path}:{number} is not JSON") from None
        found.answers[row["id"]] = row
    return found


def write(path: Path, about: dict[str, Any], rows: Iterable[dict[str, Any]], resumed: RunFile | None = None) -> RunFile:
    """Write the rows as they come, after those of an earlier run if there are any. Returns all."""
    found = RunFile(resumed.stamp if resumed else about, dict(resumed.answers) if resumed else {})
    with path.open("w", encoding="utf-8") as file:
        print(json.dumps({STAMP: found.stamp}), file=file, flush=True)
        for row in found.answers.values():
            print(json.dumps(row), file=file)
        file.flush()
        for row in rows:
            print(json.dumps(row), file=file, flush=True)
            found.answers[row["id"]] = row
    return found


def run(
    ids: Iterable[str],
    exporter: str,
    jobs: int = 1,
    limits: Limits = STANDARD,
    done: Callable[[str], Any] | None = None,
) -> Iterator[dict[str, Any]]:
    """The answers to programs by id, as they come. `exporter`: as for `exporters.load`. `done` is called with each id.

    RuntimeError where a host cannot start. Hosts end with the iterator.
    """
    todo = iter(ids)
    with DefaultSelector() as selector:
        hosts = [_Host(exporter, limits) for _ in range(max(1, jobs))]
        try:
            for host in hosts:
                if host.take(todo):
                    selector.register(host.output, EVENT_READ, host)
            while selector.get_map():
                for key, _ in selector.select():
                    host = key.data
                    selector.unregister(host.output)
                    row = host.answer()
                    yield row
                    if done is not None:
                        done(row["id"])
                    if host.take(todo):
                        selector.register(host.output, EVENT_READ, host)
        finally:
            for host in hosts:
                host.end()


class _Host:
    """A host process, started again where it has died."""

    def __init__(self, exporter: str, limits: Limits) -> None:
        self.command = [sys.executable, "-m", f"{__package__}.host", exporter]
        self.command += [str(limits.seconds), str(limits.megabytes)]
        self.process: subprocess.Popen[str] | None = None
        self.at, self.answered = "", 0
        # not a pipe, which would be full at some time
        self.errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115

    @property
    def output(self) -> Any:
        assert self.process is not None
        return self.process.stdout

    def take(self, todo: Iterator[str]) -> bool:
        """Begin with the next program, if there is one."""
        self.at = next(todo, "")
        if not self.at:
            return False
        if self.process is None:
            pipe = subprocess.PIPE
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}
            self.errors.seek(0)
            self.errors.truncate()
            self.process = subprocess.Popen(
                self.command, stdin=pipe, stdout=pipe, stderr=self.errors, text=True, env=environment
            )
        assert self.process.stdin is not None
        self.process.stdin.write(f"{self.at}\n")
        self.process.stdin.flush()
        return True

    def answer(self) -> dict[str, Any]:
        """The line that is there, or a crash where the host has died."""
        line = self.output.readline()
        if line:
            self.answered += 1
            row: dict[str, Any] = json.loads(line)
            return row
        assert self.process is not None
        self.process.communicate()
        if not self.answered:
            self.errors.seek(0)
            raise RuntimeError(f"the host process ends before its first answer: {self.errors.read()[-2000:]}")
        self.process = None
        return LabAnswer(self.at, self.at.partition(".")[0], CRASH, "the host process ends").row()

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
        self.errors.close()
