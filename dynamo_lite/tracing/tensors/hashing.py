"""Tensors as keys of dicts and members of sets: the answer depends on which of them are one object.

`{a: 1, b: 2}` has one entry or two, depending on whether the caller passed one tensor twice. The stand-ins of two
arguments are always two objects. So the hash of an argument is watched for the time of the run: afterwards, that two
which were hashed are different is a guard of the program (or, if they are one in the example, the end of it).

Checked against torch 2.13.0 (Tensor.__hash__ is `id(self)`; FakeTensor inherits it).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from typing import Any

import torch

from dynamo_lite.torch_internals._torch_fake import FakeTensor
from dynamo_lite.tracing.interfaces import Trace
from dynamo_lite.tracing.policy.native_modules import is_trusted_module

_OURS = "dynamo_lite.interpreter"


@contextmanager
def watched(tracer: Trace) -> Iterator[set[int]]:
    """Yields the numbers of the flat inputs that the program, in this thread, takes the hash of."""
    thread = threading.get_ident()
    hashed: set[int] = set()
    earlier = FakeTensor.__dict__.get("__hash__")

    def hash_(self: Any) -> int:
        if threading.get_ident() == thread:
            number = tracer.recorder.input_number(self)
            if number is not None and _by_the_program(str(sys._getframe(1).f_globals.get("__name__"))):
                hashed.add(number)
        return int(torch.Tensor.__hash__(self))

    FakeTensor.__hash__ = hash_  # type: ignore[method-assign]
    try:
        yield hashed
    finally:
        if earlier is None:
            del FakeTensor.__hash__
        else:
            FakeTensor.__hash__ = earlier  # type: ignore[method-assign]


def _by_the_program(caller: str) -> bool:
    """Whether the innermost Python frame is the interpreter's (a native call of the program), not a library's."""
    return caller.startswith(_OURS) or not is_trusted_module(caller)


def check(tracer: Trace, hashed: set[int]) -> None:
    """Guard that the hashed inputs are different objects; raises a GraphBreak if two are one in the example."""
    for left, right in combinations(sorted(hashed), 2):
        if tracer.inputs_are_one(left, right):
            names = tracer.inputs.names
            raise tracer.refusal("input-identity", left=names[left], right=names[right])
