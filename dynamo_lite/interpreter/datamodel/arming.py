"""Which Python functions get a trampoline before C code runs: those that it may call through its operands.

There are two sets for a class. *All* of its functions are armed if its instances are handed to code that may call any
method. Operators, the reading of attributes and the built-in containers and iterators call special methods and
properties, and methods that a protocol names (`keys`, `read`): only these are *narrowly* armed, of a model's class a
few of a hundred.
"""

from __future__ import annotations

import gc
import io
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from threading import get_ident
from types import FunctionType, GeneratorType, MappingProxyType, MethodType
from typing import Any, Final

from dynamo_lite.interpreter.code.type_flags import HEAP_OR_IMMUTABLE, HEAP_TYPE
from dynamo_lite.interpreter.code.type_members import flags_of, mro_of, namespace_of
from dynamo_lite.interpreter.datamodel.c_types import (
    SHALLOW_KINDS,
    elements_of,
    holds_functions,
    is_array_type,
)
from dynamo_lite.interpreter.datamodel.trampoline_choices import CHOICES, choice
from dynamo_lite.interpreter.datamodel.trampoline_code import (
    SWAPS_QUIETLY,
    Entry,
    active,
    is_trampoline,
    original_code,
    set_code,
)
from dynamo_lite.value_types import CONTAINERS_AND_VIEWS, HOLD_NO_FUNCTIONS

_WITH_PROTOCOLS = (
    *(list, tuple, dict, set, frozenset, OrderedDict, deque, MappingProxyType, str, bytes, bytearray, memoryview),
    *(int, float, complex, range, slice, BaseException, GeneratorType, type),
    *(io.TextIOWrapper, io.BufferedRandom, io.StringIO, io.RawIOBase),
)
_BY_NAME: Final = frozenset().union(*map(dir, _WITH_PROTOCOLS))
"""The names that C code calls: the methods of the types that represent the protocols, special ones included."""


class Armed:
    """The types that were looked at, all of each or narrowly."""

    __slots__ = ("kinds", "known", "shallow")

    def __init__(self) -> None:
        self.known: dict[type, bool] = {}
        """type → whether its instances are classes or arrays, which `arm_operand` inspects"""
        self.kinds: dict[type, Callable[[Any, Armed], None] | None] = dict.fromkeys(HOLD_NO_FUNCTIONS)
        """type → how its instances are looked through"""
        self.shallow: set[type] = set()
        """Types in whose instances `arm_shallow` finds nothing."""

    def clear(self) -> None:
        self.known.clear()
        self.shallow.clear()
        self.kinds = dict.fromkeys(HOLD_NO_FUNCTIONS)


