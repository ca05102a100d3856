"""Nothing of the trace survives anywhere in the process once the program is dropped."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

import dynamo_lite
from dynamo_lite.errors import DynamoLiteError
from dynamo_lite.interpreter.frames.frame import Frame

from .probe import Probe, all_probes

EVERY = 8


def _fakes() -> list[FakeTensor]:
    gc.collect()
    return [x for x in gc.get_objects() if type(x) is FakeTensor]


def _export_and_drop(probe: Probe) -> bool:
    case = probe.case()
    try:
        dynamo_lite.export(case.program, case.args, case.kwargs)
    except DynamoLiteError:
        return False
    return True


def test_no_fake_tensor_survives_an_export() -> None:
    """Whether it succeeds or is refused. torch's own caches keep metadata only."""
    probes = [p for p in all_probes() if p.allowed & {"equal", "python-state", "data-dependent-branch"}][::EVERY]
    before = {id(x) for x in _fakes()}
    outcomes = {_export_and_drop(probe) for probe in probes}
    left = [x for x in _fakes() if id(x) not in before]
    holders = [type(h).__qualname__ for x in left[:3] for h in gc.get_referrers(x) if h is not left]
    assert outcomes == {True, False}
    assert not left, f"{len(left)} FakeTensors are left, held by {holders}"


def test_a_fake_tensor_would_be_found() -> None:
    before = len(_fakes())
    with FakeTensorMode():
        kept = torch.zeros(3)
    assert len(_fakes()) == before + 1 and kept is not None


class Block(torch.nn.Module):
    """A bit of everything that a recording keeps while it runs: views, writes, guards, branches on sizes, a closure."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4) for _ in range(3)])
        self.register_buffer("seen", torch.zeros(4))
        self.options = {"scale": 2.0}

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        def scaled(y: torch.Tensor) -> torch.Tensor:
            return y * self.options["scale"] if x.shape[0] < 99 else y

        for layer in self.layers:
            x = torch.relu_(layer(x)) + scaled(x)[:, :4]
        self.seen.add_(x.detach().sum(0))
        return {"out": x, "first": x.flatten()[:1]}


def _export_a_block(module: torch.nn.Module, *, dynamic: bool) -> None:
    shapes = ({0: torch.export.Dim.AUTO},) if dynamic else None
    dynamo_lite.export(module, (torch.randn(5, 4),), dynamic_shapes=shapes)


def _held() -> tuple[int, int, int]:
    """(objects that the collector knows, interpreted frames, FakeTensors)."""
    for _ in range(3):  # what the end of one object frees may be a cycle itself
        gc.collect()
    objects = gc.get_objects()
    frames = sum(type(x) is Frame for x in objects)
    return len(objects), frames, sum(type(x) is FakeTensor for x in objects)


def count_exports_in_a_row(dynamic: bool) -> None:
    """Prints by how many objects, interpreted frames and FakeTensors 50 exports make the process larger."""
    module = Block()
    for _ in range(12):
        _export_a_block(module, dynamic=dynamic)
    before = _held()
    for _ in range(50):
        _export_a_block(module, dynamic=dynamic)
    print(*(now - then for now, then in zip(_held(), before)))


@pytest.mark.parametrize("dynamic", [False, True])
def test_exports_in_a_row_hold_no_more_than_the_first_ones(dynamic: bool) -> None:
    """In a process of its own: pytest keeps what torch logs."""
    program = f"from tests.export.test_heap import count_exports_in_a_row; count_exports_in_a_row({dynamic})"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, capture_output=True, text=True)
    objects, frames, fakes = map(int, done.stdout.split())
    assert (frames, fakes) == (0, 0)
    # torch keeps the text of each module that it generates code for (torch/fx/graph_module.py, _EvalCacheLoader), and
    # linecache the function that reads it: a functools.partial, since Python 3.13 a closure.
    assert objects <= 50 * (5 if sys.version_info >= (3, 13) else 3) + 20


def test_a_program_holds_no_frame_and_nothing_holds_the_program() -> None:
    """(The functions that the program made are in its nodes' source_fn_stack, with what they close over.)"""
    _, frames, fakes = _held()
    program = dynamo_lite.export(Block(), (torch.randn(5, 4),))
    assert _held()[1] == frames
    module = weakref.ref(program.graph_module)
    del program
    gc.collect()
    assert module() is None and _held()[2] == fakes
