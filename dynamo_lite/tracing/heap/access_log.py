"""The program's reads of older objects, recorded as they happen: cheap, by identity, nothing resolved.

A row has *how* an object was looked at, *which* (its id) and with what *key* (accesses.py), and the program's position
the first time. Ids are enough: an older object outlives the run (its old contents are in the journal), and the rows of
objects that the run made belong to no object afterwards. A value that the program wrote before it read it is not an
assumption. The values are looked up after the run, when the heap is again as it was before (walk.py).
"""

from __future__ import annotations

import collections
import types
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from decimal import Decimal
from types import FunctionType, ModuleType
from typing import Any

import torch

from dynamo_lite.guards.classes import behind
from dynamo_lite.interpreter.code.type_flags import is_changeable
from dynamo_lite.interpreter.observer import DELETED
from dynamo_lite.torch_internals._torch_fake import FakeTensor
from dynamo_lite.tracing.assumptions.key_orders import KeyOrders
from dynamo_lite.tracing.heap import shared_buffers
from dynamo_lite.tracing.heap.accesses import (
    EMPTIED,
    KEYS,
    OF_CONTENTS,
    STANDING_FOR_OTHERS,
    VIEWS,
    WHOLE,
    AskedInstances,
    HasClass,
    Place,
    Site,
    Unobserved,
    is_known_by_identity,
    new_site,
)
from dynamo_lite.tracing.heap.generations import Table
from dynamo_lite.tracing.policy.native_reads import PARTS, STATE, decimal_context
from dynamo_lite.tracing.vocabulary import mro as classes
from dynamo_lite.tracing.vocabulary.contents import keys_and_items
from dynamo_lite.value_types import BOUND_IN_C, CONTAINERS

_ALL = slice(None)
_OF_HEAP = (
    *("places", "reads_of_fakes", "memory", "arrays_of_objects", "called", "namespaces", "modules", "of_class"),
    *("of_tensors", "switches"),
)
"""The tables of `Reads` that become guards."""


