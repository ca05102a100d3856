"""Nothing of the trace survives anywhere in the process once the program is dropped."""

from __future__ import annotations

import gc

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

import dynamo_lite
from dynamo_lite.errors import DynamoLiteError

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
