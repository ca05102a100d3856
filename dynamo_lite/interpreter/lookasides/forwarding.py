"""C callables that only pass a call on: taken apart, so that the call is the interpreter's own, not a native one."""

from __future__ import annotations

import functools
from typing import Any

from dynamo_lite.interpreter import datamodel


def _partial(vm: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    partial, *rest = args
    if _PLACEHOLDER is not None and any(arg is _PLACEHOLDER for arg in partial.args):
        return vm.trampolines.call(functools.partial.__call__, args, kwargs)
    return vm.call(partial.func, (*partial.args, *rest), {**partial.keywords, **kwargs})


def _staticmethod(vm: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return vm.call(args[0].__func__, args[1:], kwargs)


def _type_call(vm: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`type.__call__(cls, ...)`, what `super().__call__(...)` in a metaclass reaches."""
    if not args or not issubclass(type(args[0]), type) or args[0] is type:
        return vm.trampolines.call(type.__call__, args, kwargs)
    return datamodel.construct(vm, args[0], args[1:], kwargs)


_PLACEHOLDER = getattr(functools, "Placeholder", None)

TABLE: dict[Any, Any] = {
    functools.partial.__call__: _partial,
    staticmethod.__call__: _staticmethod,
    type.__call__: _type_call,
}
