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
from types import FunctionType
from typing import Any

import torch
from torch import nn

from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.torch_internals._torch_fake import FakeTensor
from dynamo_lite.tracing.interfaces import State, Step, Trace
from dynamo_lite.tracing.policy.native_modules import is_trusted_module
from dynamo_lite.tracing.strings import addresses
from dynamo_lite.tracing.tensors.input_guards import are_one
from dynamo_lite.tracing.vocabulary.type_tests import is_fake

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
    tracer.rules[id(hash_)] = call_hash  # `x.__hash__()`
    try:
        yield hashed
    finally:
        tracer.rules.pop(id(hash_), None)
        if earlier is None:
            del FakeTensor.__hash__
        else:
            FakeTensor.__hash__ = earlier  # type: ignore[method-assign]


class AddressesHashed(State):
    """How often a `__hash__` of the program's has used an address."""

    def __init__(self, tracer: Trace) -> None:
        self.count = 0


def call_hash(tracer: Trace, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """hash(x), when the hash is the address; not in a `__hash__` of the program's, whose result a table looks up."""
    if len(args) != 1 or tracer.in_library():
        return NOT_HANDLED
    hashed, frame = tracer.own(AddressesHashed), tracer.vm.frame
    for_a_table = frame is not None and frame.code.co_name == "__hash__"
    if is_address(args[0]) or addresses.shown(args[0]):
        hashed.count += 1
        if not for_a_table:
            tracer.refuse("unrecordable-id", function="hash")
        return NOT_HANDLED
    before, hasher = hashed.count, getattr(type(args[0]), "__hash__", None)
    if fn is not hash or type(hasher) is not FunctionType:
        return NOT_HANDLED
    found = hash(tracer.vm.call(hasher, args))
    if hashed.count > before and not for_a_table:
        tracer.refuse("unrecordable-id", function="hash")
    return found


def check_order(tracer: Trace, items: Any) -> None:
    """The program goes through a set. Refused where the order comes of addresses of what the run has made."""
    if len(items) > 1 and not tracer.in_library() and any(map(is_address, items)):
        tracer.heap.mark()
        if any(is_address(item) and (is_fake(item) or tracer.heap.is_young(item)) for item in items):
            tracer.refuse("unrecordable-id", function="hash")


def call_with_set(tracer: Trace, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """list(s), s.pop(), ...: C goes through a set, or takes what comes first."""
    for arg in args:
        if type(arg) in (set, frozenset):
            check_order(tracer, arg)
    return NOT_HANDLED


_GO_THROUGH = frozenset(map(id, (list, tuple, iter, enumerate, zip, map, set.pop, dict.fromkeys, list.extend)))
"""What shows in which order a set holds its items."""


def plan(tracer: Trace, fn: Any) -> Step | None:
    """The step of a call plan for what shows the order of a set."""
    return call_with_set if id(fn) in _GO_THROUGH else None


def is_address(value: Any) -> bool:
    """Whether hash(value) is made of an address."""
    if type(value) in (tuple, frozenset):
        return any(map(is_address, value))
    hasher = getattr(type(value), "__hash__", None)
    return isinstance(value, FakeTensor) or hasher in (object.__hash__, torch.Tensor.__hash__, nn.Module.__hash__)


def _by_the_program(caller: str) -> bool:
    """Whether the innermost Python frame is the interpreter's (a native call of the program), not a library's."""
    return caller.startswith(_OURS) or not is_trusted_module(caller)


def check(tracer: Trace, hashed: set[int]) -> None:
    """Guard that the hashed inputs are different objects; raises a GraphBreak if two are one in the example."""
    for left, right in combinations(sorted(hashed), 2):
        if are_one(tracer, left, right):
            names = tracer.inputs.names
            raise tracer.refusal("input-identity", left=names[left], right=names[right])
