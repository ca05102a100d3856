"""Logs at the end of a trace or of a phase: graphs, guards, assumptions, effects, graph breaks, times."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from dynamo_lite.errors import GraphBreak
from dynamo_lite.logging import shapes, stepping
from dynamo_lite.logging.settings import anything_on, begin_export, is_on, log


class LoggedRun(Protocol):
    """The part of a run that is logged (run/run.py)."""

    tracer: Any
    recorder: Any


def attach(run: LoggedRun) -> None:
    """Log `run`, as far as artifacts are on. Call it before the run makes its first symbol."""
    if not anything_on():
        return
    stepping.attach(run.tracer.vm)
    branches = getattr(run.tracer, "branches", None)  # dynamo_lite/control_flow
    if branches is not None and is_on("control_flow"):
        branches.listeners.append(lambda text: log("control_flow", text))
    if run.recorder.env is not None:
        run.recorder.env.core.listeners.append(shapes.ShapeLog(run.recorder.env, run.tracer.where))


@contextmanager
def reported(mod: Any) -> Iterator[list[Any]]:
    """Around the trace of `mod`; put the result into the list."""
    if not anything_on():
        yield []
        return
    found: list[Any] = []
    begin_export()
    stepping.UserFrames.latest = None
    try:
        with phase("the whole trace"):
            yield found
    except GraphBreak as error:
        if is_on("graph_breaks"):
            log("graph_breaks", str(error))
        if is_on("locals") and stepping.UserFrames.latest is not None:
            stepping.UserFrames.latest.log_locals()
        raise
    finally:
        stepping.UserFrames.latest = None  # it holds a frame, and so the program's objects
    for trace in found:
        _report(trace)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Around one phase of an export, for `timing`."""
    if not is_on("timing"):
        yield
        return
    start = time.perf_counter()
    try:
        yield
    finally:
        log("timing", f"{name}: {(time.perf_counter() - start) * 1000:.1f} ms")


def _report(trace: Any) -> None:
    if is_on("dynamic"):
        for row in trace.specializations:
            log("dynamic", f"specialised: {row}")
    if is_on("guards"):
        log("guards", f"{len(trace.guards)} guards\n{trace.guards.tree()}")
    if is_on("assumptions"):
        for guard in trace.assumptions:
            log("assumptions", f"{guard.text}  ({' | '.join(_rows(guard.line))})")
    if is_on("effects"):
        for effect in trace.effects:
            log("effects", str(effect))
    if is_on("graph"):
        log("graph", str(trace.program.graph))
    if is_on("graph_code"):
        log("graph_code", trace.program.graph_module.print_readable(print_output=False))


def _rows(line: Any) -> list[str]:
    return [row.strip() for row in str(line).splitlines() if row.strip() and set(row.strip()) != {"^"}]
