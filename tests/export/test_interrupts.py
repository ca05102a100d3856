"""Exports that are interrupted leave the process as it was, wherever that happens."""

from __future__ import annotations

import contextlib
import gc
import signal
import time
import weakref
from collections.abc import Callable
from functools import partial
from types import FrameType

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch._subclasses.functional_tensor import FunctionalTensorMode
from torch.testing._internal.logging_tensor import LoggingTensorMode

import dynamo_lite
from dynamo_lite.torch_internals._torch_state import ThreadState

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


class _Ended:
    """Calls a function when it dies, within a callback whose exceptions C code drops."""


_allowed = partial(dynamo_lite.allow, pure=True)


@_allowed
def _sleeps(x: Tensor) -> None:
    time.sleep(20)


@_allowed
def _signalled(number: int) -> int:
    signal.raise_signal(number)
    return 2


@_allowed
def _raises_in_a_callback(number: int) -> None:
    ended = _Ended()
    reference = weakref.ref(ended, lambda _: signal.raise_signal(number))
    del ended
    assert reference() is None


class _Index:
    """An argument whose conversion torch's parser asks for; an exception there becomes a TypeError."""

    def __index__(self) -> int:
        return _signalled(signal.SIGUSR1)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    "call",
    [
        lambda x: _raises_in_a_callback(signal.SIGUSR1),
        lambda x: _raises_in_a_callback(signal.SIGINT),
        lambda x: x.narrow(0, 0, _Index()),
        _sleeps,
    ],
    ids=["callback", "keyboard", "argument", "sleep"],
)
def test_what_c_code_would_drop_leaves_the_export(call: Callable[[Tensor], object], strict: bool) -> None:
    """An exception of a signal handler is raised in the end, though C code drops it, replaces it or goes on waiting."""

    class Calls(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            with contextlib.suppress(Exception):
                call(x)
            return x * 2

    late = TimeoutError("late")

    def handler(number: int, frame: FrameType | None) -> None:
        raise late

    module = Calls()
    args = (torch.ones(3),)
    dynamo_lite.export(nn.Linear(3, 3), args, strict=strict)  # what is imported stays
    previous = {number: signal.signal(number, handler) for number in (signal.SIGUSR1, signal.SIGALRM, signal.SIGINT)}
    try:
        before = process(module)
        signal.setitimer(signal.ITIMER_REAL, 0.3 if call is _sleeps else 0)
        began = time.monotonic()
        with pytest.raises(TimeoutError) as caught:
            dynamo_lite.export(module, args, strict=strict, effects="drop")
        assert caught.value is late and time.monotonic() - began < 15
        assert differences(before, process(module)) == []
        assert all(signal.getsignal(number) is handler for number in previous)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handled in previous.items():
            signal.signal(number, handled)


def test_modes_that_were_left_are_taken_away() -> None:
    module = nn.Linear(1, 1)
    modes = [LoggingTensorMode(), FakeTensorMode(), FunctionalTensorMode()]
    for mode in modes:  # what is imported stays
        with mode:
            pass
    before = process(module)
    state = ThreadState()
    for mode in modes:
        mode.__enter__()
    state.restore()
    assert differences(before, process(module)) == []


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
