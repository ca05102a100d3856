"""Trampolines: how C code that calls Python back stays inside the interpreter.

`sorted(key=f)`, a dict lookup that meets a user `__eq__`, `a + b` with `__radd__`, a property, the `__set_name__` that
`type.__new__` calls: each time C code calls a Python function. Instead of a copy of each such C function in Python, the
*Python function* gets a trampoline. During a run, its `__code__` is swapped for a trampoline with the same signature,
whose body is one call back into `vm.call`. So CPython's own C code still determines the function called, the time and
the number of calls, and only the callee is interpreted.

* A function is *armed* (gets its trampoline) when it, or an object that leads to it, is about to be handed to C code.
* Trampolines are *open* only during a native call made by the interpreted program. While the interpreter itself
  runs they are closed, and an armed function that our own Python happens to call (for example an `Enum.__hash__`) just
  runs.
* `Trampolines.release()` gives each function its own code back.

Only `__code__` of the function is written; `original_code` returns the original to the program, which never sees a
trampoline.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from dynamo_lite.interpreter.datamodel.arming import Arming
from dynamo_lite.interpreter.datamodel.c_types import NARROW, NEW, SHALLOW
from dynamo_lite.value_types import C_FUNCTIONS, HOLD_NO_FUNCTIONS


class Trampolines(Arming):
    """The trampolines of one interpreter: which functions and types are armed, and whether trampolines are open."""

    def __init__(self, vm: Any) -> None:
        super().__init__(vm)
        self.open = False
        self.entered: FunctionType | None = None
        """The last function that C code has called back."""

    def call(
        self,
        fn: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        key: Any = None,
        full_args: tuple[Any, ...] | None = None,
    ) -> Any:
        """Calls the C callable `fn` natively; its callbacks are interpreted.

        For a bound method of a C type, `key` is the type's descriptor and `full_args` begin with the instance.
        """
        if key is None:
            key = fn
        operands = args if full_args is None else full_args
        is_plain = type(key) in C_FUNCTIONS or type(key) is type
        armed = self.narrowly if is_plain and key in NARROW and (not kwargs or key in NEW) else self.all
        if is_plain and key in SHALLOW:
            shallow = armed.shallow
            for arg in operands:
                if type(arg) not in HOLD_NO_FUNCTIONS and type(arg) not in shallow:
                    self.arm_shallow(arg, armed)
        else:
            kinds, known = armed.kinds, armed.known
            for arg in (key, *operands):
                if type(arg) is type and arg in known:
                    continue  # a class that is armed
                if (scan := kinds.get(type(arg), self._scan_of_a_new_kind)) is not None:
                    scan(arg, armed)
        was = self.open
        self.open = True
        try:
            if kwargs:
                for value in kwargs.values():
                    self.arm(value, armed)
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

    def apply(self, operation: Callable[..., Any], *operands: Any) -> Any:
        """A built-in operation on operands whose elements it may use (`==`, `%` of str, `in` a list, repr)."""
        armed = self.narrowly
        for operand in operands:
            if (scan := armed.kinds.get(type(operand), self._scan_of_a_new_kind)) is not None:
                scan(operand, armed)
        was = self.open
        self.open = True
        try:
            return operation(*operands)
        finally:
            self.open = was

    def apply_shallow(self, operation: Callable[..., Any], *operands: Any) -> Any:
        """A built-in operation that uses only its operands (`+`, indexing, attribute access), not their contents."""
        armed = self.narrowly
        for operand in operands:
            holds = armed.known.get(type(operand))
            if holds is None:
                holds = self.arm_type(type(operand), armed)
            if holds:
                self.arm_operand(operand, armed)
        was = self.open
        self.open = True
        try:
            return operation(*operands)
        finally:
            self.open = was
