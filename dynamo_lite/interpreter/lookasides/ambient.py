"""C callables that reach objects other than their arguments: sys.stdout, a thread, the calling frame, the garbage."""

from __future__ import annotations

import _thread
import gc
import sys
import weakref
from typing import Any


def _print(vm: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if kwargs.get("file") is None:
        vm.trampolines.arm(sys.stdout)
    return vm.trampolines.call(print, args, kwargs)


def _start_thread(start: Any) -> Any:
    def handler(vm: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not args or not callable(args[0]):
            return vm.trampolines.call(start, args, kwargs)
        fn = args[0]

        def run(*given: Any, **named: Any) -> Any:
            return type(vm)(vm.observer).enter(fn, given, named)

        return start(run, *args[1:], **kwargs)

    return handler


def _type_new(vm: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`type.__new__(meta, name, bases, namespace)` takes a missing `__module__` from the calling frame."""
    if len(args) == 4 and type(args[3]) is dict and "__module__" not in args[3] and vm.frame is not None:
        module = vm.frame.globals.get("__name__")
        if module is not None:
            args = (*args[:3], {**args[3], "__module__": module})
    return vm.trampolines.call(type.__new__, args, kwargs)


def _collect(vm: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    vm.trampolines.forget_types()  # a class may be garbage except for our own record of it
    return vm.trampolines.call(gc.collect, args, kwargs)


def _weak(make: Any, at: int) -> Any:
    """`weakref.ref(obj, callback)` and `weakref.proxy`: the callback (argument `at`) comes when the object dies."""

    def handler(vm: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(args) > at:
            vm.trampolines.arm_unprompted(args[at])
        return vm.trampolines.call(make, args, kwargs)

    return handler


TABLE: dict[Any, Any] = {
    weakref.ref: _weak(weakref.ref, 1),
    weakref.ref.__new__: _weak(weakref.ref.__new__, 2),
    weakref.proxy: _weak(weakref.proxy, 1),
    gc.collect: _collect,
    print: _print,
    type.__new__: _type_new,
    _thread.start_new_thread: _start_thread(_thread.start_new_thread),
}
if hasattr(_thread, "start_joinable_thread"):  # 3.13
    TABLE[_thread.start_joinable_thread] = _start_thread(_thread.start_joinable_thread)
