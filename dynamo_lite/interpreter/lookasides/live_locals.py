"""`frame.f_locals` of a function from Python 3.13 on: a view of its variables, which reads and writes them (PEP 667).

Checked against CPython 3.13 and 3.14 (Objects/frameobject.c, FrameLocalsProxy).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import CellType, FunctionType
from typing import Any, Final

from dynamo_lite.interpreter.code.normal_form import VERSION
from dynamo_lite.interpreter.code.sentinels import MISSING
from dynamo_lite.interpreter.frames.frame import Frame
from dynamo_lite.interpreter.interfaces import VM
from dynamo_lite.interpreter.lookasides.evaluation import Args, Kwargs, frame_locals


class LiveLocals:
    """The variables of one frame. Other names are stored beside them, and shown in locals()."""

    __slots__ = ("_frame",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def copy(self) -> dict[Any, Any]:
        found: dict[Any, Any] = frame_locals(self._frame)
        return found

    def __getitem__(self, name: Any) -> Any:
        found = self.copy().get(name, MISSING)
        if found is MISSING:
            raise KeyError(f"local variable '{name!r}' is not defined")
        return found

    def __setitem__(self, name: Any, value: Any) -> None:
        frame = self._frame
        if frame.vm.on_store_local is not None:
            frame.vm.on_store_local(frame)
        if name not in frame.info.names:
            if frame.snapshot is None:
                frame.snapshot = {}
            frame.snapshot[name] = value
            return
        index = frame.info.names.index(name)
        held = frame.locals[index]
        if name in frame.cell_names() and type(held) is CellType:
            held.cell_contents = value
        else:
            frame.locals[index] = value

    def __delitem__(self, name: Any) -> None:
        if VERSION < (3, 14):
            raise TypeError("cannot remove variables from FrameLocalsProxy")
        if name in self._frame.info.names:
            raise ValueError("cannot remove local variables from FrameLocalsProxy")
        del (self._frame.snapshot or {})[name]

    if VERSION >= (3, 14):

        def pop(self, name: Any, *default: Any) -> Any:
            if name in self._frame.info.names:
                raise ValueError("cannot remove local variables from FrameLocalsProxy")
            return (self._frame.snapshot or {}).pop(name, *default)

    def __contains__(self, name: Any) -> bool:
        return name in self.copy()

    def __len__(self) -> int:
        return len(self.copy())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())

    def __reversed__(self) -> Iterator[Any]:
        return reversed(self.keys())

    def keys(self) -> list[Any]:
        return [*self.copy()]

    def values(self) -> list[Any]:
        return [*self.copy().values()]

    def items(self) -> list[tuple[Any, Any]]:
        return [*self.copy().items()]

    def get(self, name: Any, default: Any = None) -> Any:
        return self.copy().get(name, default)

    def setdefault(self, name: Any, default: Any = None) -> Any:
        if name not in self:
            self[name] = default
        return self[name]

    def update(self, other: Any) -> None:
        given: Iterable[Any] = other.keys() if hasattr(other, "keys") else dict(other)
        for name in [*given]:
            self[name] = other[name] if hasattr(other, "keys") else dict(other)[name]

    def __or__(self, other: Any) -> Any:
        return self.copy() | dict(other) if isinstance(other, (dict, LiveLocals)) else NotImplemented

    def __ror__(self, other: Any) -> Any:
        return dict(other) | self.copy() if isinstance(other, (dict, LiveLocals)) else NotImplemented

    def __ior__(self, other: Any) -> LiveLocals:
        self.update(other)
        return self

    def __eq__(self, other: Any) -> Any:
        if type(other) is LiveLocals:
            return self._frame is other._frame
        return self.copy() == other if isinstance(other, dict) else NotImplemented

    def __repr__(self) -> str:
        return repr(self.copy())


LiveLocals.__name__ = LiveLocals.__qualname__ = "FrameLocalsProxy"
LiveLocals.__module__ = "builtins"
Mapping.register(LiveLocals)


def _natively(fn: FunctionType) -> Callable[[VM, Args, Kwargs], Any]:
    return lambda vm, args, kwargs: fn(*args, **kwargs)


NATIVE: Final = {fn: _natively(fn) for fn in vars(LiveLocals).values() if type(fn) is FunctionType}
"""The methods, as lookasides: what reads the interpreter's own frames is not interpreted itself."""


def of_frame(frame: Frame) -> Any:
    """`frame.f_locals` as this Python has it."""
    return frame_locals(frame) if VERSION < (3, 13) or frame.namespace is not None else LiveLocals(frame)
