"""Whether the program continues after an exception: read off its bytecode and exception tables, without raising one.

`may_be_caught` follows an exception of known classes from the running frame outwards. In each frame it walks the
instructions that the handlers lead to: a handler that can only raise it again (`finally: close()`, `except X: log();
raise`) or raise another whose class is named (`except X as error: raise Y("...") from error`) does not catch it, unless
C code treats that class as a result; one from which a `return`, a `yield` or another `raise` can be reached does. An
undetermined case counts as a catch.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Sequence
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final, NamedTuple

from dynamo_lite.interpreter.code.decode import info_of
from dynamo_lite.interpreter.code.handler_table import HANDLERS
from dynamo_lite.interpreter.code.normal_form import HAS_TARGET
from dynamo_lite.interpreter.code.sentinels import NULL
from dynamo_lite.interpreter.frames.generators import suspended_frame
from dynamo_lite.tracing.vocabulary.asserted_branches import PROTOCOL, named, only_raises

Kinds = frozenset[type[BaseException]]
"""The classes that the exception may have, each exactly; BaseException among them where they are not all known."""

ANY: Final[Kinds] = frozenset({BaseException})


class RaisedAt(NamedTuple):
    """An exception at an instruction. `live`: no handler has ended yet, so the frame's stack is the one there."""

    at: int
    kinds: Kinds
    live: bool


_JUMPS = frozenset(HANDLERS[name] for name in HAS_TARGET)
_ALWAYS_JUMPS, _SENDS = HANDLERS["JUMP"], HANDLERS["SEND"]
_LEAVES = frozenset({HANDLERS["RETURN_VALUE"], HANDLERS["YIELD_VALUE"]})
_RERAISES, _RAISES, _CALL = HANDLERS["RERAISE"], HANDLERS["RAISE_VARARGS"], HANDLERS["CALL"]
_ENDS_HANDLER = HANDLERS["POP_EXCEPT"]
_MATCHES, _JUMPS_IF_NOT = HANDLERS["CHECK_EXC_MATCH"], HANDLERS["POP_JUMP_IF_FALSE"]
_EXITS_CONTEXT = HANDLERS["WITH_EXCEPT_START"]
_STORES = HANDLERS["STORE_FAST"]
_END_ITERATION = frozenset({HANDLERS["CLEANUP_THROW"], HANDLERS["END_ASYNC_FOR"]})
_ENDS_OF_ITERATION: Kinds = frozenset({BaseException, StopIteration, StopAsyncIteration})
_CONSTANT = HANDLERS["LOAD_CONST"]
_QUIET = frozenset(
    HANDLERS[name]
    for name in (
        *("POP_TOP", "PUSH_NULL", "PUSH_EXC_INFO", "POP_EXCEPT", "COPY", "SWAP", "JUMP", "LOAD_CONST", "LOAD_FAST"),
        *("LOAD_GLOBAL", "LOAD_GLOBAL_CALLEE", "STORE_FAST", "DELETE_FAST", "CHECK_EXC_MATCH", "POP_JUMP_IF_NONE"),
        *("POP_JUMP_IF_NOT_NONE", "BUILD_TUPLE", "BUILD_LIST", "LIST_APPEND", "STOPITERATION_ERROR"),
    )
)
"""Instructions that raise nothing of their own on the way through a handler."""
_PASSED = frozenset(
    HANDLERS[name]
    for name in (
        *("POP_TOP", "PUSH_NULL", "PUSH_EXC_INFO", "COPY", "SWAP", "LOAD_CONST", "STORE_FAST", "DELETE_FAST"),
        *("BUILD_LIST", "LIST_APPEND", "STOPITERATION_ERROR"),
    )
)
"""Those of which nothing follows but the next instruction, whatever the exception."""
_TAKEN_BY_C = (*PROTOCOL, TypeError)
"""Exceptions that C code between two frames may end: `hasattr` an AttributeError, `list` a TypeError of `__len__`."""


def may_be_caught(frame: Any, kinds: Kinds = ANY) -> bool:
    """Whether the program may go on after an exception of `kinds` at the current instruction of `frame`."""
    return leaves_as(frame, kinds) is None


def leaves_as(frame: Any, kinds: Kinds = ANY) -> Kinds | None:
    """The classes of what leaves the program after an exception of `kinds` at the current instruction of `frame`;
    None if the program may go on."""
    while frame is not None and kinds:
        if frame.code.co_exceptiontable:
            table, at = frame.info.handler_table, frame.pc - 1
            handler = table[at] if table is not None else frame.info.handler_at(frame.code, at)
            if handler is not None:
                escaping = _known(frame, at, kinds)
                if escaping is None:
                    return None
                kinds = escaping
        frame = frame.back
    return kinds


