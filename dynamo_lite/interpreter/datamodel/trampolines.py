"""Trampolines: how C code that calls Python back stays inside the interpreter.

`sorted(key=f)`, a dict lookup that meets a user `__eq__`, `a + b` with `__radd__`, a property, the
`__set_name__` that `type.__new__` calls: each time C code calls a Python function. Instead of a copy of each
such C function in Python, the *Python function* gets a trampoline. While a run lasts, its `__code__` is swapped for a
trampoline with the same signature, whose body is one call back into `vm.call`. So CPython's own C code keeps
deciding what is called, when and how often, and only what it calls is interpreted.

* A function is *armed* (gets its trampoline) when it, or an object that leads to it, is about to be handed to C code.
* Trampolines are *open* only while a native call made by the interpreted program lasts. While the interpreter itself
  runs they are closed, and an armed function that our own Python happens to call (an `Enum.__hash__`, say) just runs.
* `Trampolines.release()` gives each function its own code back.

Nothing is written into the function but `__code__`; `original_code` answers for the program, which never sees a
trampoline.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable
from threading import get_ident
from types import FunctionType, MethodType
from typing import Any

from dynamo_lite.interpreter.code.type_flags import HEAP_OR_IMMUTABLE, HEAP_TYPE
from dynamo_lite.interpreter.code.type_members import flags_of, mro_of, namespace_of
from dynamo_lite.interpreter.datamodel.c_types import (
    ATOMS,
    CONTAINERS,
    PLAIN_CALLABLES,
    SHALLOW,
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


class Trampolines:
    """The trampolines of one interpreter: which functions and types are armed, and whether trampolines are open."""

    __slots__ = ("_armed", "_kinds", "_policy", "_shallow", "_thread", "_visiting", "entered", "known", "open", "vm")

    def __init__(self, vm: Any) -> None:
        self.vm = vm
        self.open = False
        self.entered: FunctionType | None = None
        """What C code has called back last."""
        self._thread: int | None = None
        self._armed: list[Entry] = []
        self.known: dict[type, bool] = {}
        self._kinds: dict[type, Callable[[Any], None] | None] = dict.fromkeys(ATOMS)
        self._shallow: set[type] = set()  # types whose instances `arm_shallow` finds nothing in
        self._policy = getattr(getattr(vm, "observer", None), "policy", None)
        self._visiting: set[int] = set()

    def follow(self, policy: Any) -> None:
        """The observer decides by another `policy` from now on which functions run natively."""
        self._policy = policy

    # -- native calls ---------------------------------------------------------------------------------------

    def call(
        self,
        fn: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        key: Any = None,
        full_args: tuple[Any, ...] | None = None,
    ) -> Any:
        """Calls the C callable `fn` natively; what it calls back is interpreted.

        For a bound method of a C type, `key` is the type's descriptor and `full_args` begin with the instance.
        """
        if key is None:
            key = fn
        operands = args if full_args is None else full_args
        if type(key) in PLAIN_CALLABLES and key in SHALLOW:
            shallow = self._shallow
            for arg in operands:
                if type(arg) not in ATOMS and type(arg) not in shallow:
                    self.arm_shallow(arg)
        else:
            kinds, known = self._kinds, self.known
            for arg in (key, *operands):
                if type(arg) is type and arg in known:
                    continue  # a class that is armed
                if (scan := kinds.get(type(arg), self._scan_of_a_new_kind)) is not None:
                    scan(arg)
        was = self.open
        self.open = True
        try:
            if kwargs:
                for value in kwargs.values():
                    self.arm(value)
                return fn(*args, **kwargs)
            return fn(*args)
        finally:
            self.open = was

    def enter(self, fn: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any:
        """C code came through a trampoline: `fn` is interpreted."""
        was = self.open
        self.open = False
        self.entered = fn
        try:
            result = self.vm.call(fn, args, kwargs)
            given = self.vm.on_native_result
            return result if given is None else given(fn, result)
        finally:
            self.open = was

    def release(self) -> None:
        """Gives every armed function its own code back and forgets what was cached."""
        armed, self._armed = self._armed, []
        for entry in armed:
            fn = entry.ref()
            if fn is not None and (consts := fn.__code__.co_consts) and consts[-1] is entry:
                if SWAPS_QUIETLY:
                    fn.__code__ = entry.code
                else:
                    set_code(fn, entry.code)
        self.forget_types()
        if self._thread is not None:
            active[self._thread].remove(self)
            self._thread = None

    def apply(self, operation: Callable[..., Any], *operands: Any) -> Any:
        """A built-in operation on operands whose elements it may use (`==`, `%` of str, `in` a list, repr)."""
        kinds = self._kinds
        for operand in operands:
            if (scan := kinds.get(type(operand), self._scan_of_a_new_kind)) is not None:
                scan(operand)
        was = self.open
        self.open = True
        try:
            return operation(*operands)
        finally:
            self.open = was

    def apply_shallow(self, operation: Callable[..., Any], *operands: Any) -> Any:
        """A built-in operation that uses its operands only (`+`, indexing, attribute access), not what they contain."""
        known = self.known
        for operand in operands:
            holds = known.get(type(operand))
            if holds is None:
                holds = self.arm_type(type(operand))
            if holds:
                self.arm_operand(operand)
        was = self.open
        self.open = True
        try:
            return operation(*operands)
        finally:
            self.open = was

    # -- arming -----------------------------------------------------------------------------------------------

    def arm(self, value: Any) -> None:
        """Arms whatever Python functions C code may call when handed `value`, elements of containers included."""
        scan = self._kinds.get(type(value), self._scan_of_a_new_kind)
        if scan is not None:
            scan(value)

    def arm_shallow(self, value: Any) -> None:
        """Arms `value`'s type, and `value` if it is a function or class; not what a container holds."""
        kind = type(value)
        if kind not in self.known:
            self.arm_type(kind)
        if kind is tuple or kind is frozenset:
            self.arm(value)  # a key: its hash is made of those of its elements
        elif kind in SHALLOW_KINDS or issubclass(kind, CONTAINERS):
            self._shallow.add(kind)
        else:
            self.arm(value)
            if self._kinds[kind] is None:
                self._shallow.add(kind)

    def arm_function(self, fn: FunctionType) -> None:
        code = fn.__code__
        consts = code.co_consts
        if consts and type(consts[-1]) is Entry:
            return
        trampoline = choice(fn, code, self._policy, self.vm.runs_natively).trampoline
        if trampoline is not None:
            if self._thread is None:
                self._begin()
            self._armed.append(trampoline.co_consts[-1])
            set_code(fn, trampoline)

    def _begin(self) -> None:
        """The first trampoline of the run."""
        self._thread = get_ident()
        active.setdefault(self._thread, []).append(self)

    def disarm(self, fn: FunctionType) -> None:
        """Gives `fn` its own code back (`release` finds that it has no trampoline any more)."""
        if is_trampoline(fn.__code__):
            set_code(fn, original_code(fn.__code__))

    def arm_unprompted(self, callback: Any) -> None:
        """Arms a callback that is called whenever an object dies (weakref.ref), also while trampolines are closed."""
        self.arm(callback)
        function = callback.__func__ if type(callback) is MethodType else callback
        if type(function) is not FunctionType:
            spaces = map(vars, mro_of(type(function)))
            function = next((space["__call__"] for space in spaces if "__call__" in space), None)
        if type(function) is FunctionType and is_trampoline(function.__code__):
            function.__code__.co_consts[-1].unprompted = True

    def arm_operand(self, value: Any) -> None:
        """Arms what an operator may call for a class (see `arm_class`), or for a numpy array that holds objects."""
        if issubclass(type(value), type):
            self.arm_class(value)
        else:
            self._arm_array(value)

    def _arm_array(self, array: Any) -> None:
        """A numpy array that holds objects: numpy's functions and operators call theirs."""
        ndarray: Any = sys.modules["numpy"].ndarray  # past the overrides of subclasses
        if ndarray.dtype.__get__(array).hasobject and id(array) not in self._visiting:
            self._visiting.add(id(array))
            self.arm([ndarray.tolist(array)])
            self._visiting.discard(id(array))

    def arm_class(self, cls: type) -> None:
        """Arms the functions that a class, its bases and its metaclass hold."""
        self.arm_type(cls)
        if type(cls) is not type:
            self.arm_type(type(cls))

    def forget_types(self) -> None:
        """Lets go of every type that was looked at (they are kept alive here); functions stay armed."""
        self.known.clear()
        self._shallow.clear()
        self._kinds = dict.fromkeys(ATOMS)

    def forget(self, cls: type) -> None:
        """The class changed (`__bases__`): look at it and its subclasses again."""
        for kind in [k for k in self.known if cls in (mro_of(k) or ())]:
            del self.known[kind]
            self._kinds.pop(kind, None)
            self._shallow.discard(kind)

    def arm_type(self, kind: type) -> bool:
        """Arms what C code may call on an instance; whether the instances are classes, or arrays (`arm_operand`)."""
        known = self.known
        holds = known.get(kind)
        if holds is not None:
            return holds
        for base in mro_of(kind) or (kind,):  # a C type that was never readied has no MRO
            if base not in known:
                known[base] = issubclass(base, type) or is_array_type(base)
                if flags_of(base) & HEAP_OR_IMMUTABLE == HEAP_TYPE:
                    self._arm_namespace(base)
        return known[kind]

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
            elif type(value) not in ATOMS:
                self.arm_attribute(value)

    def arm_attribute(self, value: Any) -> None:
        """Arms a class attribute: a function, what a descriptor wraps, a descriptor's own `__get__`."""
        kind = type(value)
        if kind is FunctionType:
            self.arm_function(value)
        elif issubclass(kind, (staticmethod, classmethod, property)):
            for held in gc.get_referents(value):
                if type(held) is FunctionType:
                    self.arm_function(held)
        elif kind not in ATOMS and kind not in CONTAINERS:
            if kind not in self.known:
                self.arm_type(kind)
            if holds_functions(kind):
                self._arm_held(value)

    def _arm_method(self, method: MethodType) -> None:
        self.arm(method.__func__)
        self.arm_shallow(method.__self__)

    def _scan_of_a_new_kind(self, value: Any) -> None:
        """First value of its type: decide how to arm such values, and do it."""
        kind = type(value)
        self.arm_type(kind)
        scan: Callable[[Any], None] | None
        if kind is FunctionType:
            scan = self.arm_function
        elif kind is MethodType:
            scan = self._arm_method
        elif issubclass(kind, type):
            scan = self.arm_class
        elif issubclass(kind, CONTAINERS):
            scan = self._arm_elements
        elif is_array_type(kind):
            scan = self._arm_array
        elif holds_functions(kind):
            scan = self._arm_held
        else:
            scan = None
        self._kinds[kind] = scan
        if scan is not None:
            scan(value)

    def _arm_held(self, value: Any) -> None:
        """`map(f, xs)`, `partial(f)`, an lru_cache wrapper...: the functions held, not elements of held containers."""
        if id(value) in self._visiting:
            return
        self._visiting.add(id(value))
        for held in gc.get_referents(value):
            if type(held) is tuple:
                held = tuple(gc.get_referents(held))  # zip_longest's own has empty (NULL) slots: reading one crashes
            if type(held) is not dict:
                self.arm_shallow(held)
        self._visiting.discard(id(value))

    def _arm_elements(self, container: Iterable[Any]) -> None:
        kinds = self._kinds
        seen: set[int] = set()
        todo: list[Any] = [container]
        while todo:
            value = todo.pop()
            if id(value) in seen:
                continue
            seen.add(id(value))
            if type(value) not in CONTAINERS:
                self._arm_held(value)  # a defaultdict's factory
            items = elements_of(value)
            if not any(kinds.get(kind, kind) is not None for kind in set(map(type, items))):
                continue
            for item in items:
                scan = kinds.get(type(item), self._scan_of_a_new_kind)
                if scan is None:
                    continue
                if issubclass(type(item), CONTAINERS):
                    self.arm_type(type(item))
                    todo.append(item)
                else:
                    scan(item)
