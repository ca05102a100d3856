"""Tracebacks that show the program's frames and none of the interpreter's.

A traceback entry needs a genuine frame object. One is had from a *stub*: the program's code object with the
instructions of an empty generator; name, file, line table and globals stay, so that a printed traceback shows the
program's file, line and columns.
"""

from __future__ import annotations

import dis
import inspect
import os
import sys
import weakref
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import TYPE_CHECKING, Any

from dynamo_lite.folders import folder
from dynamo_lite.interpreter.code.sentinels import STUB
from dynamo_lite.interpreter.datamodel.trampoline_code import is_trampoline
from dynamo_lite.interpreter.frames.frame import Frame
from dynamo_lite.interpreter.interfaces import VM

if TYPE_CHECKING:
    from dynamo_lite.interpreter.code.decode import Positions
    from dynamo_lite.interpreter.frames.frame import Frame

_FOLDERS = (
    *("interpreter", "tracing", "features", "capture", "control_flow", "explanation", "symbolic_shapes"),
    "torch_internals",
)
_OWN_FOLDERS = tuple(map(folder, _FOLDERS))
"""The code of the interpreter and of its observers: none of its frames is the program's."""
_RECORDING = folder("capture")
"""The code that runs operators: its callees create fake tensors. In eager an operator has no Python frames."""
_SHOW_OWN = bool(os.environ.get("DYNAMO_LITE_INTERPRETER_FRAMES"))
"""For debugging the interpreter itself."""

_own_files: dict[str, bool] = {}

_traceback = BaseException.__dict__["__traceback__"]
get_traceback = _traceback.__get__
set_traceback = _traceback.__set__


def assemble(*instructions: tuple[str, int]) -> bytes:
    """The bytes of instructions that have no caches, with EXTENDED_ARG where needed."""
    content = bytearray()
    for name, arg in instructions:
        for shift in (24, 16, 8):
            if arg >> shift:
                content += bytes((dis.opmap["EXTENDED_ARG"], arg >> shift & 255))
        content += bytes((dis.opmap[name], arg & 255))
    return bytes(content)


def no_lines(units: int) -> bytes:
    """The part of a line table (Objects/locations.md) for `units` code units that belong to no line.

    CPython 3.11 under sys.settrace writes out of bounds when a line table and its code differ in length.
    """
    return b"".join(bytes((0x80 | 15 << 3 | min(8, units - start) - 1,)) for start in range(0, units, 8))


def _varint(value: int) -> bytes:
    content = bytearray()
    while value > 63:
        content.append(64 | value & 63)
        value >>= 6
    content.append(value)
    return bytes(content)


def _one_place(code: CodeType, units: int, at: Positions) -> bytes:
    """The part of a line table that maps `units` (at most 8) code units to one position."""
    if at.lineno is None:
        return no_lines(units)
    delta = at.lineno - code.co_firstlineno
    line = _varint(delta << 1 if delta >= 0 else -delta << 1 | 1)
    if at.end_lineno is None or at.col_offset is None or at.end_col_offset is None:
        return bytes((0x80 | 13 << 3 | units - 1,)) + line
    columns = _varint(at.end_lineno - at.lineno) + _varint(at.col_offset + 1) + _varint(at.end_col_offset + 1)
    return bytes((0x80 | 14 << 3 | units - 1,)) + line + columns


def _frame_stub(code: CodeType, offset: int, at: Positions) -> CodeType:
    before = offset // 2
    empty = assemble(("RETURN_GENERATOR", 0), ("POP_TOP", 0), ("RESUME", 0), ("LOAD_CONST", 0), ("RETURN_VALUE", 0))
    return code.replace(
        co_code=assemble(("NOP", 0)) * before + empty,
        co_linetable=no_lines(before) + _one_place(code, len(empty) // 2, at), co_consts=(*code.co_consts, STUB),
        co_exceptiontable=b"", co_flags=inspect.CO_OPTIMIZED | inspect.CO_NEWLOCALS | inspect.CO_GENERATOR,
        co_argcount=0, co_posonlyargcount=0, co_kwonlyargcount=0, co_freevars=(), co_cellvars=(),
        co_stacksize=max(3, code.co_stacksize),
    )  # fmt: skip


def is_stub(code: CodeType) -> bool:
    """Whether `code` is a stub: the program's names and lines, but not its body (here and in binding.py)."""
    return bool(code.co_consts) and code.co_consts[-1] is STUB


def genuine_frame(frame: Frame, offset: int) -> FrameType:
    """A CPython frame with the code's names, file and lines, and the globals of `frame`, at `offset`.

    A generator's frame, because it has no f_back: a function's would lead to the interpreter's frames and keep them
    alive. It is at or shortly behind its RETURN_GENERATOR, all at the position of the current instruction.
    """
    stubs = frame.info.frame_stubs
    stub = stubs.get(offset)
    if stub is None:
        stub = stubs[offset] = _frame_stub(frame.code, offset, frame.positions)
    tracer = sys.gettrace()
    if tracer is None:
        return _generator_frame(stub, frame.globals, frame)
    # A line event at RETURN_GENERATOR, which no compiled generator has, makes CPython 3.11 crash.
    sys.settrace(None)
    try:
        return _generator_frame(stub, frame.globals, frame)
    finally:
        sys.settrace(tracer)


def _generator_frame(stub: CodeType, globals_: dict[str, Any], frame: Frame) -> FrameType:
    function = FunctionType(stub, globals_)  # which lives as long as the frame
    frame.vm.entries[function] = weakref.ref(frame)
    found: FrameType = function().gi_frame
    return found


def with_frame(frame: Frame, rest: TracebackType | None) -> TracebackType:
    """A traceback that begins at the current instruction in `frame` and goes on with `rest`."""
    index = max(frame.pc - 1, 0)
    offset = frame.info.offsets[index]
    lineno = frame.info.positions_at(frame.code, index).lineno
    return TracebackType(rest, genuine_frame(frame, offset), offset, lineno if lineno is not None else -1)


def is_own_code(code: CodeType) -> bool:
    """Whether `code` is the interpreter's."""
    filename = code.co_filename
    own = _own_files.get(filename)
    if own is None:
        own = _own_files[filename] = filename.startswith(_OWN_FOLDERS) and not _SHOW_OWN
    return own or is_trampoline(code)


def without_own_frames(vm: VM, traceback: TracebackType | None) -> tuple[TracebackType | None, bool]:
    """(`traceback` without the interpreter's frames, whether it comes from an inner frame of the program)

    The traceback left by an inner frame (`vm.clean_traceback`) is taken unchanged.
    """
    clean = vm.clean_traceback
    kept: list[TracebackType] = []
    rest, in_operator = traceback, False
    while rest is not None:
        if rest is clean:  # never None here
            break
        code = rest.tb_frame.f_code
        if is_own_code(code):
            in_operator = in_operator or code.co_filename.startswith(_RECORDING)
        elif not in_operator:
            kept.append(rest)
        rest = rest.tb_next
    from_inner = rest is not None
    while kept and kept[-1].tb_next is rest:
        rest = kept.pop()
    for entry in reversed(kept):
        rest = TracebackType(rest, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return rest, from_inner


def strip(exc: Any, vm: VM) -> None:
    """Take the interpreter's frames out of exc.__traceback__."""
    set_traceback(exc, without_own_frames(vm, get_traceback(exc))[0])