def _known(frame: Any, at: int, kinds: Kinds) -> Kinds | None:
    """`_escaping`, cached with the code, and with the conditions on the frame that it used: most calls of a model's
    forward are in one `try` of a decorator's."""
    known, key = frame.info.known, (at, kinds)
    found = known.get(key)
    if found is not None:
        escaping, asked = found
        for holds, *what in asked:
            if not holds(frame, *what):
                break
        else:
            return escaping
    asked = []
    escaping = _escaping(frame, kinds, asked)
    if _UNKEPT not in asked:
        known[key] = escaping, asked
    return escaping


def in_handler(frame: Any) -> bool:
    """Whether a handler covers the current instruction of `frame` or of a frame further out. `leaves_as` determines
    whether it catches anything."""
    while frame is not None:
        if frame.code.co_exceptiontable:
            table = frame.info.handler_table
            handler = table[frame.pc - 1] if table is not None else frame.info.handler_at(frame.code, frame.pc - 1)
            if handler is not None:
                return True
        frame = frame.back
    return False


def _escaping(frame: Any, kinds: Kinds, asked: list[Any]) -> Kinds | None:
    """Return the classes of the exceptions that leave `frame` if one of `kinds` is raised in it; None if it may end
    there.

    asked: gets the conditions of the answer: (function, arguments after the frame), each to be true; _UNKEPT for one
    that cannot be compared.
    """
    escaping: Kinds = frozenset()
    raised = [RaisedAt(frame.pc - 1, kinds, True)]
    seen: set[RaisedAt] = set()
    while raised:
        at = raised.pop()
        if at in seen:
            continue
        seen.add(at)
        handler = frame.info.handler_at(frame.code, at.at)
        if handler is None:
            escaping |= at.kinds
            continue
        walk = _HandlerWalk(frame, handler.depth if at.live else None, asked)
        if walk.ends(handler.target, at.kinds, at.live):
            return None
        raised += walk.raised
    return escaping


