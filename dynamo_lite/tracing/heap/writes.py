"""Every write of the program, recorded by the journal before it happens; writes that no snapshot covers are refused.

A write into an object that the run has made is ignored. Which objects those are is known only at the end, so the
journal takes snapshots of all. Only if there can be no snapshot, this is decided at once (`is_old`).
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from types import CellType, FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import Any

from dynamo_lite.interpreter import datamodel
from dynamo_lite.interpreter.code.type_flags import is_changeable
from dynamo_lite.tracing.calls import native_calls
from dynamo_lite.tracing.heap import shared_buffers
from dynamo_lite.tracing.heap.generations import Table
from dynamo_lite.tracing.heap.locks import Locks
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor
from dynamo_lite.value_types import HOLD_NO_FUNCTIONS

_BUILTINS = vars(builtins)
_BUILTIN_NAMES = frozenset(_BUILTINS)
_PART = {"attr": "attributes", "cell": "cell"}
HAVE_GC = 1 << 14
"""Py_TPFLAGS_HAVE_GC: the collector tracks the instances, and can list the new ones."""
_RAISING = ("__suppress_context__", "__traceback__", "__context__", "__cause__")  # setting a cause sets the first
IN_PLACE = "inplace"
"""The kind of write that an augmented assignment is."""


class Writes:
    """The writes of one run, and the state for judging them."""

    def __init__(self, tracer: TracerView) -> None:
        self._tracer = tracer
        self.locks = Locks(lambda what: tracer.refuse("lock-held", what=what), tracer.mark)
        tracer.journal.on_rollback(self._undo)
        self.observed_at = Table()
        """Memory that tensors of the program show (shared_memory.py), by the id of its owner."""
        self.new_objects = Table()
        """Objects that a native call made and that the collector does not track, by id (and so kept alive)."""
        self._flags: dict[int, tuple[Any, Any]] = {}  # id of an array's `flags` → it and the array

    # ---- old or new

    def is_old(self, obj: Any) -> bool:
        """Whether `obj` existed before the run. Called for an object whose state no snapshot covers."""
        old = self._tracer.heap.is_old(obj)
        return not self._is_made(id(obj)) if old is None else old

    def old_among(self, objects: Iterable[Any]) -> set[int]:
        """ids of those of `objects` that were there before the run."""
        old = self._tracer.heap.old_among(objects)
        return {key for key, answer in old.items() if (not self._is_made(key) if answer is None else answer)}

    def _is_made(self, key: int) -> bool:
        """Whether the run made the object with this id, which the collector does not track."""
        return key in self.new_objects or key in self._tracer.made_dicts

    def after_native_call(self, fn: Any, args: tuple[Any, ...], result: Any) -> None:
        """Remember an untracked object that the call has made."""
        kind = type(result)
        if kind in HOLD_NO_FUNCTIONS or kind.__flags__ & HAVE_GC:
            return
        if shared_buffers.is_ndarray(result) and result.dtype.hasobject:
            self._tracer.reads.parts(args)  # what it holds is theirs
        if native_calls.is_new_result(self._tracer, fn, args, result):
            self.new_objects[id(result)] = result
            owner = shared_buffers.root(result) if shared_buffers.is_ndarray(result) else result
            if owner is not result and shared_buffers.is_of_its_own(owner, args) and native_calls.is_numpys(fn):
                self.new_objects[id(owner)] = owner

    def after_operator(self, operands: tuple[Any, ...], result: Any) -> None:
        """Remember an array that an operator, or a subscript, of arrays and numbers has made."""
        kind = type(result)
        if kind in HOLD_NO_FUNCTIONS or kind.__flags__ & HAVE_GC or not shared_buffers.is_new_array(result, operands):
            return
        self.new_objects[id(result)] = result

    def note_part(self, owner: Any, part: Any) -> None:
        """The program has read `part`, an attribute of the array `owner` that is made for each access."""
        if shared_buffers.is_ndarray(owner):
            self.new_objects[id(part)] = part
            if type(part).__name__ == "flagsobj":
                self._flags[id(part)] = part, owner

    # ---- writes

    def before_write(self, kind: str, owner: Any, key: Any) -> None:
        """Prepare a store of the program into `owner`, which is not a tensor. Raises an error that ends the trace."""
        if kind == IN_PLACE:
            self._before_in_place(owner)
            return
        part = _PART.get(kind, "items")
        if (owner is builtins or owner is _BUILTINS) and key in _BUILTIN_NAMES:
            self._tracer.refuse("process-state", function=f"assigning builtins.{key}")  # which the trace calls itself
        if kind == "attr" and type(owner) is CellType and key == "cell_contents":
            part, key = "cell", "contents"
        if (part == "items" and shared_buffers.is_memory(owner)) or (
            kind == "attr" and shared_buffers.writes_data(owner, key)
        ):
            shared_buffers.touch(self._tracer, owner)
            if part == "attributes":
                return
        elif not self._tracer.journal.touch(owner, part) and self._writes_out_of_sight(owner, part, key):
            self._check_hidden_change(owner)
        if kind == "attr" and id(owner) in self._flags:
            self._check_hidden_change(self._flags[id(owner)][1])
        if part == "attributes":
            self._touch_descriptor(owner, key)
        self.written(owner, part, key)

    def written(self, owner: Any, part: str, key: Any) -> None:
        """Remember where `key` was first written, and whether that was before the program read it."""
        if type(key) is str or type(key) is int:
            self._tracer.reads.read_first.setdefault((id(owner), key), False)
            self._tracer.journal.site(owner, part, "contents" if type(owner) is CellType else key)

    def touch(self, owner: Any, part: str) -> None:
        """Prepare a change of `part` of `owner` by a call. Refuses an older object without a snapshot."""
        if not self._tracer.journal.touch(owner, part) and not is_tensor(owner) and not _is_plain(owner):
            self._check_hidden_change(owner)

    def touch_member(self, owner: Any, name: str) -> None:
        """Prepare a change by a C descriptor of the type of `owner` under `name`."""
        descriptor = datamodel.type_lookup(type(owner), name)
        if _is_c_data_descriptor(descriptor):
            self._tracer.journal.touch_member(owner, name, descriptor)

    def before_raise(self, error: BaseException) -> None:
        """`raise error`: an exception that existed before gets a traceback and a context, which lead into the trace."""
        if self.is_old(error):
            for name in _RAISING:
                self.touch_member(error, name)

    def _before_in_place(self, owner: Any) -> None:
        if is_tensor(owner):
            return
        if shared_buffers.is_memory(owner):
            shared_buffers.touch(self._tracer, owner)
        else:
            self._tracer.journal.touch(owner, "items")  # other objects have no in-place operators in C

    def _touch_descriptor(self, owner: Any, key: Any) -> None:
        if type(key) is not str or key == "__class__":
            return
        descriptor = datamodel.type_lookup(type(owner), key)
        if _is_c_data_descriptor(descriptor) and not _is_slot(descriptor):
            if issubclass(type(owner), BaseException) and key in _RAISING:
                self.before_raise(owner)
            self._tracer.journal.touch_member(owner, key, descriptor)

    def _writes_out_of_sight(self, owner: Any, part: str, key: Any) -> bool:
        """Whether the write ends in C code that changes what no snapshot shows."""
        if is_tensor(owner) or _is_plain(owner):
            return False
        cls = type(owner)
        if part == "attributes":
            return not _is_c_data_descriptor(datamodel.type_lookup(cls, str(key)))
        setter = datamodel.type_lookup(cls, "__setitem__")
        return setter is not datamodel.MISSING and type(setter) is not FunctionType

    def _check_hidden_change(self, owner: Any) -> None:
        if self.is_old(owner):
            self._tracer.refuse("outside-object", what=f"and changes a {type(owner).__qualname__}")
        self._tracer.on_hidden_change(owner)

    # ---- the end of the run

    def is_from_outside(self, owner: Any) -> bool:
        """Whether a numpy array shows memory that was there before: the collector knows nothing of arrays."""
        return shared_buffers.is_ndarray(owner) and id(shared_buffers.root(owner)) not in self.new_objects

    def _undo(self) -> None:
        """Undo changes that the journal does not."""
        self.locks.restore()
        self.new_objects.clear()
        self._flags.clear()


def _is_slot(descriptor: Any) -> bool:
    """A slot of a class of the program (its values are among the attributes)."""
    if type(descriptor) is not MemberDescriptorType:
        return False
    return is_changeable(descriptor.__objclass__)


def _is_c_data_descriptor(descriptor: Any) -> bool:
    """Whether setting the attribute ends in C: a getset, a member, a ctypes field, a property over C functions."""
    kind = type(descriptor)
    if kind in (GetSetDescriptorType, MemberDescriptorType):
        return True
    if descriptor is datamodel.MISSING or kind is FunctionType:
        return False
    if issubclass(kind, property):
        return FunctionType not in (type(descriptor.fget), type(descriptor.fset)) and descriptor.fset is not None
    setter = datamodel.type_lookup(kind, "__set__")
    return setter is not datamodel.MISSING and type(setter) is not FunctionType


def _is_plain(owner: Any) -> bool:
    """Whether an object cannot be changed: writing into it raises eager's error."""
    return type(owner) in HOLD_NO_FUNCTIONS and not shared_buffers.is_memory(owner)


def is_invisible(part: str) -> bool:
    """Whether a part is set by raising an exception: it is restored, and not an effect of the program."""
    return part in ("member __traceback__", "member __context__")
