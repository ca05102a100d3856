"""Arguments to fast locals.

The common call (as many positional arguments as parameters, nothing else) needs no work. For every other one CPython
itself binds: a *binder* is the function's signature with a body that returns its arguments as a tuple, so defaults,
*args, **kwargs and each TypeError, word for word, are those of the running Python.
"""

from __future__ import annotations

import inspect
from types import CodeType, FunctionType
from typing import Any

from dynamo_lite.interpreter.code.decode import CodeInfo
from dynamo_lite.interpreter.code.sentinels import STUB
from dynamo_lite.interpreter.frames.tracebacks import assemble, no_lines

_SIGNATURE_FLAGS = inspect.CO_OPTIMIZED | inspect.CO_NEWLOCALS | inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def _binder_code(code: CodeType, count: int) -> CodeType:
    loads = tuple(("LOAD_FAST", index) for index in range(count))
    content = assemble(("RESUME", 0), *loads, ("BUILD_TUPLE", count), ("RETURN_VALUE", 0))
    return code.replace(
        co_code=content, co_linetable=no_lines(len(content) // 2), co_exceptiontable=b"", co_freevars=(),
        co_cellvars=(), co_consts=(STUB,), co_flags=code.co_flags & _SIGNATURE_FLAGS, co_stacksize=count + 2,
    )  # fmt: skip


def bind(
    fn: FunctionType, code: CodeType, info: CodeInfo, args: tuple[Any, ...], kwargs: dict[str, Any] | None
) -> list[Any]:
    """The fast locals with which a frame of `fn` starts. Raises CPython's TypeError when the arguments do not fit."""
    if not kwargs and len(args) == info.plain_count:
        values = args
    else:
        if info.binder is None:
            info.binder = _binder_code(code, info.argument_count)
        binder = FunctionType(info.binder, {}, fn.__name__, fn.__defaults__)
        binder.__kwdefaults__ = fn.__kwdefaults__
        binder.__qualname__ = fn.__qualname__
        values = binder(*args, **kwargs) if kwargs else binder(*args)
    closure = fn.__closure__
    if closure is None:
        return [*values, *info.padding]
    return [*values, *info.padding, *closure]