class Arming:
    """The functions and types that are armed."""

    def __init__(self, vm: Any) -> None:
        self.vm = vm
        self.all = Armed()
        self.narrowly = Armed()
        self._calling_back: set[type] = set()
        """Classes with a special method that runs natively: it may call any method of a subclass."""
        self._thread: int | None = None
        self._armed: list[Entry] = []
        self._policy = getattr(getattr(vm, "observer", None), "policy", None)
        self._visiting: set[int] = set()

    def follow(self, policy: Any) -> None:
        """The observer decides by another `policy` from now on which functions run natively."""
        self._policy = policy

    def _begin(self) -> None:
        """The first trampoline of the run."""
        active.setdefault(get_ident(), []).append(self)
        self._thread = get_ident()

    def release(self) -> None:
        """Gives every armed function its own code back and clears the caches."""
        for entry in self._armed:
            fn = entry.ref()
            if fn is not None and (consts := fn.__code__.co_consts) and consts[-1] is entry:
                if SWAPS_QUIETLY:
                    fn.__code__ = entry.code
                else:
                    set_code(fn, entry.code)
        self._armed = []
        self.forget_types()
        running = active.get(get_ident() if self._thread is None else self._thread, ())
        while self in running:
            running.remove(self)  # type: ignore[union-attr]
        self._thread = None

    # -- values ----------------------------------------------------------------------------------------------

    def arm(self, value: Any, armed: Armed | None = None) -> None:
        """Arms whatever Python functions C code may call when handed `value`, elements of containers included."""
        armed = armed or self.all
        scan = armed.kinds.get(type(value), self._scan_of_a_new_kind)
        if scan is not None:
            scan(value, armed)

    def arm_shallow(self, value: Any, armed: Armed | None = None) -> None:
        """Arms `value`'s type, and `value` if it is a function or class; not the elements of a container."""
        armed = armed or self.all
        kind = type(value)
        if kind not in armed.known:
            self.arm_type(kind, armed)
        if kind is tuple or kind is frozenset:
            self.arm(value, armed)  # a key: its hash is made of those of its elements
        elif kind in SHALLOW_KINDS or issubclass(kind, CONTAINERS_AND_VIEWS):
            armed.shallow.add(kind)
        else:
            self.arm(value, armed)
            if armed.kinds[kind] is None:
                armed.shallow.add(kind)

    def arm_unprompted(self, callback: Any) -> None:
        """Arms a callback that is called whenever an object dies (weakref.ref), also while trampolines are closed."""
        self.arm(callback)
        function = callback.__func__ if type(callback) is MethodType else callback
        if type(function) is not FunctionType:
            spaces = map(vars, mro_of(type(function)))
            function = next((space["__call__"] for space in spaces if "__call__" in space), None)
        if type(function) is FunctionType and is_trampoline(function.__code__):
            function.__code__.co_consts[-1].unprompted = True

    def arm_operand(self, value: Any, armed: Armed | None = None) -> None:
        """Arms the functions that an operator may call of a class (see `arm_class`), or of a numpy array of objects."""
        if issubclass(type(value), type):
            self.arm_class(value, armed)
        else:
            self._arm_array(value, armed or self.all)

    def _arm_array(self, array: Any, armed: Armed) -> None:
        """A numpy array that holds objects: numpy's functions and operators call theirs."""
        ndarray: Any = sys.modules["numpy"].ndarray  # past the overrides of subclasses
        if ndarray.dtype.__get__(array).hasobject and id(array) not in self._visiting:
            self._visiting.add(id(array))
            self.arm([ndarray.tolist(array)], armed)
            self._visiting.discard(id(array))

    def _arm_method(self, method: MethodType, armed: Armed) -> None:
        self.arm(method.__func__, armed)
        self.arm_shallow(method.__self__, armed)

    def _scan_of_a_new_kind(self, value: Any, armed: Armed) -> None:
        """First value of its type: decide how to arm such values, and do it."""
        kind = type(value)
        self.arm_type(kind, armed)
        scan: Callable[[Any, Armed], None] | None
        if kind is FunctionType:
            scan = self._arm_given
        elif kind is MethodType:
            scan = self._arm_method
        elif issubclass(kind, type):
            scan = self.arm_class
        elif issubclass(kind, CONTAINERS_AND_VIEWS):
            scan = self._arm_elements
        elif is_array_type(kind):
            scan = self._arm_array
        elif holds_functions(kind):
            scan = self._arm_held
        else:
            scan = None
        armed.kinds[kind] = scan
        if scan is not None:
            scan(value, armed)

    def _arm_held(self, value: Any, armed: Armed) -> None:
        """`map(f, xs)`, `partial(f)`, an lru_cache wrapper...: the functions held, not elements of held containers."""
        if id(value) in self._visiting:
            return
        self._visiting.add(id(value))
        for held in gc.get_referents(value):
            if type(held) is tuple:
                held = tuple(gc.get_referents(held))  # zip_longest's own has empty (NULL) slots: reading one crashes
            if type(held) is not dict:
                self.arm_shallow(held, armed)
        self._visiting.discard(id(value))

    def _arm_elements(self, container: Iterable[Any], armed: Armed) -> None:
        kinds = armed.kinds
        seen: set[int] = set()
        todo: list[Any] = [container]
        while todo:
            value = todo.pop()
            if id(value) in seen:
                continue
            seen.add(id(value))
            if type(value) not in CONTAINERS_AND_VIEWS:
                self._arm_held(value, armed)  # a defaultdict's factory
            items = elements_of(value)
            if not any(kinds.get(kind, kind) is not None for kind in set(map(type, items))):
                continue
            for item in items:
                scan = kinds.get(type(item), self._scan_of_a_new_kind)
                if scan is None:
                    continue
                if issubclass(type(item), CONTAINERS_AND_VIEWS):
                    self.arm_type(type(item), armed)
                    todo.append(item)
                else:
                    scan(item, armed)

    # -- functions -------------------------------------------------------------------------------------------

    def arm_function(self, fn: FunctionType) -> bool:
        """Gives a function a trampoline, unless it runs natively; whether it has one."""
        code = fn.__code__
        consts = code.co_consts
        if consts and type(consts[-1]) is Entry:
            return True
        trampoline = choice(fn, code, self._policy, self.vm.runs_natively).trampoline
        if trampoline is None:
            return False
        if self._thread is None:
            self._begin()
        self._armed.append(trampoline.co_consts[-1])
        set_code(fn, trampoline)
        return True

    def _arm_given(self, fn: FunctionType, armed: Armed) -> None:
        self.arm_function(fn)

    def disarm(self, fn: FunctionType) -> None:
        """Gives `fn` its own code back (`release` finds that it has no trampoline any more)."""
        if is_trampoline(fn.__code__):
            set_code(fn, original_code(fn.__code__))

    # -- types -----------------------------------------------------------------------------------------------

    def arm_class(self, cls: type, armed: Armed | None = None) -> None:
        """Arms the functions that a class, its bases and its metaclass hold."""
        self.arm_type(cls, armed)
        if type(cls) is not type:
            self.arm_type(type(cls), armed)

    def forget_types(self) -> None:
        """Lets go of every type that was looked at (they are kept alive here); functions stay armed."""
        self.all.clear()
        self.narrowly.clear()
        self._calling_back.clear()

    def forget(self, cls: type) -> None:
        """The class changed (`__bases__`): look at it and its subclasses again."""
        for armed in (self.all, self.narrowly):
            for kind in [k for k in armed.known if cls in (mro_of(k) or ())]:
                del armed.known[kind]
                armed.kinds.pop(kind, None)
                armed.shallow.discard(kind)

    def arm_type(self, kind: type, armed: Armed | None = None) -> bool:
        """Arms what C code may call on an instance; whether the instances are classes, or arrays (`arm_operand`)."""
        armed = armed or self.all
        known = armed.known
        holds = known.get(kind)
        if holds is not None:
            return holds
        calls_back = False
        for base in mro_of(kind) or (kind,):  # a C type that was never readied has no MRO
            if base not in known:
                known[base] = issubclass(base, type) or is_array_type(base)
                if flags_of(base) & HEAP_OR_IMMUTABLE == HEAP_TYPE:
                    if armed is self.all:
                        self._arm_namespace(base)
                    elif not self._arm_protocols(base):
                        self._calling_back.add(base)
            calls_back = calls_back or base in self._calling_back
        if calls_back and armed is not self.all:
            self.arm_type(kind, self.all)
        return known[kind]

    def _arm_protocols(self, cls: type) -> bool:
        """Arms the attributes of one class that C code calls by itself; whether all of these are interpreted."""
        interpreted = True
        for name, value in list(namespace_of(cls).items()):
            kind = type(value)
            if kind is FunctionType or kind is staticmethod or kind is classmethod:
                function = value if kind is FunctionType else value.__func__
                if type(function) is FunctionType and (name in _BY_NAME or name.startswith("__")):
                    interpreted = self.arm_function(function) and interpreted
            elif kind not in HOLD_NO_FUNCTIONS and kind not in CONTAINERS_AND_VIEWS:
                self.arm_attribute(value, self.narrowly)
                for part in (value.fget, value.fset, value.fdel) if kind is property else ():
                    interpreted = interpreted and (type(part) is not FunctionType or is_trampoline(part.__code__))
        return interpreted

    def _arm_namespace(self, cls: type) -> None:
        """Arms the attributes of one class. A function that is known is armed here: there are many."""
        policy, choices, armed = self._policy, CHOICES, self._armed
        for value in list(namespace_of(cls).values()):
            if type(value) is FunctionType:
                known = choices.get(id(value))
                if (
                    known is None
                    or policy is None
                    or known.policy is not policy
                    or known.ref() is not value
                    or known.code is not value.__code__
                    or known.module is not value.__globals__.get("__name__")
                    or self._thread is None
                ):
                    self.arm_function(value)
                elif (trampoline := known.trampoline) is not None:
                    armed.append(trampoline.co_consts[-1])
                    if SWAPS_QUIETLY:
                        value.__code__ = trampoline
                    else:
                        set_code(value, trampoline)
            elif type(value) not in HOLD_NO_FUNCTIONS:
                self.arm_attribute(value)

    def arm_attribute(self, value: Any, armed: Armed | None = None) -> None:
        """Arms a class attribute: a function, the function wrapped by a descriptor, a descriptor's own `__get__`."""
        kind = type(value)
        armed = armed or self.all
        if kind is FunctionType:
            self.arm_function(value)
        elif issubclass(kind, (staticmethod, classmethod, property)):
            for held in gc.get_referents(value):
                if type(held) is FunctionType:
                    self.arm_function(held)
        elif kind not in HOLD_NO_FUNCTIONS and kind not in CONTAINERS_AND_VIEWS:
            if kind not in armed.known:
                self.arm_type(kind, armed)
            if holds_functions(kind):
                self._arm_held(value, armed)