class Reads:
    """The rows of one run. `vm` is the interpreter that runs the program."""

    def __init__(self, vm: Any) -> None:
        self.vm = vm
        self.refuse: Callable[..., Any] | None = None  # ends the trace
        self.is_alone = False  # whether a read of an item of a dict is a row here and no more
        self.seen: dict[tuple[int, str], type] = {}
        """(id of an object, name of an attribute) → the object's type: reads that add nothing, as all rows for a read
        of this attribute of such an object exist. (An object with the same id later on is the run's own as this one
        was: the rows are about its class.)"""
        self.seen_names: set[tuple[int, int, str]] = set()
        """(id of a namespace, id of the globals of the reading module, name): the same for globals and builtins."""
        self.trusted: dict[int, bool | None] = {}  # id of a function's globals → whether its functions are trusted
        self.places: dict[Place, Site | None] = {}
        self.written: dict[Place, int] = {}  # places that the program wrote first → which write it was
        self.deleted: set[Place] = set()  # keys that had to be there for the program to delete them, first of all
        self.observed_at: dict[int, int] = {}  # objects that C code may have read → number of writes before
        self.emptied: dict[int, bool] = {}
        """id of a container that the program emptied → whether nothing had read its contents before"""
        self.reads_of_fakes: dict[str, Site | None] = {}  # attributes that the user may put on an input tensor
        self.memory: dict[tuple[int, int], Site | None] = {}  # addresses whose bytes the program read through Python
        self.arrays_of_objects = Table()
        self.called: dict[int, Site | None] = {}
        self.functions: list[weakref.ref[FunctionType]] = []
        self.referents: list[Any] = []  # weak references that the program asked for what they refer to
        self.namespaces: dict[int, dict[str, Any]] = {}
        self.modules: dict[int, ModuleType] = {}
        self.key_orders: KeyOrders | None = None  # None: no argument has a dict with an order
        self.of_class: dict[
            tuple[int, str], AskedInstances
        ] = {}  # (id of a class, name) → its instances that were asked
        self.of_tensors: dict[str, Site | None] = {}  # names of methods and attributes of tensors
        self.switches: dict[Callable[[], Any], Site | None] = {}  # functions that return a setting of the process
        self.read_first: dict[tuple[int, Any], bool] = {}
        """(id of an object, name or index) → whether the program's instructions read it before they wrote it."""
        self.quiet = Unobserved()
        self._has_class = HasClass()
        self._last: Site | None = None
        self._library: dict[Any, bool] = {}

    def add(self, other: Reads) -> None:
        """Add the rows of an earlier run on the same heap, on which the program rests as well. Rows about objects of
        that run lead nowhere."""
        for name in _OF_HEAP:
            mine = getattr(self, name)
            for key, value in getattr(other, name).items():
                mine.setdefault(key, value)
        self.functions += other.functions
        self.referents += other.referents

    # ---- the tracer's hooks

    def read(self, how: str, owner: Any, key: Any = None) -> None:
        """One row, unless the program wrote that place before. `key` is an atom."""
        if type(owner) in VIEWS:
            owner = behind(owner)
        place = (how, id(owner), key)
        if self.emptied and how in OF_CONTENTS and self.emptied.get(id(owner)):
            return  # it holds what the program put there
        if how in WHOLE or how == "length":
            self._check_namespace(owner)
        if how in WHOLE:
            self.observed_at.setdefault(id(owner), len(self.written))
            if self.key_orders is not None and issubclass(type(owner), dict):
                self.key_orders.look(owner)
        if place not in self.places and place not in self.written:
            if how == "key" and ("item", id(owner), key) in self.written:
                return  # whether it is there is known from the program
            frame, last = self.vm.frame, self._last
            is_last = last is not None and frame is not None and last[2] == frame.pc and last[0] is frame.code
            self.places[place] = last if is_last else self.site()  # most often, without a call
            if shared_buffers.KINDS[type(owner)]:
                self.memory_of(owner)

    def found_below(self, namespace: dict[str, Any], parts: Sequence[str], name: str) -> None:
        """`namespace[part]` is there for each of `parts`, a dict; `name` is in the last of these, and is read: the rows
        that looks and reads of the program would write (features/modules/attributes.py)."""
        ident, held = id(namespace), 0
        rows: list[Place] = []
        for part in parts:
            held = id(namespace[part])
            rows += (("key", ident, part), ("item", ident, part), ("key", held, name))
            self.read_first.setdefault((ident, part), True)
        rows.append(("item", held, name))
        self.read_first.setdefault((held, name), True)
        places, written, emptied = self.places, self.written, self.emptied
        new = [row for row in rows if row not in places and row not in written and not emptied.get(row[1])]
        if ("item", held, name) in written:  # whether it is there is known from the program
            new = [row for row in new if row != ("key", held, name)]
        if new:
            places.update(dict.fromkeys(new, self.site()))

    def _check_namespace(self, owner: Any) -> None:
        """Check a read of a fake tensor's `__dict__`, which has internal entries: only names may be looked up."""
        if type(owner) is dict and "fake_mode" in owner and "_fake_device" in owner and self.refuse is not None:
            self.refuse("tensor-attribute", name="__dict__")

    def memory_of(self, owner: Any) -> None:
        """The program looked at, or writes to, the memory that `owner` shows; a tensor may show it too."""
        where = shared_buffers.extent(owner)
        if where is not None:
            self.memory.setdefault(where, self.site())
        array = shared_buffers.array_of_objects(owner)
        if array is not None:
            self.arrays_of_objects[id(array)] = array

    def value(self, kind: str, owner: Any, key: Any) -> None:
        """Observer.on_read."""
        if kind == "attr":
            self.attribute(owner, key)
        elif kind == "item":
            self.item(owner, key)
        elif kind == "cell":
            self.read("cell", owner)
        elif type(owner) is dict:
            self.name(owner, key)
            if kind == "builtin":  # it is there because the module has no such global
                self.name(self.vm.frame.globals, key)

    def name(self, namespace: dict[str, Any], key: str) -> None:
        """A global, or a builtin, or that it is not there."""
        if ("item", id(namespace), key) not in self.places:
            self.namespaces[id(namespace)] = namespace
            self.read("item", namespace, key)

    def attribute(self, owner: Any, key: str) -> None:
        """An attribute that is there."""
        ident, kind = id(owner), type(owner)
        place = ("attr", ident, key)
        if place in self.written:
            return
        if place not in self.places:
            if kind is ModuleType:
                self.modules[ident] = owner
            frame, last = self.vm.frame, self._last
            is_last = last is not None and frame is not None and last[2] == frame.pc and last[0] is frame.code
            self.places[place] = last if is_last else self.site()
        if self._has_class[kind]:
            known = self.of_class.get((id(kind), key))
            if known is None:
                self._of_class(owner, key)
            else:
                known.owners.add(ident)
        elif kind in STANDING_FOR_OTHERS or issubclass(kind, type):
            self._of_class(owner, key)

    def _of_class(self, owner: Any, key: str) -> None:
        """An attribute that the instance itself may not have: its class has it. The instance may be the run's own."""
        kind = type(owner)
        if kind is super:
            self._above(owner, key)
        elif kind is types.MethodType:
            if classes.entry(kind, key) is None:
                self.value("attr", owner.__func__, key)
        elif issubclass(kind, type):
            found = classes.entry(owner, key)
            if found is not None and found.cls is not owner and is_changeable(found.cls):
                self.of_class.setdefault((id(owner), key), AskedInstances(self.site(), id(found.cls), {0}))
        elif is_changeable(kind):
            known = self.of_class.get((id(kind), key))
            if known is None:
                found = classes.entry(kind, key)
                base = id(found.cls) if found is not None else 0
                known = self.of_class[id(kind), key] = AskedInstances(self.site(), base, set())
            known.owners.add(id(owner))

    def _above(self, owner: Any, key: str) -> None:
        """`super().key`: the namespaces of the classes above the one that it is in, up to that which has it."""
        start = super.__dict__["__self_class__"].__get__(owner)
        below = super.__dict__["__thisclass__"].__get__(owner)
        order = classes.mro(start) if start is not None else ()
        places, namespace = self.places, classes.namespace_of
        for base in order[order.index(below) + 1 :] if below in order else ():
            if ("own", id(base), key) not in places:
                self.read("own", base, key)
            if key in namespace(base):
                break

    def tensor_attribute(self, owner: torch.Tensor, key: str) -> None:
        """Observer.on_read of a tensor: torch's answers are in the tensor's facts, attributes of the user are not."""
        if key not in self.of_tensors:
            self.of_tensors[key] = self.site()
        if key in _namespace_of(owner):
            self._read_tensor_attribute(owner, key)

    def _read_tensor_attribute(self, owner: torch.Tensor, key: str) -> None:
        if type(owner) is FakeTensor:
            self.reads_of_fakes.setdefault(key, self.site())
        else:
            self.read("attr", owner, key)

    def item(self, owner: Any, key: Any) -> None:
        if self.quiet[type(owner)]:
            return
        if type(owner) in VIEWS:
            owner = behind(owner)
        if type(key) in KEYS:
            self.read("item", owner, key)
        else:
            self.read("entry", owner)

    def look(self, how: str, owner: Any, key: Any) -> None:
        """Observer.on_look."""
        kind = type(owner)
        if self.quiet[kind]:
            if how == "attr":
                self._no_attribute(owner, key)
            return
        if kind in VIEWS:
            owner = behind(owner)
            kind = type(owner)
        if how == "is":
            if not self.quiet[type(key)]:
                self.read(how, owner, id(key))
        elif how == "key":
            if type(key) in KEYS and issubclass(kind, dict):
                self.read(how, owner, key)
            elif kind is dict and is_known_by_identity(key):
                self.read("entry", owner)
            else:
                self.parts(owner)
        elif how == "parts":
            self.parts(owner)
        elif how == "unordered":
            orders, self.key_orders = self.key_orders, None
            if orders is not None and key:  # what is written into a dict that is empty takes no other's place
                orders.merged(key, dict.items(owner))
            self.read("items", owner)
            self.key_orders = orders
        elif how == "global":
            for namespace in (owner, self.vm.frame.builtins):
                self.namespaces[id(namespace)] = namespace
                self.read("item", namespace, key)
        elif how not in WHOLE and how != "attr" and (how, id(owner), key) in self.places:
            return
        else:
            self.read(how, owner, key)
            if how == "attr":
                self._of_class(owner, key)

    def _no_attribute(self, owner: Any, key: str) -> None:
        """A tensor or a module does not have this attribute."""
        if issubclass(type(owner), torch.Tensor):
            self._read_tensor_attribute(owner, key)
        elif type(owner) is ModuleType:
            self.modules[id(owner)] = owner
            self.read("attr", owner, key)

    @contextmanager
    def without_order(self) -> Iterator[None]:
        """Open a context in which reads do not depend on the order of a dict's keys."""
        orders, self.key_orders = self.key_orders, None
        try:
            yield
        finally:
            self.key_orders = orders

    def write(self, kind: str, owner: Any, key: Any, value: Any) -> None:
        """Observer.before_write. A deletion, and an assignment to a list's item, need the place to be there."""
        deletes = value is DELETED
        if self.key_orders is not None and not deletes and kind in ("item", "attr"):
            holder: Any = owner if kind == "item" else classes.instance_dict(owner)
            if issubclass(type(holder), dict) and (type(key) not in KEYS or dict.__contains__(holder, key)):
                self.key_orders.merged(holder, ((key, value),))
        how = kind if kind in ("attr", "cell") else "item"
        key = None if how == "cell" else key
        if how == "item" and type(key) not in KEYS:
            if type(key) is slice and key == _ALL and type(owner) is list:  # `xs[:] = ...`, `del xs[:]`
                self.empties(owner)
            self.read("entry", owner)
            return
        place = (how, id(owner), key)
        namespace = classes.instance_dict(owner) if deletes and how == "attr" else None
        if namespace is not None and dict.__contains__(namespace, key) and place not in self.places:
            there = ("key", id(namespace), key)
            if place not in self.written and there not in self.places:  # what it was does not matter
                self.deleted.add(there)
                self.read("key", namespace, key)
        elif deletes or (how == "item" and issubclass(type(owner), (list, collections.deque))):
            self.read("length" if issubclass(type(owner), (list, collections.deque)) else how, owner, key)
        if place not in self.places:
            self.written.setdefault(place, len(self.written))

    def empties(self, owner: Any) -> None:
        """Record that the program empties a container: contents that nothing has read are not an assumption."""
        ident = id(owner)
        if ident in self.emptied or type(owner) not in EMPTIED:
            return
        places = (*self.places, *self.written)
        looked = any(at == ident and (how, key) != ("attr", "clear") for how, at, key in places)
        self.emptied[ident] = ident not in self.observed_at and not looked

    def deep(self, args: tuple[Any, ...], kwargs: dict[str, Any], how: str) -> None:
        for arg in (*args, *kwargs.values()) if kwargs else args:
            if not self.quiet[type(arg)]:
                self.parts(arg, how)
            elif type(arg) in BOUND_IN_C and type(arg.__self__) is not ModuleType:
                self.parts(arg.__self__, how)  # `map(xs.index, ...)` reads xs

    def parts(self, value: Any, how: str = PARTS) -> None:
        """All that native code may find in `value`, and in the containers that it holds now."""
        todo, seen, quiet = [value], set(), self.quiet
        while todo:
            value = todo.pop()
            if id(value) in seen:
                continue
            seen.add(id(value))
            if type(value) in VIEWS:
                value = behind(value)
            if issubclass(type(value), CONTAINERS):
                loud = [item for item in keys_and_items(value) if not quiet[type(item)]]
                if not loud and type(value) is tuple:
                    continue  # known as a whole wherever it was read
                todo += loud
                self.read(how, value)
            elif type(value) is ContextVar:
                self.read("context", value)
            elif issubclass(type(value), Decimal):
                self.switches.setdefault(decimal_context, self.site())
            elif (how is STATE and not quiet[type(value)]) or issubclass(type(value), types.SimpleNamespace):
                self.read(STATE, value)
            elif not quiet[type(value)]:
                self.observed_at.setdefault(id(value), len(self.written))
                if shared_buffers.KINDS[type(value)]:
                    self.memory_of(value)

    # ---- helpers

    def site(self) -> Site | None:
        """The innermost frame that is not a library's; None before the program's first."""
        frame = self.vm.frame
        while frame is not None:
            name = frame.globals.get("__name__")
            library = self._library.get(name)
            if library is None:
                library = self._library[name] = str(name).partition(".")[0] == "torch"
            if not library:
                last = self._last
                if last is None or last.pc != frame.pc or last.code is not frame.code:
                    last = self._last = new_site((frame.code, frame.info, frame.pc))
                return last
            frame = frame.back
        return None


_namespace_of: Any = vars(torch.Tensor)["__dict__"].__get__
