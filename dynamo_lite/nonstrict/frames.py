"""The program's frames while CPython runs it, as the tracer knows frames (dynamo_lite/interpreter/frame.py)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

from dynamo_lite.interpreter.decode import Positions
from dynamo_lite.interpreter.doors import is_door
from dynamo_lite.tracing.trusted import is_trusted_module

_RECORDING = ("dynamo_lite.capture", "symbolic_shapes")
_HIDDEN = frozenset({"_wrapped_call_impl", "_call_impl"})
"""nn.Module's way from a call to forward: a run in the interpreter has no frames of it either."""


class _Code:
    """What the tracer asks of decoded code: the positions of an instruction, by its index."""

    def __init__(self, code: CodeType) -> None:
        self.code = code  # kept alive: the table below is keyed by its id
        self._positions = [Positions(*at) for at in code.co_positions()]

    def positions_at(self, code: CodeType, index: int) -> Positions:
        return self._positions[index]


_codes: dict[int, _Code] = {}


class NativeFrame:
    """One frame: `pc` is the index of the instruction after the one at work, as in an interpreted frame."""

    __slots__ = ("_native", "back", "code", "globals", "info", "pc")

    def __init__(self, native: FrameType, back: NativeFrame | None) -> None:
        code = native.f_code
        info = _codes.get(id(code))
        if info is None:
            info = _codes[id(code)] = _Code(code)
        self._native = native
        self.back = back
        self.code = code
        self.globals = native.f_globals
        self.info = info
        self.pc = native.f_lasti // 2 + 1

    @property
    def positions(self) -> Positions:
        return self.info.positions_at(self.code, self.pc - 1)

    @property
    def lineno(self) -> int:
        return self._native.f_lineno or self.code.co_firstlineno

    def f_locals(self) -> dict[str, Any]:
        return dict(self._native.f_locals)


def innermost(boundary: FrameType) -> NativeFrame | None:
    """The program's innermost frame, linked to its callers up to the frame `boundary`, which is not the program's."""
    found: NativeFrame | None = None
    for native in reversed([*_of_the_program(boundary)]):
        found = NativeFrame(native, found)
    return found


def _of_the_program(boundary: FrameType) -> Iterator[FrameType]:
    """Innermost first. What the recorder has called on the way in is none of it."""
    frames: list[FrameType] = []
    native: FrameType | None = sys._getframe(2)
    while native is not None and native is not boundary:
        name = str(native.f_globals.get("__name__", ""))
        if name.startswith(_RECORDING):
            frames.clear()
        elif is_program(native, name):
            frames.append(native)
        native = native.f_back
    return iter(frames if native is not None else ())


def is_program(frame: FrameType, name: str) -> bool:
    """Whether a frame, of the module `name`, is one that strict mode interprets."""
    if name.startswith("dynamo_lite.") and not name.startswith("dynamo_lite.exportdb.cases"):
        return False
    code = frame.f_code
    if code.co_name in _HIDDEN and name == "torch.nn.modules.module":
        return False
    return not is_trusted_module(name) and not is_door(code)
