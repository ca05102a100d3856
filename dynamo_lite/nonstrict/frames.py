"""The program's frames while CPython runs it, with the interface of interpreter/frames/frame.py."""

from __future__ import annotations

import sys
from bisect import bisect_right
from enum import Enum, auto
from types import CodeType, FrameType
from typing import Any

from dynamo_lite.interpreter.code.decode import Positions, info_of
from dynamo_lite.interpreter.datamodel.trampoline_code import is_trampoline
from dynamo_lite.tracing.policy.native_modules import is_trusted_module

_RECORDING = ("dynamo_lite.capture", "dynamo_lite.symbolic_shapes")
_HIDDEN = frozenset({"_wrapped_call_impl", "_call_impl"})
"""nn.Module's frames between a call and forward: a run in the interpreter has no such frames either."""


class _Code:
    """The part of decoded code that the tracer uses: the positions of an instruction, by its index."""

    def __init__(self, code: CodeType) -> None:
        self.code = code  # kept alive: the table below is keyed by its id
        self._positions = [Positions(*at) for at in code.co_positions()]

    def positions_at(self, code: CodeType, index: int) -> Positions:
        return self._positions[index]


_codes: dict[int, _Code] = {}


class NativeFrame:
    """One frame: `pc` is the index of the instruction after the current one, as in an interpreted frame."""

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

    @property
    def builtins(self) -> dict[str, Any]:
        return self._native.f_builtins

    def f_locals(self) -> dict[str, Any]:
        return dict(self._native.f_locals)


class DecodedFrame:
    """A frame with the decoded instructions of its code, for queries about the current instruction."""

    def __init__(self, frame: NativeFrame) -> None:
        self.back = None if frame.back is None else DecodedFrame(frame.back)
        self.code, self.globals, self.builtins = frame.code, frame.globals, frame.builtins
        self.info = info_of(frame.code)
        self.pc = bisect_right(self.info.offsets, 2 * (frame.pc - 1))


def innermost(boundary: FrameType) -> NativeFrame | None:
    """The program's innermost frame, linked to its callers up to the frame `boundary`, which is not the program's."""
    frames: list[FrameType] = []  # innermost first
    native: FrameType | None = sys._getframe(1)
    while native is not boundary:
        if native is None:
            return None
        row = _roles.get(id(native.f_code)) or _role_of(native)
        if row[1] is _Role.PROGRAM:
            frames.append(native)
        elif row[1] is _Role.RECORDER:
            frames.clear()  # frames before this one are the recorder's, not the program's
        native = native.f_back
    found: NativeFrame | None = None
    for native in reversed(frames):
        found = NativeFrame(native, found)
    return found


class _Role(Enum):
    PROGRAM = auto()
    RECORDER = auto()
    OTHER = auto()


_roles: dict[int, tuple[CodeType, _Role]] = {}
_MOST_ROLES = 50_000


def _role_of(frame: FrameType) -> tuple[CodeType, _Role]:
    """The role of frames of this code (which is kept alive, as the table is keyed by its id)."""
    name = str(frame.f_globals.get("__name__", ""))
    recorder = name.startswith(_RECORDING)
    role = _Role.RECORDER if recorder else _Role.PROGRAM if is_program(frame, name) else _Role.OTHER
    if len(_roles) > _MOST_ROLES:
        _roles.clear()
    row = _roles[id(frame.f_code)] = frame.f_code, role
    return row


def is_program(frame: FrameType, name: str) -> bool:
    """Whether a frame, of the module `name`, is one that strict mode interprets."""
    if name.startswith("dynamo_lite.") and not name.startswith("dynamo_lite.exportdb.cases"):
        return False
    code = frame.f_code
    if code.co_name in _HIDDEN and name == "torch.nn.modules.module":
        return False
    return not is_trusted_module(name) and not is_trampoline(code)
