"""Exports in several threads at once: each gives what it gives alone."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import dynamo_lite

from .interrupted_programs import programs
from .interrupts import differences, process

_SECONDS = 5.0


def _refused() -> Callable[[], object]:
    module = nn.Linear(3, 3)
    return lambda: dynamo_lite.export(lambda x: module(x) * id(x), (torch.ones(2, 3),))


def _outcome(call: Callable[[], object]) -> str:
    try:
        return str(call().graph)  # type: ignore[attr-defined]
    except dynamo_lite.GraphBreak as error:
        return str(error.headline)


def _at_once(workers: list[Callable[[random.Random], None]], seconds: float = _SECONDS) -> None:
    """Each worker again and again, in a thread of its own. Raises what one of them raises."""
    end, failed = time.monotonic() + seconds, []

    def work(number: int) -> None:
        rng = random.Random(number)
        try:
            while time.monotonic() < end and not failed:
                workers[number](rng)
        except BaseException:
            failed.append(traceback.format_exc())

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(workers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed[0]


def _exporter() -> Callable[[random.Random], None]:
    calls = {name: export for name, (_, export) in programs().items()} | {"refused": _refused()}
    alone = {name: _outcome(call) for name, call in calls.items()}

    def export(rng: random.Random) -> None:
        name = rng.choice([*calls])
        assert _outcome(calls[name]) == alone[name]

    return export


def test_four_threads_export() -> None:
    module = nn.Linear(3, 3)
    workers = [_exporter() for _ in range(4)]
    before = process(module)
    _at_once(workers)
    assert differences(before, process(module)) == []


def test_eager_code_in_another_thread_is_as_without_an_export() -> None:
    module = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
    optimizer = torch.optim.Adam(module.parameters())

    def eager(rng: random.Random) -> None:
        result = module(torch.ones(2, 3))
        assert repr(result).startswith("tensor([[") and "tensor(1.)" in f"{torch.ones(())!r}"
        assert not torch.compiler.is_compiling() and not torch.compiler.is_exporting()
        result.sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(0.001)

    _at_once([_exporter(), _exporter(), eager], 2.0)


class _Sized(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x).relu() * x.shape[0]


def test_torch_export_in_another_thread() -> None:
    module = _Sized()

    def exported() -> str:
        shapes = {"x": {0: Dim("n", min=2)}}
        return str(torch.export.export(module, (torch.ones(4, 3),), dynamic_shapes=shapes, strict=False).graph)

    exported()
    alone = exported()

    def others(rng: random.Random) -> None:
        assert exported() == alone

    workers = [_exporter(), _exporter(), others]
    before = process(module)
    _at_once(workers)
    assert differences(before, process(module)) == []


_COMPILED = """
import sys, torch, dynamo_lite
class Branch(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
    def forward(self, x):
        if x.sum() > 0:
            return self.linear(x)
        return x * 2
model, x = Branch(), torch.ones(3, 3)
def run(x):
    return {call} * 1
if {eager}:
    run(x)
got = torch.compile(run, backend="eager")(x)
assert torch.equal(got, run(x)), got
frames = torch._dynamo.utils.counters["frames"]
assert frames["total"] < 60, frames  # of an export there would be hundreds
"""


@pytest.mark.parametrize("eager", [True])
@pytest.mark.parametrize(
    "call",
    [
        "dynamo_lite.export(model, (x,)).module()(x)",
        "dynamo_lite.trace(model, (x,)).program.module()(x)",
        "dynamo_lite.draft_export(model, (x,)).program.module()(x)",
        "(dynamo_lite.explain(model, (x,)), model(x))[1]",
        "dynamo_lite.export_methods(model, {'forward': (x,)})['forward'].module()(x)",
    ],
)
def test_an_export_within_what_torch_compile_runs(call: str, eager: bool) -> None:
    code = _COMPILED.format(call=call, eager=eager)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
