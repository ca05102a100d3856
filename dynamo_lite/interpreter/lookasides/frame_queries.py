"""Queries of a program about its own frames: sys._getframe, sys.exc_info, warnings.warn, ... (locals: evaluation.py)

CPython's functions look at CPython's frames, which are the interpreter's; these lookasides answer for the program's.
"""

from __future__ import annotations

import builtins
import inspect
import sys
import traceback
import types
import typing
import warnings
import weakref
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any, Final

from dynamo_lite.interpreter import datamodel
from dynamo_lite.interpreter.code.normal_form import VERSION
from dynamo_lite.interpreter.code.sentinels import UNBOUND
from dynamo_lite.interpreter.frames.build_class import build_class, call_super, init_super
from dynamo_lite.interpreter.frames.exceptions import current_exception
from dynamo_lite.interpreter.frames.frame import KEPT, Frame
from dynamo_lite.interpreter.frames.tracebacks import genuine_frame, get_traceback
from dynamo_lite.interpreter.interfaces import VM
from dynamo_lite.interpreter.lookasides import live_locals
from dynamo_lite.interpreter.lookasides.evaluation import EVALUATION, Args, Kwargs


class ProgramFrame:
    """An interpreted frame as the program sees it: what warnings, logging, inspect and traceback read of a frame."""

    __slots__ = ("__weakref__", "_frame", "f_trace")

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self.f_trace = None

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # inspect checks isinstance(frame, types.FrameType)
        return FrameType

    @property
    def f_back(self) -> Any:
        frame = self._frame
        if frame.back is not None:
            return program_frame(frame.back)
        return frame.vm.native_frame if frame.vm.frame is not None else None

    @property
    def f_code(self) -> CodeType:
        return self._frame.code

    @property
    def f_globals(self) -> dict[str, Any]:
        return self._frame.globals

    @property
    def f_builtins(self) -> Any:
        return self._frame.builtins

    @property
    def f_locals(self) -> Any:
        return live_locals.of_frame(self._frame)

    @property
    def f_lineno(self) -> int:
        return self._frame.lineno

    @property
    def f_lasti(self) -> int:
        return self._frame.lasti

    def clear(self) -> None:
        """Forget the local variables of a finished frame."""
        if self._frame.back is not None or self._frame.vm.frame is self._frame:
            raise RuntimeError("cannot clear an executing frame")
        self._frame.locals[:] = [UNBOUND] * len(self._frame.locals)

    def __repr__(self) -> str:
        code = self._frame.code
        return f"<frame at {id(self):#x}, file {code.co_filename!r}, line {self.f_lineno}, code {code.co_name}>"


def program_frame(frame: Frame) -> ProgramFrame:
    """The one ProgramFrame of `frame`."""
    made = None if frame.proxy is None or frame.proxy is KEPT else frame.proxy()
    if made is None:
        made = ProgramFrame(frame)
        frame.proxy = weakref.ref(made)  # weak: a frame is not to keep itself and its variables alive
    return made


def _frames(vm: VM) -> Iterator[Any]:
    """The program's frames, innermost first, then those of the interpreter's caller."""
    frame: Any = None if vm.frame is None else program_frame(vm.frame)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _getframe(vm: VM, args: Args, kwargs: Kwargs) -> Any:
    depth = datamodel.index_(vm, args[0]) if args else 0
    for index, frame in enumerate(_frames(vm)):
        if index >= depth:
            return frame
    raise ValueError("call stack is not deep enough")


def _getframemodulename(vm: VM, args: Args, kwargs: Kwargs) -> Any:
    depth: Any = kwargs.get("depth", args[0] if args else 0)
    for index, frame in enumerate(_frames(vm)):
        if index >= depth:
            return frame.f_globals.get("__name__")
    return None


# ---------------------------------------------------------------------- exceptions, recursion


def _exception(vm: VM, args: Args, kwargs: Kwargs) -> Any:
    return current_exception(vm)


def _exc_info(vm: VM, args: Args, kwargs: Kwargs) -> Any:
    exc = current_exception(vm)
    return (None, None, None) if exc is None else (type(exc), exc, get_traceback(exc))


def _format_exc(vm: VM, args: Args, kwargs: Kwargs) -> str:
    """traceback.format_exc, which may run natively: the exception that is handled is the program's, not CPython's."""
    options = _FORMAT_EXC.bind(*args, **kwargs).arguments
    return "".join(vm.call(traceback.format_exception, (current_exception(vm),), options))


def _print_exc(vm: VM, args: Args, kwargs: Kwargs) -> None:
    options = _PRINT_EXC.bind(*args, **kwargs).arguments
    vm.call(traceback.print_exception, (current_exception(vm),), options)


_FORMAT_EXC: Final = inspect.signature(traceback.format_exc)
_PRINT_EXC: Final = inspect.signature(traceback.print_exc)


