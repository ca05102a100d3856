"""What a program may ask about its own frames: sys._getframe, locals(), eval, exec, sys.exc_info, warnings.warn, ...

CPython's functions look at CPython's frames, which are the interpreter's; these lookasides answer for the program's.
"""

from __future__ import annotations
import __future__

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
from dynamo_lite.interpreter.code.decode import PLAIN, info_of
from dynamo_lite.interpreter.code.normal_form import VERSION
from dynamo_lite.interpreter.code.sentinels import MISSING, UNBOUND
from dynamo_lite.interpreter.frames.build_class import build_class, call_super, init_super
from dynamo_lite.interpreter.frames.exceptions import current_exception
from dynamo_lite.interpreter.frames.frame import KEPT, Frame
from dynamo_lite.interpreter.frames.generators import make_generator
from dynamo_lite.interpreter.frames.tracebacks import genuine_frame, get_traceback
from dynamo_lite.interpreter.interfaces import VM

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


class ProgramFrame:
    """An interpreted frame as the program sees it: what warnings, logging, inspect and traceback read of a frame."""

    __slots__ = ("__weakref__", "_frame", "f_trace")

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self.f_trace = None

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # inspect asks isinstance(frame, types.FrameType)
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
        return frame_locals(self._frame)

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
    """The program's frames, innermost first, then those of whoever called the interpreter."""
    frame: Any = None if vm.frame is None else program_frame(vm.frame)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _this(vm: VM, what: str) -> Frame:
    if vm.frame is None:
        raise SystemError(f"{what}: no frame")
    return vm.frame


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


# ---------------------------------------------------------------------- namespaces


def frame_locals(frame: Frame) -> Any:
    """locals(): a class body's or module's namespace; a function's fresh dict (PEP 667), before 3.13 the same one."""
    if frame.namespace is not None:
        hidden = frame.inlined_locals()
        return {**frame.namespace, **hidden} if hidden else frame.namespace
    if frame.unmerged and frame.vm.on_unbound is not None:
        frame.vm.on_unbound(frame, -1)
    found = frame.f_locals()
    if VERSION >= (3, 13):
        return found
    if frame.snapshot is None:
        frame.snapshot = found
        return found
    for name in frame.info.names:
        if name not in found:
            frame.snapshot.pop(name, None)
    frame.snapshot.update(found)
    return frame.snapshot


def _locals(vm: VM, args: Args, kwargs: Kwargs) -> Any:
    return frame_locals(_this(vm, "locals()")) if not args and not kwargs else locals(*args, **kwargs)


def _globals(vm: VM, args: Args, kwargs: Kwargs) -> Any:
    return _this(vm, "globals()").globals if not args and not kwargs else globals(*args, **kwargs)


def _vars(vm: VM, args: Args, kwargs: Kwargs) -> Any:
    if kwargs or len(args) > 1:
        return vm.trampolines.call(vars, args, kwargs)
    if not args:
        return frame_locals(_this(vm, "vars()"))
    found = vm.getattr(args[0], "__dict__", MISSING)
    if found is MISSING:
        raise TypeError("vars() argument must have __dict__ attribute")
    return found


def _dir(vm: VM, args: Args, kwargs: Kwargs) -> Any:
    if args or kwargs:
        return vm.trampolines.call(dir, args, kwargs)
    return sorted(frame_locals(_this(vm, "dir()")))


# ---------------------------------------------------------------------- compile, eval, exec

_FUTURE: Final = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names
                     if name not in ("nested_scopes", "generators", "with_statement"))  # fmt: skip


def _inherited(vm: VM) -> int:
    """The `from __future__` flags of the code that calls compile, eval or exec."""
    return vm.frame.code.co_flags & _FUTURE if vm.frame is not None else 0


def _compile(vm: VM, args: Args, kwargs: Kwargs) -> Any:
    def parameters(source: Any, filename: Any, mode: Any, flags: Any = 0, dont_inherit: Any = False, optimize: Any = -1,
                   **rest: Any) -> tuple[Any, ...]:  # fmt: skip
        return source, filename, mode, flags, dont_inherit, optimize, rest

    try:
        source, filename, mode, flags, dont_inherit, optimize, rest = parameters(*args, **kwargs)
    except TypeError:
        flags = None
    if not isinstance(flags, int):
        return vm.trampolines.call(compile, args, kwargs)  # which raises
    if not datamodel.truth(vm, dont_inherit):
        flags |= _inherited(vm)
    rest.update(flags=flags, dont_inherit=True, optimize=optimize)
    return vm.trampolines.call(compile, (source, filename, mode), rest)


def run_code(
    vm: VM, code: CodeType, globals_: dict[str, Any], locals_: Any, closure: tuple[Any, ...] = ()
) -> Any:
    """Run a code object in a new frame, as eval and exec do."""
    info = info_of(code)
    source = globals_["__builtins__"]
    namespace = vars(source) if isinstance(source, types.ModuleType) else source
    slots = [UNBOUND] * info.argument_count
    frame = Frame(vm, code, info, globals_, namespace, [*slots, *info.padding, *closure])
    if not code.co_flags & 0x2:  # CO_NEWLOCALS
        frame.namespace = locals_
    if info.kind != PLAIN:
        return make_generator(frame, code.co_name, code.co_qualname)
    return vm.run(frame)


