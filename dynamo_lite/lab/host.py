"""`python -m dynamo_lite.lab.host EXPORTER`: a process that judges programs, each in a forked copy of itself.

It reads an id a line from its input, and writes a line of JSON to its own output for each. torch and the exporter are
imported, and have exported a small module, before the first fork; what a program does to the process ends with it.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import TextIO

import torch
from torch import nn

from dynamo_lite.lab.exporters import Exporter, load
from dynamo_lite.lab.judge import CRASH, TIMEOUT, WIDTH, LabAnswer, judge
from dynamo_lite.lab.programs import find


def serve(exporter: Exporter, seconds: float, megabytes: int, source: TextIO, answers: TextIO) -> None:
    """Judge each id of `source` until it ends. `megabytes`: what a program may take beyond what the process has."""
    torch.set_num_threads(1)  # a fork does not take the threads of a pool with it
    warm(exporter)
    for line in source:
        id = line.strip()
        answer = alone(id, partial(_judged, id, exporter), seconds, megabytes)
        print(json.dumps(answer.row()), file=answers, flush=True)


def warm(exporter: Exporter) -> None:
    """Import the modules that an export imports late. The result for a small network does not matter."""
    module, args = nn.Sequential(nn.Linear(3, 3), nn.ReLU()), (torch.randn(2, 3),)
    try:
        exporter.export(module, args, {}, None)(*args)
        exporter.reset()
    except Exception:
        return


def _judged(id: str, exporter: Exporter) -> LabAnswer:
    return judge(find(id), exporter)


def alone(id: str, work: Callable[[], LabAnswer], seconds: float, megabytes: int) -> LabAnswer:
    """The answer of a forked process that does the work, or the way it ended."""
    start = time.perf_counter()
    receiver, sender = os.pipe()
    child = os.fork()
    if not child:
        os.close(receiver)
        _work(id, work, megabytes, sender)
    os.close(sender)
    answer = LabAnswer(id, id.partition(".")[0], TIMEOUT, f"no answer in {seconds:g} s")
    data = b""
    with os.fdopen(receiver, "rb", buffering=0) as pipe:
        while left := max(0.0, start + seconds - time.perf_counter()):
            if not select.select([pipe], [], [], left)[0]:
                continue
            part = pipe.read(1 << 16)
            if not part:
                answer = _ended(answer, data, os.waitpid(child, 0)[1])
                child = 0
                break
            data += part
    if child:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    answer.seconds = answer.seconds or round(time.perf_counter() - start, 3)
    return answer


def _ended(answer: LabAnswer, data: bytes, status: int) -> LabAnswer:
    """What a process that has ended by itself has said: a whole line, or else how it ended."""
    if data.endswith(b"\n"):
        return LabAnswer(**json.loads(data))
    code = os.waitstatus_to_exitcode(status)
    answer.verdict = CRASH
    answer.text = f"the process ends by {signal.Signals(-code).name}" if code < 0 else f"the process exits with {code}"
    return answer


def _work(id: str, work: Callable[[], LabAnswer], megabytes: int, sender: int) -> None:
    """In the forked process, which leaves without the exit handlers of the first."""
    status = 1
    try:
        os.setsid()
        _limit(megabytes)
        try:
            row = work().row()
        except Exception as error:  # the laboratory's own, or what an export has left in the process breaks eager
            row = LabAnswer(id, id.partition(".")[0], CRASH, f"{type(error).__qualname__}: {error}"[:WIDTH]).row()
        with os.fdopen(sender, "wb") as pipe:
            pipe.write(json.dumps(row).encode() + b"\n")
        status = 0
    finally:
        os._exit(status)


def _limit(megabytes: int) -> None:
    """Let the address space grow by that much at most, where the system tells its size (Linux)."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[0])
    except OSError:
        return
    most = pages * resource.getpagesize() + (megabytes << 20)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def main(arguments: list[str]) -> None:
    """EXPORTER SECONDS MEGABYTES. What programs print goes to stderr."""
    name, seconds, megabytes = arguments
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(load(name), float(seconds), int(megabytes), sys.stdin, answers)


if __name__ == "__main__":
    main(sys.argv[1:])