class _HandlerWalk:
    """The instructions that a handler leads to, along all jumps. `raised`: the exceptions that they raise in turn."""

    def __init__(self, frame: Any, depth: int | None, asked: list[Any]) -> None:
        self.frame = frame
        self.depth = depth
        self._asked = asked
        self.raised: list[RaisedAt] = []
        self._names: set[tuple[Any, Any]] = set()  # what loads the exception by the name that `except` gave it
        self._todo: list[RaisedAt] = []
        self._seen: set[RaisedAt] = set()

    def ends(self, start: int, kinds: Kinds, live: bool) -> bool:
        """Whether a `return` or `yield` can be reached from `start`, where an exception of `kinds` is handled."""
        ops = self.frame.info.ops
        self._todo.append(RaisedAt(start, kinds, live))
        while self._todo:
            here = self._todo.pop()
            at = here.at
            while ops[at][0] in _PASSED:
                at += 1
            if at != here.at:
                here = RaisedAt(at, here.kinds, here.live)
            if here in self._seen:
                continue
            self._seen.add(here)
            if self._step(here):
                return True
        return False

    def _step(self, here: RaisedAt) -> bool:
        ops = self.frame.info.ops
        at, kinds, live = here
        handler, arg = ops[at]
        if handler in _LEAVES:
            return True
        if handler in LOADS and live and self._matched(here):
            return False
        other = self._class_raised(here) if handler in GLOBALS else None
        if other is not None:
            self.raised.append(RaisedAt(at, frozenset({other}), live))
            if not self._message_is_constant(at):
                self.raised.append(RaisedAt(at, ANY, live))
            return False
        if handler is _RAISES and not self._raises_same(at, arg):
            return True
        ends_iteration = handler in _END_ITERATION and not kinds & _ENDS_OF_ITERATION
        if handler is _RERAISES or handler is _RAISES or ends_iteration:
            self.raised.append(here)
        elif handler is _EXITS_CONTEXT:
            return self._exit_context(here)
        elif handler is _ENDS_HANDLER and ops[at + 1][0] is not _RERAISES:
            self._todo.append(RaisedAt(at + 1, ANY, False))
        else:
            if handler not in _QUIET:
                self.raised.append(RaisedAt(at, ANY, live))
            if handler in _JUMPS:
                self._todo.append(RaisedAt(arg[0] if handler is _SENDS else arg, kinds, live))
            if handler is not _ALWAYS_JUMPS:
                self._todo.append(RaisedAt(at + 1, kinds, live))
        return False

    def _class_raised(self, here: RaisedAt) -> type[BaseException] | None:
        """The class of which the instructions from here on raise one, if they do nothing else."""
        name = self.frame.info.ops[here.at][1]
        self._asked.append((_is_named, name, _error_named(self.frame, name)))
        found = only_raises(self.frame, here.at)
        if found is None or (here.kinds != {found[0]} and issubclass(found[0], _TAKEN_BY_C)):
            return None
        return found[0]

    def _message_is_constant(self, at: int) -> bool:
        """Whether the exception raised from `at` on is made by one call of its class, of constants and variables."""
        calls = 0
        for handler, _ in self.frame.info.ops[at:]:
            if handler is _RAISES:
                return calls <= 1
            calls += handler is _CALL
            if handler is not _CALL and handler not in _QUIET:
                return False
        return False

    def _raises_same(self, at: int, count: int) -> bool:
        """Whether `raise` at `at` raises the exception that is handled: `raise`, or `raise error` of its own name."""
        return count == 0 or (count == 1 and self.frame.info.ops[at - 1] in self._names)

    def _matched(self, here: RaisedAt) -> bool:
        """Takes the ways on of an `except kind` that begins here; False if none does, or its classes are unclear."""
        ops = self.frame.info.ops
        start, kinds, live = here
        at = start
        while ops[at][0] in LOADS:
            at += 1
        if ops[at][0] is not _MATCHES or ops[at + 1][0] is not _JUMPS_IF_NOT:
            return False
        wanted = classes_of(self.frame, ops[start:at])
        self._asked.append((_are_classes, ops[start:at], wanted))
        if wanted is None:
            return False
        unknown = kinds & {BaseException}
        matching = frozenset(kind for kind in kinds if issubclass(kind, wanted))
        if matching or unknown:
            if ops[at + 2][0] is _STORES:
                self._names.add((FAST, ops[at + 2][1]))
            self._todo.append(RaisedAt(at + 2, matching | unknown, live))
        if kinds - matching:
            self._todo.append(RaisedAt(ops[at + 1][1], (kinds - matching), live))
        return True

    def _exit_context(self, here: RaisedAt) -> bool:
        """The end of a with-block: its context manager may end the exception, or raise another."""
        at, kinds, live = here
        stack = self.frame.stack
        if not live or self.depth is None or not 0 < self.depth <= len(stack):
            self._asked.append(_UNKEPT)
            return True
        index = self.depth - 2 if stack[self.depth - 1] is NULL else self.depth - 1  # NULL: Python 3.14
        exit_ = stack[index]
        self._asked.append((_exits, index, type(exit_.__self__)) if _is_silent(exit_) else _UNKEPT)
        left = _after_exit(exit_, kinds)
        if left is None:
            return True
        if left:
            self.raised.append(RaisedAt(at, left, live))
        return False


_UNKEPT: Final = (None,)
"""A condition of an answer that a later call could not compare."""


def _is_named(frame: Any, name: str, error: type[Exception] | None) -> bool:
    return _error_named(frame, name) is error


def _error_named(frame: Any, name: str) -> type[Exception] | None:
    """The class of exceptions that `name` is; None for anything else, which is not kept alive."""
    found = named(frame, name)
    return found if isinstance(found, type) and issubclass(found, Exception) else None


def _are_classes(frame: Any, loads: Sequence[tuple[Any, Any]], wanted: tuple[type, ...] | None) -> bool:
    return classes_of(frame, loads) == wanted


def _exits(frame: Any, index: int, manager: type) -> bool:
    exit_: Any = frame.stack[index] if index < len(frame.stack) else None
    return _is_silent(exit_) and type(exit_.__self__) is manager


# -- except kind ------------------------------------------------------------------------------------------------------


# -- with ... as ------------------------------------------------------------------------------------------------------

_SILENT_MODULES = frozenset(
    {"_thread", "_io", "_contextvars", "mmap", "threading", "warnings", "_py_warnings", "torch"}
)
"""Modules none of whose context managers ends an exception."""


def _is_silent(exit_: Any) -> bool:
    """Whether this is `__exit__` of a context manager of _SILENT_MODULES."""
    manager = getattr(exit_, "__self__", None)
    cls = type(manager)
    return manager is not None and cls not in _OF_OTHERS and cls.__module__.partition(".")[0] in _SILENT_MODULES


_OF_OTHERS = (contextlib._GeneratorContextManager, contextlib.suppress, contextlib.ExitStack)