def _spaces(vm: VM, globals_: Any, locals_: Any) -> tuple[Any, Any]:
    """The namespaces that eval and exec use, with __builtins__ put in."""
    frame = _this(vm, "eval or exec")
    if globals_ is None:
        globals_ = frame.globals
        if locals_ is None:
            locals_ = frame_locals(frame)
    elif locals_ is None:
        locals_ = globals_
    if "__builtins__" not in globals_:
        if vm.before_write is not None:
            vm.before_write("global", globals_, "__builtins__", frame.builtins)
        globals_["__builtins__"] = frame.builtins
    return globals_, locals_


def _acceptable(globals_: Any, locals_: Any) -> bool:
    mapping = locals_ is None or datamodel.type_lookup(type(locals_), "__getitem__") is not datamodel.MISSING
    return mapping and (globals_ is None or isinstance(globals_, dict))


def _eval_arguments(source: Any, globals: Any = None, locals: Any = None) -> tuple[Any, Any, Any]:
    return source, globals, locals


def _exec_arguments(source: Any, globals: Any = None, locals: Any = None, *, closure: Any = None) -> tuple[Any, ...]:
    return source, globals, locals, closure


def _fits(signature: Callable[..., Any], args: Args, kwargs: Kwargs) -> Any:
    """The bound arguments, or None when CPython must say what is wrong with them."""
    if VERSION < (3, 13) and kwargs.keys() - {"closure"}:
        return None
    try:
        return signature(*args, **kwargs)
    except TypeError:
        return None


def _eval(vm: VM, args: Args, kwargs: Kwargs) -> Any:
    bound = _fits(_eval_arguments, args, kwargs)
    if bound is None or not _acceptable(bound[1], bound[2]):
        return eval(*args, **kwargs)
    source, globals_, locals_ = bound
    globals_, locals_ = _spaces(vm, globals_, locals_)
    if isinstance(source, CodeType):
        if source.co_freevars:
            raise TypeError("code object passed to eval() may not contain free variables")
        return run_code(vm, source, globals_, locals_)
    if not isinstance(source, (str, bytes, bytearray, memoryview)):
        raise TypeError("eval() arg 1 must be a string, bytes or code object")
    if isinstance(source, (str, bytes)):
        source = source.lstrip(" \t" if isinstance(source, str) else b" \t")  # type: ignore[arg-type]
    code = compile(source, "<string>", "eval", _inherited(vm), True)
    return run_code(vm, code, globals_, locals_)


def _exec(vm: VM, args: Args, kwargs: Kwargs) -> Any:
    bound = _fits(_exec_arguments, args, kwargs)
    if bound is None or not _acceptable(bound[1], bound[2]):
        return exec(*args, **kwargs)
    source, globals_, locals_, closure = bound
    globals_, locals_ = _spaces(vm, globals_, locals_)
    if isinstance(source, CodeType):
        free = len(source.co_freevars)
        if (closure is not None or free) and not (
            type(closure) is tuple and len(closure) == free and free and all(type(c) is types.CellType for c in closure)
        ):
            return exec(source, globals_, locals_, closure=closure)  # CPython raises, saying what is wrong
        run_code(vm, source, globals_, locals_, closure or ())
        return None
    if closure is not None:
        return exec(source, globals_, locals_, closure=closure)
    if not isinstance(source, (str, bytes, bytearray, memoryview)):
        raise TypeError("exec() arg 1 must be a string, bytes or code object")
    run_code(vm, compile(source, "<string>", "exec", _inherited(vm), True), globals_, locals_)
    return None


def _import(vm: VM, args: Args, kwargs: Kwargs) -> Any:
    """Modules are imported natively; a relative import starts from the program's package."""
    if len(args) == 1 and "globals" not in kwargs and vm.frame is not None:
        kwargs = {"globals": vm.frame.globals, **kwargs}
    return builtins.__import__(*args, **kwargs)


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
    builtins.__import__: _import,
    locals: _locals,
    globals: _globals,
    vars: _vars,
    dir: _dir,
    eval: _eval,
    exec: _exec,
    compile: _compile,
    sys._getframe: _getframe,
    sys.exc_info: _exc_info,
    sys.exception: _exception,
    traceback.format_exc: _format_exc,
    traceback.print_exc: _print_exc,
    sys.getrecursionlimit: _getrecursionlimit,
    sys.setrecursionlimit: _setrecursionlimit,
    warnings.warn: _warn,
    types.TracebackType: _make_traceback,
}

if VERSION >= (3, 12):
    OWN_LOOKASIDES[sys._getframemodulename] = _getframemodulename  # type: ignore[attr-defined]
    for _kind in (typing.TypeVar, typing.ParamSpec, typing.TypeVarTuple):
        OWN_LOOKASIDES[_kind] = _with_module(_kind)
