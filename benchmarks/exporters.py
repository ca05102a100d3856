"""The exporters that the benchmarks set side by side, and how one call of one of them is timed."""

from __future__ import annotations

import gc
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

OURS, STRICT, NON_STRICT = "dynamo-lite", "torch strict", "torch non-strict"

Export = Callable[..., torch.export.ExportedProgram]


def _ours(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], shapes: Any) -> torch.export.ExportedProgram:
    from dynamo_lite import export

    return export(module, args, kwargs, dynamic_shapes=shapes, strict=True)


def _strict(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], shapes: Any) -> torch.export.ExportedProgram:
    return torch.export.export(module, args, kwargs, dynamic_shapes=shapes, strict=True)


def _non_strict(
    module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], shapes: Any
) -> torch.export.ExportedProgram:
    return torch.export.export(module, args, kwargs, dynamic_shapes=shapes, strict=False)


EXPORTERS: dict[str, Export] = {OURS: _ours, STRICT: _strict, NON_STRICT: _non_strict}


@dataclass(frozen=True)
class Timing:
    """One call: seconds of wall clock and the program, or why there is none."""

    seconds: float
    program: torch.export.ExportedProgram | None
    refusal: str = ""


def first_line(error: BaseException, width: int = 200) -> str:
    """An error on one line: its type and its message, the middle left out of a long one (its end names the cause)."""
    text = " ".join(str(error).split()).replace("|", "/")
    if len(text) > width:
        text = f"{text[: width // 2]} … {text[-width // 2 :]}"
    return f"{type(error).__name__}: {text}"


def timed(exporter: str, module: Any, inputs: tuple[tuple[Any, ...], dict[str, Any]], shapes: Any = None) -> Timing:
    """Export once, with `shapes` as dynamic_shapes. The collector runs before, not during, for each exporter alike.

    An exporter may refuse a model with any Exception of its own: that is a result here, and is shown as one.
    """
    args, kwargs = inputs
    gc.collect()
    start = time.perf_counter()
    try:
        program = EXPORTERS[exporter](module, args, kwargs, shapes)
    except Exception as error:
        return Timing(time.perf_counter() - start, None, first_line(error))
    return Timing(time.perf_counter() - start, program)


def toy() -> tuple[torch.nn.Module, tuple[tuple[Any, ...], dict[str, Any]]]:
    """A module and its inputs, for what any export pays once in a process: imports, tables, torch's own caches."""
    return torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU()), ((torch.randn(2, 3),), {})


def python_calls(exporter: str, module: Any, inputs: tuple[tuple[Any, ...], dict[str, Any]], shapes: Any = None) -> int:
    """How many Python functions one export calls (generators resumed included): a figure that noise does not touch."""
    args, kwargs = inputs
    count = 0

    def profile(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += event == "call"

    gc.collect()
    sys.setprofile(profile)
    try:
        EXPORTERS[exporter](module, args, kwargs, shapes)
    finally:
        sys.setprofile(None)
    return count


def progress(message: str) -> None:
    """One line that overwrites itself, on a terminal only: piped output holds results alone."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{message}", end="", file=sys.stderr, flush=True)


def commit() -> str:
    """The commit of the working tree, abbreviated."""
    asked = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True).stdout.strip() or "unknown"


def machine() -> str:
    """What the figures were measured on, in words."""
    version, cores, threads = platform.python_version(), os.cpu_count(), torch.get_num_threads()
    return (
        f"CPython {version}, torch {torch.__version__}, {cores} cores ({platform.machine()}), {threads} torch threads"
    )
