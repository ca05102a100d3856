"""Tensors as keys of dicts and members of sets: the result depends on which of them are one object.

`{a: 1, b: 2}` has one entry or two, depending on whether the caller passed one tensor twice. The fake tensors of two
arguments are always two objects. So the hash of an argument is observed during the run: afterwards, it is a guard of
the program that two hashed arguments are different (or, if they are one in the example, an error).

Checked against torch 2.13.0 (Tensor.__hash__ is `id(self)`; FakeTensor inherits it).
"""

from __future__ import annotations

import collections
import dis
import functools
import heapq
import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import Any, Final

import torch
from torch import nn

from dynamo_lite.features.identity import addresses
from dynamo_lite.features.identity.tensors import check_address
from dynamo_lite.features.identity.unique_values import ObjectIds
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.run.finished_run import CallRecord, FinishedRun
from dynamo_lite.torch_internals._torch_fake import FakeTensor
from dynamo_lite.tracing.assumptions.input_guards import are_one
from dynamo_lite.tracing.interfaces import FeatureState, Step, TracerView
from dynamo_lite.tracing.policy.native_modules import is_trusted_module
from dynamo_lite.tracing.strings.deferred_str import UniqueText
from dynamo_lite.tracing.strings.nondeterministic import UniqueValue
from dynamo_lite.tracing.vocabulary.type_tests import is_fake
from dynamo_lite.undoing import attributes, changed
from dynamo_lite.value_types import SHAPES_AND_CONSTANTS

_OURS = "dynamo_lite.interpreter"


class InputsHashed(FeatureState):
    """The numbers of the flat inputs of which the program has taken the hash."""

    stays = "a guard of one side is a guard of the program"

    def __init__(self, tracer: TracerView) -> None:
        self.numbers: set[int] = set()


@contextmanager
def watched(tracer: TracerView) -> Iterator[None]:
    """Within, the flat inputs of which the program, in this thread, takes the hash are noted in `InputsHashed`."""
    thread = threading.get_ident()
    hashed = tracer.own(InputsHashed).numbers

    def hash_(self: Any) -> int:
        if threading.get_ident() == thread:
            number = tracer.recorder.input_number(self)
            merges = tracer.recorder.may_share is not None
            if (number is not None or merges) and _by_the_program(str(sys._getframe(1).f_globals.get("__name__"))):
                check_address(tracer, self)
                if number is not None:
                    hashed.add(number)
            tracer.recorder.layout.matters(self, "compared")
        return int(torch.Tensor.__hash__(self))

    with changed(attributes(FakeTensor, "__hash__")):
        FakeTensor.__hash__ = hash_  # type: ignore[method-assign]
        tracer.rules[id(hash_)] = call_hash  # `x.__hash__()`
        try:
            yield
        finally:
            tracer.rules.pop(id(hash_), None)


class AddressesHashed(FeatureState):
    """count: how often a `__hash__` of the program's has used an address; kinds: the classes of these objects."""

    stays = "it counts what is refused if it shows"

    def __init__(self, tracer: TracerView) -> None:
        self.count = 0
        self.kinds: set[type] = set()


def for_a_table(tracer: TracerView) -> bool:
    """Whether an address is used by a `__hash__` of the program's, whose result a table looks up."""
    frame = tracer.vm.frame
    if frame is None or frame.code.co_name != "__hash__" or not frame.code.co_argcount:
        return False
    hashed = tracer.own(AddressesHashed)
    hashed.count += 1
    hashed.kinds.add(type(frame.locals[0]))
    return True


