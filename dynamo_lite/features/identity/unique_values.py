"""Values of which a program may know which are equal, and no more: addresses, UUIDs, the ids of threads.

`id(p) in seen` is the same in each call, though the number that id() gives is not. So a program is given an object in
its place, which has a hash and compares; any other use is refused at that line (tracing/strings/nondeterministic.py). A
UUID's text is such a value, too.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

from dynamo_lite.features.identity.tensors import check_address, identical
from dynamo_lite.tracing.calls.run_native import run_native
from dynamo_lite.tracing.heap.generations import Table
from dynamo_lite.tracing.interfaces import FeatureState, TracerView
from dynamo_lite.tracing.strings.nondeterministic import (
    UniqueValue,
    Unrecordable,
    in_dropped_text,
    unique_text,
    unique_value,
    unrecordable,
)
from dynamo_lite.tracing.vocabulary.type_tests import is_fake, is_tensor


class UniqueId(UniqueValue):
    """A UUID. Its texts and its number are unique as well."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name in ("hex", "urn"):
            return unique_text(self, getattr(unique_value(self), name))
        if name == "int":
            return UniqueValue(unique_value(self).int, self._function, self._refuse, self._is_dropped)
        return super().__getattr__(name)


class ObjectId(UniqueValue):
    """The address of an object. A number with which it is compared may come from a library that computed it; for a
    tensor it may not, since the program may have a fake one."""

    __slots__ = ("_of_tensor",)

    def __init__(self, tracer: TracerView, of: Any, function: Callable[[Any], int] = id) -> None:
        address = run_native(function, (of,), {})
        super().__init__(address, function.__name__, partial(_refuse_id, tracer), partial(in_dropped_text, tracer))
        object.__setattr__(self, "_of_tensor", is_fake(of))

    __hash__ = UniqueValue.__hash__

    def __eq__(self, other: Any) -> Any:
        if type(other) is int and not object.__getattribute__(self, "_of_tensor"):
            return bool(unique_value(self) == other)
        return super().__eq__(other)

    def __bool__(self) -> bool:
        return True


def _refuse_id(tracer: TracerView, function: str) -> None:
    if not tracer.vm.retired:  # after the run, the text of the program's own error may show the value
        tracer.refuse("unrecordable-id", function=function)


class ObjectIds(FeatureState):
    """The objects whose addresses the program has used. They are kept alive here: an address that another object may
    get in eager is refused."""

    stays = "an address that a side has asked for is not to be given to another object behind the join"

    def __init__(self, tracer: TracerView) -> None:
        self._tracer = tracer
        self._objects = Table()

    def of(self, value: Any) -> ObjectId:
        """Return the symbolic result of id(value)."""
        self._keep(value)
        return ObjectId(self._tracer, value)

    def hash_of(self, value: Any) -> ObjectId:
        """Return the symbolic result of hash(value), which is made of the address alone."""
        self._keep(value)
        return ObjectId(self._tracer, value, hash)

    def _keep(self, value: Any) -> None:
        tracer = self._tracer
        if is_tensor(value):
            check_address(tracer, value)
            for known in self._objects.values():
                if known is not value and identical(tracer, known, value):
                    one, other = (tracer.recorder.input_number(t) or 0 for t in (known, value))
                    names = tracer.inputs.names
                    tracer.refuse("input-identity", left=names[one], right=names[other])
        self.check()
        self._objects.setdefault(id(value), value)

    def has(self, value: Any) -> bool:
        """Whether the program has used the address of an object."""
        return id(value) in self._objects

    def check(self) -> None:
        """Refuses where one of the objects has died: the next one may have its address."""
        for key in self._objects:
            if sys.getrefcount(self._objects[key]) <= _OURS:
                _refuse_id(self._tracer, "id")


_OURS = 2
"""References to an object that nothing else holds: of the table, and of the function that counts."""


UNIQUE = frozenset(
    {"uuid.uuid1", "uuid.uuid4", "_thread.get_ident", "_thread.get_native_id", "posix.getpid", "os.getpid"}
)
"""Functions that may give keys."""


def of_call(tracer: TracerView, name: str, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Unrecordable:
    """Return a symbolic value for the result of a function that differs from call to call."""
    found = unrecordable(tracer, name)
    if name not in UNIQUE or args or kwargs:
        return found
    if "texts" not in tracer.plans.awake:
        tracer.plans.wake("texts")
    value = run_native(fn, args, kwargs)
    kind = UniqueId if isinstance(value, uuid.UUID) else UniqueValue
    return kind(value, name, found._refuse, found._is_dropped)
