"""The code object that a function has while it is armed: one call back into the interpreter (trampolines.py)."""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
import weakref
from threading import get_ident
from types import CodeType, FunctionType
from typing import Any

_GENERATOR_FLAGS = (
    inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE
)
active: dict[int, list[Any]] = {}
"""The active Trampolines in each thread, innermost last."""
_copying: list[CodeType] = []  # innermost last; code that runs natively is being given a function of its own


_LOOK_UP = frozenset({"dynamo_lite.interpreter.datamodel.protocols", "dynamo_lite.interpreter.opcodes.building"})
"""The files that use a key or a member for the program, without opening the trampolines where it is an atom."""


def _is_asked_by_tables(fn: FunctionType, args: tuple[Any, ...]) -> bool:
    """Whether `fn` is the `__hash__` or `__eq__` of its first argument, which a dict or set calls."""
    kind: Any = type(args[0]) if args else object
    return fn is kind.__hash__ or fn is kind.__eq__


class Entry:
    """The constant that a trampoline calls: leads to `vm.call`, or to the function's own code when they are closed."""

    __slots__ = ("code", "positional", "ref", "simple", "unprompted")

    def __init__(self, fn: FunctionType, code: CodeType) -> None:
        self.ref = weakref.ref(fn)  # weak: code objects take no part in garbage collection
        self.code = code
        self.positional = code.co_argcount
        self.unprompted = fn.__name__ == "__del__"  # called whenever an object dies: no native call need be under way
        self.simple = not (code.co_kwonlyargcount or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS))

    def __call__(self, *slots: Any) -> Any:
        fn = self.ref()
        assert fn is not None  # its frame is running
        args, kwargs = (slots, None) if self.simple else self._arguments(slots)
        running = active.get(get_ident())
        if running and (running[-1].open or self.unprompted):
            allowed = running[-1].vm.enters_by_trampoline
            if allowed is None or allowed(fn):
                return running[-1].enter(fn, args, kwargs)
        elif running and _is_asked_by_tables(fn, args):
            if sys._getframe(2).f_globals.get("__name__") in _LOOK_UP and not isinstance(args[0], type):
                return running[-1].enter(fn, args, kwargs)
            if running[-1].vm.call_aside is not None:
                return running[-1].vm.call_aside(fn, args)
        if _copying and slots and type(slots[0]) is str and slots[0] == "function.__new__":
            return None  # an audit hook, called for the copy that is being made: not an event of the program
        return self.pristine(fn)(*args, **(kwargs or {}))

    def _arguments(self, slots: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any] | None]:
        code, at = self.code, self.positional
        args = slots[:at]
        kwargs = dict(zip(code.co_varnames[at : at + code.co_kwonlyargcount], slots[at:]))
        at += code.co_kwonlyargcount
        if code.co_flags & inspect.CO_VARARGS:
            args += slots[at]
            at += 1
        if code.co_flags & inspect.CO_VARKEYWORDS:
            kwargs.update(slots[at])
        return args, kwargs or None

    def pristine(self, fn: FunctionType) -> FunctionType:
        """The same function with its own code, for callers that are not the interpreted program.

        It has no defaults, as every argument is bound already (and reading them would raise an audit event).
        """
        _copying.append(self.code)
        try:
            copy = FunctionType(self.code, fn.__globals__, fn.__name__, None, fn.__closure__)
        finally:
            _copying.pop()
        copy.__qualname__ = fn.__qualname__
        return copy


@functools.cache
def _template(slots: int) -> tuple[CodeType, tuple[Any, ...]]:
    """A trampoline with so many parameters, and its constants except for the last, which is the Entry."""
    names = ", ".join(f"p{i}" for i in range(slots))
    namespace: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 'str' object is not callable: the constant is replaced by the trampoline
        exec(f"def trampoline({names}): return 'trampoline'({names})", namespace)
    code = namespace["trampoline"].__code__
    return code, tuple([None if const == "trampoline" else const for const in code.co_consts[:-1]])


def trampoline_code(fn: FunctionType) -> CodeType:
    """`fn`'s code with the body `return <Entry>(<all parameters>)`: CPython binds the arguments as it does for `fn`."""
    code = fn.__code__
    flags = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    slots = code.co_argcount + code.co_kwonlyargcount + flags.bit_count()
    template, consts = _template(slots)
    entry = Entry(fn, code)
    return code.replace(
        co_code=template.co_code,
        co_consts=(*consts, entry),
        co_stacksize=template.co_stacksize,
        co_flags=code.co_flags & ~_GENERATOR_FLAGS,
        co_cellvars=(),
        co_nlocals=slots,
        co_varnames=code.co_varnames[:slots],
        co_names=(),
        co_linetable=template.co_linetable,
        co_exceptiontable=b"",
    )


def is_trampoline(code: CodeType) -> bool:
    """Whether `code` is a trampoline (its frames are not the program's)."""
    consts = code.co_consts
    return bool(consts) and type(consts[-1]) is Entry


def original_code(code: CodeType) -> CodeType:
    """The program's code for a code object that may be a trampoline."""
    consts = code.co_consts
    if consts and type(consts[-1]) is Entry:
        return consts[-1].code
    return code


SWAPS_QUIETLY = sys.version_info < (3, 13)


def set_code(fn: FunctionType, code: CodeType) -> None:
    if not SWAPS_QUIETLY and (fn.__code__.co_flags ^ code.co_flags) & _GENERATOR_FLAGS:
        with warnings.catch_warnings():  # 3.13 deprecates swapping a generator's code for a plain function's
            warnings.simplefilter("ignore", DeprecationWarning)
            fn.__code__ = code
    else:
        fn.__code__ = code