def call_id(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """id(x) in the program's own code: a key (unique_values.py). Libraries and a `__hash__` get the number."""
    if tracer.in_library():
        tracer.recorder.layout.matters(args[0], "compared")
        return NOT_HANDLED
    frame = tracer.vm.frame
    of_a_hash = frame is not None and for_a_table(tracer)
    if frame is not None and of_a_hash and _keeps_nothing(frame.code):
        return NOT_HANDLED
    is_kept = len(args) == 1 and not kwargs and tracer.sees_python and not of_a_hash
    if is_kept and not issubclass(type(args[0]), SHAPES_AND_CONSTANTS):
        return tracer.own(ObjectIds).of(args[0])
    tracer.refuse("unrecordable-id", function="id")


@functools.cache
def _keeps_nothing(code: CodeType) -> bool:
    """Whether no instruction of a function puts a value where another function might find it."""
    return not any(instruction.opname in _KEEPS for instruction in dis.get_instructions(code))


_KEEPS = frozenset({"STORE_ATTR", "STORE_SUBSCR", "STORE_GLOBAL", "STORE_DEREF", "STORE_SLICE", "YIELD_VALUE"})


def call_hash(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """hash(x), when the hash is the address: a key, as id(x) is; not in a `__hash__` of the program's, whose result a
    table looks up."""
    if len(args) != 1 or tracer.in_library():
        return NOT_HANDLED
    value = args[0]
    if _hashed_by_address(value) and tracer.sees_python and not for_a_table(tracer):
        return tracer.own(ObjectIds).hash_of(value)
    if fn is not hash or is_address(value) or addresses.shows_address(value):
        if not for_a_table(tracer):
            tracer.refuse("unrecordable-id", function="hash")
        return NOT_HANDLED
    if type(value) in (tuple, frozenset):
        return _unless_by_address(tracer, lambda: tracer.vm.trampolines.call(hash, args))
    hasher = getattr(type(value), "__hash__", None)
    return _unless_by_address(tracer, lambda: hash(tracer.vm.call(hasher, args))) if _is_own(hasher) else NOT_HANDLED


def call_own_hash(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`key.__hash__()`: a `__hash__` of the program's that it calls itself; C code calls it for a table."""
    trampolines = tracer.vm.trampolines
    if trampolines.entered is fn:
        trampolines.entered = None
        return NOT_HANDLED
    if tracer.in_library():
        return NOT_HANDLED
    return _unless_by_address(tracer, lambda: tracer.vm.interpret_function(fn, args, kwargs))


def _unless_by_address(tracer: TracerView, ask: Callable[[], Any]) -> Any:
    """Return the hash from `ask`. Refused if it is made of an address and is not for a table."""
    before = tracer.own(AddressesHashed).count
    found = ask()
    if tracer.own(AddressesHashed).count > before and not for_a_table(tracer):
        tracer.refuse("unrecordable-id", function="hash")
    return found


def _is_own(hasher: Any) -> bool:
    return type(hasher) is FunctionType


def plan_own_hash(tracer: TracerView, fn: FunctionType) -> Step | None:
    """The step of a call plan for a `__hash__` of the program's."""
    return call_own_hash if fn.__name__ == "__hash__" else None


def check_iteration(tracer: TracerView, owner: Any, key: Any) -> None:
    """The program iterates over a set."""
    check_order(tracer, owner)


def check_order(tracer: TracerView, items: Any) -> None:
    """Check an iteration over a set. Refused if its order depends on addresses of objects that the run has made."""
    if shows_address(tracer, items):
        refuse_order(tracer)


def refuse_order(tracer: TracerView) -> None:
    """The order of a set is that of addresses."""
    tracer.refuse("unrecordable-id", function="hash")


def shows_address(tracer: TracerView, items: Any) -> bool:
    """Whether the order of a set that the program uses depends on addresses of objects that the run has made."""
    if len(items) < 2 or tracer.in_library():
        return False
    found: list[Any] = []
    for item in items:
        _add_by_address(item, tracer.own(AddressesHashed).kinds, found)
    if found:
        tracer.heap.refresh()
    return any(
        is_fake(item) or isinstance(item, (UniqueValue, UniqueText)) or tracer.heap.is_new(item) for item in found
    )


def _add_by_address(value: Any, kinds: set[type], found: list[Any]) -> None:
    """Add to `found` what hash(value) takes the address of."""
    if _hashes_items(value):
        for item in value:
            _add_by_address(item, kinds, found)
    elif is_address(value) or type(value) in kinds:
        found.append(value)


def call_with_set(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """list(s), s.pop(), ...: C goes through a set, or takes what comes first."""
    for arg in args:
        if type(arg) in (set, frozenset):
            check_order(tracer, arg)
    return NOT_HANDLED


_ITERTOOLS = [member for member in vars(itertools).values() if isinstance(member, type)]
SHOW_ORDER: Final[dict[int, Step]] = dict.fromkeys(
    map(
        id,
        (
            *(list, tuple, iter, enumerate, zip, map, filter, set.pop, list.extend, str.join),
            *(functools.reduce, collections.deque, collections.deque.extend, *_ITERTOOLS),
            *(heapq.nlargest, heapq.nsmallest, heapq.merge, dict.__dict__["fromkeys"]),
            *(set.__iter__, frozenset.__iter__, collections.OrderedDict.__dict__["fromkeys"], list.__iadd__),
            *(collections.Counter, collections.Counter.update, collections.Counter.subtract, list.__setitem__),
            *(collections.UserList, collections.UserList.extend, collections.UserList.__iadd__),
            *(nn.ModuleList, nn.ModuleList.extend, nn.ParameterList, nn.ParameterList.extend),
            collections._count_elements,  # type: ignore[attr-defined]
        ),
    ),
    call_with_set,
)
"""The steps of call plans for what shows in which order a set holds its items, by the id of the callable. (sorted, min
and max: ties_in_sets.py.)"""


def is_address(value: Any) -> bool:
    """Whether hash(value) is made of an address, or of another value that each call has anew (a UUID, its text)."""
    if _hashes_items(value):
        return any(map(is_address, value))
    return isinstance(value, (UniqueValue, UniqueText)) or _hashed_by_address(value)


def _hashed_by_address(value: Any) -> bool:
    """Whether hash(value) is the object's own address: two hashes are equal where the objects are one."""
    if isinstance(value, FakeTensor):
        return True
    return getattr(type(value), "__hash__", None) in (object.__hash__, torch.Tensor.__hash__, nn.Module.__hash__)


def _hashes_items(value: Any) -> bool:
    """Whether hash(value) is made of the hashes of its items: a tuple, also a named one, or a frozenset."""
    hasher = getattr(type(value), "__hash__", None)
    return hasher is tuple.__hash__ or hasher is frozenset.__hash__


def _by_the_program(caller: str) -> bool:
    """Whether the innermost Python frame is the interpreter's (a native call of the program), not a library's."""
    return caller.startswith(_OURS) or not is_trusted_module(caller)


def check_hashed(run: FinishedRun, call: CallRecord) -> None:
    """Guard that the hashed inputs are different objects; raises a GraphBreak if two are one in the example."""
    tracer = run.tracer
    for left, right in itertools.combinations(sorted(tracer.own(InputsHashed).numbers), 2):
        if are_one(tracer, left, right):
            names = tracer.inputs.names
            raise tracer.graph_break("input-identity", left=names[left], right=names[right])


def call_pop(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """set.pop(s): a set remembers where it took the last one from, which can be neither read nor put back."""
    if args and isinstance(args[0], set):
        check_order(tracer, args[0])
        if len(args[0]) > 1 and tracer.writes.is_old(args[0]):
            tracer.refuse("outside-object", what="pop() of a set")
    return NOT_HANDLED
