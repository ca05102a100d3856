"""Where a jump leads to nothing but `raise`: `if not ok.all(): raise ValueError(...)` is an `assert` in other words.

What the program goes on with is right wherever it does not raise, so the condition becomes an assertion of the program.
Not so where the program itself may catch what is raised: then there are two ways on, and the jump is a branch.
"""

from __future__ import annotations

import contextlib
from typing import Any

from dynamo_lite.interpreter.code.handler_table import HANDLERS
from dynamo_lite.interpreter.frames.generators import suspended_frame

_PROTOCOL = (StopIteration, StopAsyncIteration, AttributeError, LookupError, ImportError)
"""What C code may take for an answer: an attribute that is not there, the end of an iteration."""

_LOADS_CLASS = (HANDLERS["LOAD_GLOBAL"], HANDLERS["LOAD_GLOBAL_CALLEE"])
_MESSAGE = frozenset(
    HANDLERS[name]
    for name in (
        *("LOAD_CONST", "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_DEREF", "LOAD_GLOBAL", "LOAD_GLOBAL_CALLEE"),
        *("LOAD_ATTR", "LOAD_METHOD", "PUSH_NULL", "CALL", "CALL_KW", "FORMAT_VALUE", "CONVERT_VALUE", "BUILD_STRING"),
        *("BUILD_TUPLE", "BUILD_LIST", "BINARY_OP", "BINARY_SUBSCR", "COPY", "SWAP"),
    )
)
_RAISES, _CONSTANT = HANDLERS["RAISE_VARARGS"], HANDLERS["LOAD_CONST"]
_HANDLED, _WITH, _RERAISES = HANDLERS["PUSH_EXC_INFO"], HANDLERS["WITH_EXCEPT_START"], HANDLERS["RERAISE"]
_CLEANS = frozenset(
    HANDLERS[name] for name in ("COPY", "POP_EXCEPT", "SWAP", "POP_TOP", "STORE_FAST", "STOPITERATION_ERROR")
)
"""What runs before an exception is raised again: after a handler, around an inlined comprehension (PEP 709), at the end
of a generator (which turns a StopIteration into a RuntimeError, PEP 479)."""


def raised_at(frame: Any, at: int) -> tuple[type[Exception], str] | None:
    """(the class, a message) of what the instructions from `at` on raise, if they do nothing else."""
    ops = frame.info.ops
    found = _named(frame, ops[at][1]) if at < len(ops) and ops[at][0] in _LOADS_CLASS else None
    if not isinstance(found, type) or not issubclass(found, Exception) or issubclass(found, _PROTOCOL):
        return None
    text = ""
    for handler, arg in ops[at:]:
        if handler is _RAISES:
            return found, f"{found.__name__}: {text or f'raised in {frame.code.co_name}'}"
        if handler not in _MESSAGE:
            return None
        if handler is _CONSTANT and not text and isinstance(arg, str):
            text = arg.strip()
    return None


def _named(frame: Any, name: str) -> Any:
    builtins = frame.builtins if isinstance(frame.builtins, dict) else vars(frame.builtins)
    return frame.globals.get(name, builtins.get(name))


def may_be_caught(frame: Any) -> bool:
    """Whether the program may go on after an exception that is raised where `frame` and its callers are."""
    while frame is not None:
        if _catches(frame):
            return True
        frame = frame.back
    return False


def _catches(frame: Any) -> bool:
    """Whether an exception at the instruction at work may end in this frame."""
    index: int | None = frame.pc - 1
    while index is not None and (handler := frame.info.handler_at(frame.code, index)) is not None:
        index = _raised_again(frame, handler)
    return index is None


def _raised_again(frame: Any, handler: Any) -> int | None:
    """The instruction at which an exception handler that cannot end there raises the exception again; else None."""
    ops, at = frame.info.ops, handler.target
    end = next(i for i in range(at, len(ops)) if ops[i][0] not in _CLEANS)
    if ops[end][0] is _RERAISES:
        return end
    if ops[at][0] is not _HANDLED or ops[at + 1][0] is not _WITH or not _lets_through(frame.stack, handler.depth):
        return None
    return next((i for i in range(at + 2, min(at + 6, len(ops))) if ops[i][0] is _RERAISES), None)


def _lets_through(stack: list[Any], depth: int) -> bool:
    """Whether the context manager of a with-block, whose `__exit__` is on the stack, never ends an exception."""
    manager = getattr(stack[depth - 1], "__self__", None) if 0 < depth <= len(stack) else None
    cls = type(manager)
    if manager is not None and cls is contextlib._GeneratorContextManager:  # the exception goes on at its `yield`
        frame = suspended_frame(manager.gen)
        return frame is not None and not _catches(frame)
    return cls.__module__.partition(".")[0] == "torch"
