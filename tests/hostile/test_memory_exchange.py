"""Calls that reach a tensor's memory from C: refused before they run, so that no process ends and nothing is written.

Each program is traced in a process of its own (forked), which says how it went; the processes' ends are looked at too.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils import dlpack

import dynamo_lite
from dynamo_lite.errors import DynamoLiteError, InternalError

Step = Callable[[Any, torch.Tensor], Any]


class Holder(nn.Module):
    """A buffer, a plain tensor and their storages; forward is one step."""

    def __init__(self, step: Step) -> None:
        super().__init__()
        self.register_buffer("b", torch.arange(6.0).reshape(2, 3))
        self.plain = torch.arange(6.0).reshape(2, 3)
        self.storage = self.b.untyped_storage()
        self.bound = self.b.apply_
        self.step = [step]

    def forward(self, x: torch.Tensor) -> Any:
        self.step[0](self, x)
        return x + 1


REFUSED: dict[str, Step] = {
    "apply_ of an input": lambda m, x: x.clone().apply_(abs),
    "apply_ of a buffer": lambda m, x: m.b.apply_(lambda v: v + 1),
    "apply_ of a plain tensor": lambda m, x: m.plain.apply_(lambda v: v + 1),
    "apply_ of a new tensor": lambda m, x: torch.zeros(2).apply_(abs),
    "apply_ of data": lambda m, x: m.b.data.apply_(lambda v: v + 1),
    "apply_ kept as a bound method": lambda m, x: m.bound(lambda v: v + 1),
    "apply_ called by map": lambda m, x: list(map(torch.Tensor.apply_, [x.clone()], [abs])),
    "map_ of a buffer": lambda m, x: m.b.map_(m.b, lambda a, b: a + b + 1),
    "map_ of an input": lambda m, x: x.clone().map_(x, max),
    "map2_ of a buffer": lambda m, x: m.b.map2_(m.b, m.b, lambda a, b, c: a + 1),
    "from_dlpack of an input": lambda m, x: torch.from_dlpack(x),
    "from_dlpack of a buffer": lambda m, x: torch.from_dlpack(m.b).add_(1),
    "to_dlpack of an input": lambda m, x: dlpack.from_dlpack(dlpack.to_dlpack(x)),
    "to_dlpack in C": lambda m, x: torch._C._to_dlpack(x),
    "__dlpack__ of an input": lambda m, x: torch.from_dlpack(x.__dlpack__()),
    "numpy's from_dlpack of an input": lambda m, x: np.from_dlpack(x),
    "numpy's from_dlpack of a buffer": lambda m, x: np.from_dlpack(m.b),
    "set_ of a buffer to a storage": lambda m, x: m.b.set_(m.storage),
    "a storage filled": lambda m, x: m.storage.fill_(1),
    "a storage resized": lambda m, x: m.storage.resize_(0),
    "a storage's address": lambda m, x: m.storage.data_ptr(),
    "untyped_storage of an input": lambda m, x: x.untyped_storage(),
    "storage of a buffer": lambda m, x: m.b.storage().fill_(1),
    "share_memory_ of a buffer": lambda m, x: m.b.share_memory_(),
    "data_ptr of a buffer": lambda m, x: m.b.data_ptr(),
}


def untouched(model: Holder) -> bool:
    want = torch.arange(6.0).reshape(2, 3)
    return torch.equal(model.b, want) and torch.equal(model.plain, want) and not model.b.is_shared()


def answer(step: Step) -> int:
    """0: refused, and nothing was changed; else a number that says what is wrong."""
    model = Holder(step)
    try:
        dynamo_lite.export(model, (torch.ones(2, 3),))
        code = 10
    except InternalError:
        code = 11
    except DynamoLiteError:
        code = 0
    return code if untouched(model) else 12


WRONG = {10: "exported", 11: "an InternalError", 12: "the user's tensors were changed", 13: "another exception"}


def in_processes(steps: dict[str, Step]) -> Iterator[tuple[str, str]]:
    """(name, what is wrong) for each step that is not refused, whose process may end too."""
    names = list(steps)
    while names:
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            signal.alarm(120)
            for name in names:
                try:
                    code = answer(steps[name])
                except BaseException:
                    code = 13
                os.write(write, bytes([code]))
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            codes = pipe.read()
        end = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        for name, code in zip(names, codes):
            if code:
                yield name, WRONG[code]
        if len(codes) < len(names):
            yield names[len(codes)], f"the process ended with {end}"
        names = names[len(codes) + 1 :]


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_nothing_reaches_the_memory_of_a_tensor() -> None:
    assert list(in_processes(REFUSED)) == []