def _getrecursionlimit(vm: VM, args: Args, kwargs: Kwargs) -> Any:
    return vm.recursion_limit


def _setrecursionlimit(vm: VM, args: Args, kwargs: Kwargs) -> None:
    limit = datamodel.index_(vm, args[0]) if len(args) == 1 else None
    if limit is None or limit < 1:
        sys.setrecursionlimit(*args, **kwargs)  # raises
    elif vm.depth >= limit:
        raise RecursionError(
            f"cannot set the recursion limit to {limit} at the recursion depth {vm.depth}: the limit is too low"
        )
    else:
        vm.set_recursion_limit(limit)


def _make_traceback(vm: VM, args: Args, kwargs: Kwargs) -> Any:
    """TracebackType(next, frame, lasti, lineno) with a frame that sys._getframe gave the program."""
    given = [*args, *kwargs.values()]
    made: list[Any] = [genuine_frame(x._frame, x.f_lasti) if type(x) is ProgramFrame else x for x in given]
    return types.TracebackType(*made[: len(args)], **dict(zip(kwargs, made[len(args) :])))


# ---------------------------------------------------------------------- warnings


def _is_internal(frame: Any) -> bool:
    filename = frame.f_code.co_filename
    return "importlib" in filename and "_bootstrap" in filename


def _warning_frame(vm: VM, stacklevel: int, skipped: tuple[str, ...]) -> Any:
    """The frame that a warning is attributed to, or None (setup_context in Python/_warnings.c)."""
    frames = _frames(vm)
    frame = next(frames, None)
    internal = stacklevel <= 0 or (frame is not None and _is_internal(frame))
    if skipped:
        stacklevel = max(stacklevel, 2)
    for _ in range(stacklevel - 1):
        frame = next(frames, None)
        while frame is not None and not internal and (
            _is_internal(frame) or frame.f_code.co_filename.startswith(skipped or ("\0",))
        ):
            frame = next(frames, None)
    return frame


def _warn(vm: VM, args: Args, kwargs: Kwargs) -> Any:
    def parameters(message: Any, category: Any = None, stacklevel: Any = 1, source: Any = None, *,
                   skip_file_prefixes: Any = ()) -> tuple[Any, ...]:  # fmt: skip
        return message, category, stacklevel, source, skip_file_prefixes

    try:
        message, category, stacklevel, source, skipped = parameters(*args, **kwargs)
    except TypeError:
        category = 0
    if isinstance(category, int):
        return warnings.warn(*args, **kwargs)  # raises
    if isinstance(message, Warning):
        category = type(message)
    elif category is None:
        category = UserWarning
    if not (isinstance(category, type) and issubclass(category, Warning)):
        raise TypeError(f"category must be a Warning subclass, not '{type(category).__name__}'")
    frame = _warning_frame(vm, stacklevel, skipped)
    if frame is None:
        scope, filename, lineno = vars(sys), "sys" if VERSION < (3, 12) else "<sys>", 1 if VERSION < (3, 12) else 0
    else:
        scope, filename, lineno = frame.f_globals, frame.f_code.co_filename, frame.f_lineno
    registry = scope.setdefault("__warningregistry__", {})
    module = scope.get("__name__", "<string>")
    return vm.trampolines.call(
        warnings.warn_explicit, (message, category, filename, lineno, module, registry), {"source": source}
    )


# ---------------------------------------------------------------------- the table


def _with_module(kind: type) -> Callable[[VM, Args, Kwargs], Any]:
    """From 3.12 on C code notes which module makes a type variable, looking at CPython's frame."""

    def make(vm: VM, args: Args, kwargs: Kwargs) -> Any:
        made = vm.trampolines.call(kind, args, kwargs)
        if vm.frame is not None:
            made.__module__ = vm.frame.globals.get("__name__")
        return made

    return make


OWN_LOOKASIDES: Final[dict[Any, Callable[[VM, Args, Kwargs], Any]]] = {
    super: call_super,
    super.__init__: init_super,
    builtins.__build_class__: build_class,
    **EVALUATION,
    sys._getframe: _getframe,
    sys.exc_info: _exc_info,
    sys.exception: _exception,
    traceback.format_exc: _format_exc,
    traceback.print_exc: _print_exc,
    sys.getrecursionlimit: _getrecursionlimit,
    sys.setrecursionlimit: _setrecursionlimit,
    warnings.warn: _warn,
    types.TracebackType: _make_traceback,
    **live_locals.NATIVE,
}

if VERSION >= (3, 12):
    OWN_LOOKASIDES[sys._getframemodulename] = _getframemodulename  # type: ignore[attr-defined]
    for _kind in (typing.TypeVar, typing.ParamSpec, typing.TypeVarTuple):
        OWN_LOOKASIDES[_kind] = _with_module(_kind)
