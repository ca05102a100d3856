"""Exports that are interrupted leave the process as it was, wherever that happens."""

from __future__ import annotations

import gc
import signal
from types import FrameType

import pytest
import torch
from torch import nn

import dynamo_lite

from .interrupted_programs import programs
from .interrupts import armed, differences, instructions, interrupted, process

PROGRAMS = programs()
_POINTS = 24
"""So many instructions of each export are interrupted."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_interrupted_export_leaves_nothing(name: str) -> None:
    module, export = PROGRAMS[name]
    for _ in range(2):
        code = str(export().graph)
    count = instructions(export)
    before = process(module)
    for at in range(1, count * 9 // 10, count // _POINTS):  # not all exports take as many
        error = KeyboardInterrupt(str(at))
        interruption, raised = interrupted(export, at, error)
        assert raised is error, (interruption.where, raised)
        assert differences(before, process(module)) == [], interruption.where
        interruption.error = raised = error = None  # type: ignore[assignment]
        assert differences(before, process(module)) == [], interruption.where
        assert str(export().graph) == code, interruption.where
    gc.collect()
    assert differences(before, process(module)) == []
    assert armed() == []




def test_what_a_signal_handler_raises_leaves_the_export() -> None:
    late = TimeoutError("late")

    def handler(number: int, frame: FrameType | None) -> None:
        raise late

    module = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    dynamo_lite.export(module, (torch.ones(3),), strict=False)  # what is imported stays
    previous = signal.signal(signal.SIGUSR1, handler)
    try:
        before = process(module)
        module[0].register_forward_hook(lambda *_: signal.raise_signal(signal.SIGUSR1))
        hooked = process(module)
        with pytest.raises(TimeoutError) as caught:
            dynamo_lite.export(module, (torch.ones(3),), effects="drop", strict=False)
        assert caught.value is late
        assert differences(hooked, process(module)) == []
        assert signal.getsignal(signal.SIGUSR1) is handler
        module[0]._forward_hooks.clear()
        assert differences(before, process(module)) == []
        dynamo_lite.export(module, (torch.ones(3),))
    finally:
        signal.signal(signal.SIGUSR1, previous)


@pytest.mark.parametrize("name", ["static", "branch", "loop"])
def test_an_alarm_at_any_time(name: str) -> None:
    module, export = PROGRAMS[name]
    code = str(export().graph)
    before = process(module)
    raised = 0

    def handler(number: int, frame: FrameType | None) -> None:
        raise TimeoutError("alarm")

    previous = signal.signal(signal.SIGALRM, handler)
    try:
        for at in range(1, 15):
            try:
                signal.setitimer(signal.ITIMER_REAL, at * 0.002)
                export()
                signal.setitimer(signal.ITIMER_REAL, 0)
            except TimeoutError:
                raised += 1
            assert differences(before, process(module)) == []
            assert str(export().graph) == code
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert raised > 0


def test_an_export_while_the_caller_handles_an_interruption() -> None:
    """What the caller handles has not interrupted the export."""
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        with pytest.raises(dynamo_lite.GraphBreak):
            dynamo_lite.export(lambda x: x * id(x), (torch.ones(3),))


def test_objects_that_the_user_has_frozen_stay_frozen() -> None:
    gc.collect()
    gc.freeze()
    try:
        count = gc.get_freeze_count()
        dynamo_lite.export(nn.Linear(3, 3), (torch.ones(3),))
        assert gc.get_freeze_count() > count * 0.9
        with pytest.raises(dynamo_lite.GraphBreak):
            dynamo_lite.export(lambda x: x * id(x), (torch.ones(3),))
        assert gc.get_freeze_count() > count * 0.9
    finally:
        gc.unfreeze()
    dynamo_lite.export(nn.Linear(3, 3), (torch.ones(3),))
    assert not gc.get_freeze_count()
