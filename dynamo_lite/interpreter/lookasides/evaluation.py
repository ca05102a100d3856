"""The namespaces of the program's frames (locals, vars, dir), and what runs code in them (compile, eval, exec)."""

from __future__ import annotations
import __future__

import builtins
import types
from collections.abc import Callable
from types import CodeType
from typing import Any, Final

from dynamo_lite.interpreter import datamodel
from dynamo_lite.interpreter.code.decode import PLAIN, info_of
from dynamo_lite.interpreter.code.normal_form import VERSION
from dynamo_lite.interpreter.code.sentinels import MISSING, UNBOUND
from dynamo_lite.interpreter.frames.frame import Frame
from dynamo_lite.interpreter.frames.generators import make_generator
from dynamo_lite.interpreter.interfaces import VM

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


def this_frame(vm: VM, what: str) -> Frame:
    if vm.frame is None:
        raise SystemError(f"{what}: no frame")
    return vm.frame


def frame_locals(frame: Frame) -> Any:
    """locals(): a class body's or module's namespace; a function's fresh dict (PEP 667), before 3.13 the same one."""
    if frame.namespace is not None:
        hidden = frame.inlined_locals()
        return {**frame.namespace, **hidden} if hidden else frame.namespace
    if frame.unmerged and frame.vm.on_unbound is not None:
        frame.vm.on_unbound(frame, -1)
    found = frame.f_locals()
    if VERSION >= (3, 13):
        return {**found, **frame.snapshot} if frame.snapshot else found  # what f_locals was given beside them
    if frame.snapshot is None:
        frame.snapshot = found
        return found
    for name in frame.info.names:
        if name not in found:
            frame.snapshot.pop(name, None)
    frame.snapshot.update(found)
    return frame.snapshot


def _locals(vm: VM, args: Args, kwargs: Kwargs) -> Any:
    return frame_locals(this_frame(vm, "locals()")) if not args and not kwargs else locals(*args, **kwargs)


def _globals(vm: VM, args: Args, kwargs: Kwargs) -> Any:
    return this_frame(vm, "globals()").globals if not args and not kwargs else globals(*args, **kwargs)


def _vars(vm: VM, args: Args, kwargs: Kwargs) -> Any:
    if kwargs or len(args) > 1:
        return vm.trampolines.call(vars, args, kwargs)
    if not args:
        return frame_locals(this_frame(vm, "vars()"))
    found = vm.getattr(args[0], "__dict__", MISSING)
    if found is MISSING:
        raise TypeError("vars() argument must have __dict__ attribute")
    return found


def _dir(vm: VM, args: Args, kwargs: Kwargs) -> Any:
    if args or kwargs:
        return vm.trampolines.call(dir, args, kwargs)
    return sorted(frame_locals(this_frame(vm, "dir()")))


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
    frame = this_frame(vm, "eval or exec")
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
    """The bound arguments, or None if CPython must raise the error about them."""
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
            return exec(source, globals_, locals_, closure=closure)  # CPython raises the error
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

EVALUATION: Final[dict[Any, Callable[[VM, Args, Kwargs], Any]]] = {
    builtins.__import__: _import,
    locals: _locals,
    globals: _globals,
    vars: _vars,
    dir: _dir,
    eval: _eval,
    exec: _exec,
    compile: _compile,
}