def _after_exit(exit_: Any, kinds: Kinds) -> Kinds | None:
    """The classes that come through a context manager's `__exit__` (bound); None if it may end the exception."""
    manager, function = getattr(exit_, "__self__", None), getattr(exit_, "__func__", None)
    if manager is None:
        return None
    cls = type(manager)
    if cls is contextlib._GeneratorContextManager:  # the exception goes on at its `yield`
        return _after_generator(manager.gen, kinds)
    if cls is contextlib.suppress:
        wanted = flat(manager._exceptions)
        ends = wanted is None or BaseException in kinds or any(issubclass(kind, wanted) for kind in kinds)
        return None if ends and wanted != () else kinds
    if cls is contextlib.ExitStack:
        return _after_stack(manager, kinds)
    if cls.__module__.partition(".")[0] in _SILENT_MODULES:
        return kinds
    if type(exit_) is MethodType and type(function) is FunctionType:
        return _after_function(function.__code__, kinds)
    return None


def _after_generator(generator: Any, kinds: Kinds) -> Kinds | None:
    frame = suspended_frame(generator)
    if frame is not None:
        return _escaping(frame, kinds, [])
    native = getattr(generator, "gi_frame", None)
    of_torch = native is not None and str(native.f_globals.get("__name__")).partition(".")[0] == "torch"
    return kinds if of_torch else None


def _after_stack(stack: contextlib.ExitStack[Any], kinds: Kinds) -> Kinds | None:
    left: Kinds | None = kinds
    for _, callback in reversed(stack._exit_callbacks):  # type: ignore[attr-defined]
        if left is not None and type(callback) is MethodType:  # of a context manager; others were given to callback()
            left = _after_exit(callback, left)
    return left


def _after_function(code: CodeType, kinds: Kinds) -> Kinds | None:
    """An `__exit__` that returns nothing but None and False, and raises nothing, lets exceptions through."""
    ops = info_of(code).ops
    targets = {arg for handler, arg in ops if handler in _JUMPS and handler is not _SENDS}
    for at, (handler, _) in enumerate(ops):
        if handler in _LEAVES:
            constant, value = ops[at - 1]
            if constant is not _CONSTANT or value or at in targets:
                return None
    return None if any(handler is _RAISES for handler, _ in ops) else kinds


# The classes that an `except` clause names, read off the instructions that load them.

GLOBALS = frozenset({HANDLERS["LOAD_GLOBAL"], HANDLERS["LOAD_GLOBAL_CALLEE"], HANDLERS["LOAD_NAME"]})
FAST, _DEREF, _ATTRIBUTE = HANDLERS["LOAD_FAST"], HANDLERS["LOAD_DEREF"], HANDLERS["LOAD_ATTR"]
_TUPLE = HANDLERS["BUILD_TUPLE"]
LOADS = GLOBALS | {FAST, _DEREF, _ATTRIBUTE, _TUPLE}


class _Unclear(Exception):
    """The classes of an `except` are not determined by names and attributes of modules alone."""


def classes_of(frame: Any, loads: Sequence[tuple[Any, Any]]) -> tuple[type, ...] | None:
    """Return the classes that these instructions load for `CHECK_EXC_MATCH`; None if they cannot be determined."""
    stack: list[Any] = []
    try:
        for handler, arg in loads:
            if handler is _TUPLE:
                stack[len(stack) - arg :] = [tuple(stack[len(stack) - arg :])]
            elif handler is _ATTRIBUTE:
                stack.append(_attribute(stack.pop(), arg))
            elif handler in GLOBALS:
                stack.append(_global(frame, arg))
            else:
                value = frame.locals[arg]
                stack.append(value.cell_contents if type(value) is CellType else value)
    except (_Unclear, IndexError, ValueError):
        return None
    return flat(stack[0]) if len(stack) == 1 else None


def flat(kind: Any) -> tuple[type, ...] | None:
    if type(kind) is not tuple:
        return (kind,) if isinstance(kind, type) and type(kind) is type else None
    parts = [flat(part) for part in kind]
    return None if None in parts else tuple(cls for part in parts for cls in part or ())


def _global(frame: Any, name: str) -> Any:
    builtins = frame.builtins if isinstance(frame.builtins, dict) else vars(frame.builtins)
    for names in (frame.namespace, frame.globals, builtins):
        if type(names) is dict and name in names:
            return names[name]
    raise _Unclear


def _attribute(owner: Any, name: str) -> Any:
    found = inspect.getattr_static(owner, name, None) if isinstance(owner, type | ModuleType) else None
    if not isinstance(found, type | ModuleType):
        raise _Unclear
    return found
