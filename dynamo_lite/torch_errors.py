"""Our errors as subclasses of torch's, for code that catches those.

`except torch._dynamo.exc.UserError` needs a real base class. Importing torch._dynamo takes 0.6 s, which neither an
export that works nor an error must pay. So the bases are added when an error leaves the front (`catchable_as_torch`) as
far as they exist, and the others when torch._dynamo is imported: by that very `except`, at the latest. Checked with
torch 2.13.0: torch/_dynamo/exc.py, torch/fx/experimental/symbolic_shapes.py.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, TypeVar

from dynamo_lite import errors

_F = TypeVar("_F", bound=Callable[..., Any])

# Our class → the names of torch's, and the UserErrorType of those that are UserErrors.
COUNTERPARTS: dict[type[errors.DynamoLiteError], tuple[tuple[str, ...], str | None]] = {
    errors.GraphBreak: (("Unsupported",), None),
    errors.DataDependent: (("UserError", "GuardOnDataDependentSymNode"), "DYNAMIC_CONTROL_FLOW"),
    errors.ConstraintViolation: (("UserError", "ConstraintViolationError"), "CONSTRAINT_VIOLATION"),
    errors.InvalidArguments: (("UserError",), "INVALID_INPUT"),
    errors.UnsupportedValue: (("UserError",), "INVALID_OUTPUT"),
}
_OWN_BASES = {ours: ours.__bases__ for ours in COUNTERPARTS}
_EXC = "torch._dynamo.exc"


@functools.cache
def link() -> None:
    """Append torch's classes to the bases of ours: those of torch._dynamo once it is loaded."""
    if _EXC in sys.modules:
        _link_to(importlib.import_module(_EXC))  # which waits for another thread that imports it
        return
    _link_to(None)
    sys.meta_path.insert(0, _Awaiting())


def _link_to(exc: ModuleType | None) -> None:
    """Torch's constructors do not run (see DynamoLiteError.__init__). exc: torch._dynamo.exc, if it is there."""
    from torch.fx.experimental import symbolic_shapes

    for ours, (names, kind) in COUNTERPARTS.items():
        found = [getattr(exc, name, None) or getattr(symbolic_shapes, name, None) for name in names]
        theirs = dict.fromkeys(base or RuntimeError for base in found)  # what torch's are, all of them
        if len(theirs) > 1:
            theirs.pop(RuntimeError, None)
        own = _OWN_BASES[ours]
        inherited = any(issubclass(base, tuple(theirs)) for base in own)
        ours.__bases__ = own if inherited else (*own, *theirs)
        if kind is not None:
            ours.error_type = _Kind(kind) if exc is None else exc.UserErrorType[kind]  # type: ignore[attr-defined]


class _Kind:
    """`error.error_type` while torch._dynamo is not imported: it is then."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, error: Any, owner: Any = None) -> Any:
        return importlib.import_module(_EXC).UserErrorType[self._name]


class _Awaiting:
    """A finder of `sys.meta_path` that links when torch._dynamo.exc has been imported. It finds what the others do."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != _EXC:
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = None if find is None else find(name, path, target)
            if spec is not None and spec.loader is not None:
                execute = spec.loader.exec_module
                spec.loader.exec_module = functools.partial(self._executed, execute)
                return spec
        return None

    def _executed(self, execute: Callable[[ModuleType], None], module: ModuleType) -> None:
        execute(module)
        _link_to(module)
        if self in sys.meta_path:
            sys.meta_path.remove(self)


def catchable_as_torch(fn: _F) -> _F:
    """Decorates a public function: its errors are also instances of torch's own classes."""

    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return fn(*args, **kwargs)
        except errors.DynamoLiteError:
            link()
            raise

    return wrapper  # type: ignore[return-value]
