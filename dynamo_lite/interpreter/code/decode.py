"""Decoding: from a code object to a tuple of (handler, argument), once per code object.

CPython's format is read directly (two bytes an instruction, EXTENDED_ARG prefixes, CACHE entries, the exception
table of Objects/exception_handling_notes.txt): a fraction of the 9 µs an instruction that the `bytecode` library
takes. That library and `dis` are the oracles of tests/interpreter/test_decode.py.
"""

from __future__ import annotations

import dis
import inspect
import weakref
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from types import CodeType
from typing import Any, Final, NamedTuple

from dynamo_lite.interpreter.code.handler_table import HANDLERS, Operation
from dynamo_lite.interpreter.code.keyed_ref import KeyedRef
from dynamo_lite.interpreter.code.normal_form import (
    DROPPED,
    EXPANSIONS,
    HAS_TARGET,
    JUMPS,
    NAMES,
    SAME,
    VERSION,
    Raw,
    expand,
)
from dynamo_lite.interpreter.code.sentinels import UNBOUND
from dynamo_lite.interpreter.datamodel.trampoline_code import original_code

Handler = Callable[[Any, list[Any], Any], Any]
"""handler(frame, frame.stack, argument) -> None to go on, True when the frame returned or yielded (frame.result)."""


class ExceptionHandler(NamedTuple):
    """Where an exception goes: an entry of the exception table, in instruction indices."""

    target: int
    depth: int
    push_lasti: bool


class Positions(NamedTuple):
    """A source range (PEP 657); lines count from 1, columns are byte offsets from 0; None where unknown."""

    lineno: int | None
    end_lineno: int | None
    col_offset: int | None
    end_col_offset: int | None


PLAIN: Final = 0
GENERATOR: Final = 1
COROUTINE: Final = 2
ASYNC_GENERATOR: Final = 3
ITERABLE_COROUTINE: Final = 4

_KINDS = (
    (inspect.CO_ITERABLE_COROUTINE, ITERABLE_COROUTINE),
    (inspect.CO_GENERATOR, GENERATOR),
    (inspect.CO_COROUTINE, COROUTINE),
    (inspect.CO_ASYNC_GENERATOR, ASYNC_GENERATOR),
)
_HAS_REST: Final = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


class CodeInfo:
    """The interpreter's data about one code object. It does not keep the code object alive."""

    __slots__ = ("__weakref__", "argument_count", "binder", "code_ref", "frame_stubs", "fused", "handler_table",
                 "kind", "known", "names", "offsets", "ops", "padding", "plain_count", "positions_table",
                 "ran", "span_of")  # fmt: skip

    def __init__(self, code: CodeType) -> None:
        self.code_ref = weakref.ref(code)
        self.ops, self.offsets, self.span_of = _decode(code)
        flags = code.co_flags
        count = code.co_argcount + code.co_kwonlyargcount
        self.argument_count = count + bool(flags & inspect.CO_VARARGS) + bool(flags & inspect.CO_VARKEYWORDS)
        # -1: not to be bound by position alone
        self.plain_count = -1 if code.co_kwonlyargcount or flags & _HAS_REST else code.co_argcount
        self.kind = next((kind for flag, kind in _KINDS if flags & flag), PLAIN)
        names = code.co_varnames
        self.names = (*names, *(name for name in code.co_cellvars if name not in names), *code.co_freevars)
        unfilled = len(self.names) - len(code.co_freevars) - self.argument_count
        self.padding = (UNBOUND,) * unfilled
        self.handler_table: tuple[ExceptionHandler | None, ...] | None = None
        self.positions_table: list[tuple[int | None, int | None, int | None, int | None]] | None = None
        self.binder: CodeType | None = None
        self.fused: tuple[Operation, ...] | None = None  # made at the second run (opcodes/fused.py)
        self.ran = False
        self.frame_stubs: dict[int, CodeType] = {}
        self.known: dict[Any, Any] = {}  # data of an observer about the code

    @property
    def code(self) -> CodeType:
        """The code object. (While one of its functions or frames is alive, it is.)"""
        code = self.code_ref()
        assert code is not None
        return code

    def handler_at(self, code: CodeType, index: int) -> ExceptionHandler | None:
        """The innermost exception handler around the instruction `index`."""
        if self.handler_table is None:
            self.handler_table = _over_tests(_handler_table(code, self.span_of, self.offsets), self.ops)
        return self.handler_table[index]

    def positions_at(self, code: CodeType, index: int) -> Positions:
        unit = self.offsets[index] // 2
        if self.positions_table is None:
            self.positions_table = [*code.co_positions()]
        return Positions(*self.positions_table[unit]) if unit < len(self.positions_table) else Positions(*[None] * 4)


def _over_tests(
    table: tuple[ExceptionHandler | None, ...], ops: Sequence[Operation]
) -> tuple[ExceptionHandler | None, ...]:
    """The table with the jumps of `if` and `while`. From Python 3.14 on these are under no handler, as they raise
    nothing in CPython; here the truth of a tensor is decided there. They are under the handler of the value before."""
    found, tests = [*table], {HANDLERS[f"POP_JUMP_IF_{when}"] for when in ("TRUE", "FALSE", "NONE", "NOT_NONE")}
    for index, (handler, _) in enumerate(ops):
        if handler in tests and found[index] is None and index:
            found[index] = found[index - 1]
    return tuple(found)


infos: dict[int, CodeInfo] = {}
"""Decoded code, by id(code): hashing a code object reads all of it, and equal ones may come from other files."""
_watchers: dict[int, KeyedRef] = {}


def info_of(code: CodeType) -> CodeInfo:
    """The decoded form of `code`, made at the first call."""
    info = infos.get(id(code))
    return info if info is not None else _add(code)


def _forget(watcher: KeyedRef, infos: Any = infos, watchers: Any = _watchers) -> None:  # at exit the globals are gone
    infos.pop(watcher.key, None)
    watchers.pop(watcher.key, None)


def _add(code: CodeType) -> CodeInfo:
    key = id(code)
    watcher = _watchers[key] = KeyedRef(code, _forget)
    watcher.key = key
    original = original_code(code)
    info = infos[key] = CodeInfo(code) if original is code else info_of(original)
    return info


def instructions(code: CodeType) -> Iterator[tuple[int, Raw]]:
    """The instructions of `code` as the running Python has them, each with its byte offset (EXTENDED_ARG included)."""
    content = code.co_code
    extended, start, after_kw_names = 0, -1, False
    size = len(content)
    position = 0
    while position < size:
        name, arg = dis.opname[content[position]], content[position + 1] | extended
        first = position if start < 0 else start
        position += 2
        if name == "EXTENDED_ARG":
            extended, start = arg << 8, first
            continue
        while position < size and content[position] == 0:  # CACHE
            position += 2
        yield first, Raw(name, arg, _target(name, arg, position), after_kw_names)
        extended, start = 0, -1
        after_kw_names = name == "KW_NAMES" or (after_kw_names and name == "PRECALL")


def _decode(code: CodeType) -> tuple[tuple[Operation, ...], tuple[int, ...], dict[int, int]]:
    """(operations, the byte offset of each, byte offset -> index of the first operation at or after it).

    One flat loop: most instructions are expanded by `_FORMS`, the others by `expand`. An instruction behind
    EXTENDED_ARG reports itself (its positions, its lasti) at its own offset, as CPython does.
    """
    content, names, constants, handlers = code.co_code, code.co_names, code.co_consts, HANDLERS
    operations: list[Operation] = []
    offsets: list[int] = []
    index_of: dict[int, int] = {}
    jumps: list[int] = []
    extended, start, after_kw_names = 0, -1, False
    position, size, count = 0, len(content), 0
    while position < size:
        own, opcode, arg = position, content[position], content[position + 1] | extended
        form, name = _FORMS[opcode]
        if form == _PREFIX:
            extended, start = arg << 8, own if start < 0 else start
            position += 2
            continue
        position += 2 + (_cached[opcode] if opcode in _cached else _bytes_of_cache(content, position))
        if start < 0:
            index_of[own] = count
        else:
            index_of[start] = count
            extended, start = 0, -1
        if form == _SAME:
            known = _same.get(opcode << 32 | arg)
            if known is None:
                known = _same[opcode << 32 | arg] = handlers[name], arg
            operations.append(known)
        elif form == _NAME:
            operations.append((handlers[name], names[arg]))
        elif form == _CONSTANT:
            operations.append((handlers[name], constants[arg]))
        elif form == _BIT:
            operations.append((handlers[_BY_LOW_BIT[name][arg & 1]], names[arg >> 1]))
        elif form == _JUMP:
            jumps.append(count)
            operations.append((handlers[JUMPS[name]], _target(name, arg, position)))
        else:
            if form == _FIXED:
                expanded = _fixed.get((opcode, arg, after_kw_names))
                if expanded is None:
                    made = expand(Raw(name, arg, 0, after_kw_names), code)
                    expanded = [(handlers[normal], value) for normal, value in made]
                    _fixed[opcode, arg, after_kw_names] = expanded
                operations += expanded
            elif form == _OTHER:
                for normal, value in expand(Raw(name, arg, _target(name, arg, position), after_kw_names), code):
                    if normal in HAS_TARGET:
                        jumps.append(len(operations))
                    operations.append((handlers[normal], value))
            added = len(operations) - count
            offsets += [own] * added
            count += added
            after_kw_names = after_kw_names and opcode == _PRECALL
            continue
        offsets.append(own)
        count += 1
        after_kw_names = opcode == _KW_NAMES or (after_kw_names and opcode == _PRECALL)
    index_of[size] = len(operations)
    _resolve(operations, jumps, index_of)
    return tuple(operations), tuple(offsets), index_of


def _resolve(operations: list[Operation], jumps: list[int], index_of: dict[int, int]) -> None:
    """Puts the index of an operation in the place of the byte offset that each of `jumps` goes to."""
    for index in jumps:
        handler, value = operations[index]
        target = (index_of[value[0]], value[1]) if type(value) is tuple else index_of[value]  # SEND has a flag beside
        operations[index] = (handler, target)


def _bytes_of_cache(content: bytes, position: int) -> int:
    """The bytes of the CACHE entries behind the instruction at `position`: the same for each with its opcode."""
    behind = position + 2
    while behind < len(content) and content[behind] == 0:
        behind += 2
    found = _cached[content[position]] = behind - position - 2
    return found


_cached: dict[int, int] = {}
"""The results of `_bytes_of_cache`, by opcode."""


def _target(name: str, arg: int, behind: int) -> int:
    """The byte offset that an instruction jumps to, if it jumps; `behind`: where the next one is."""
    return behind + (-2 * arg if "BACKWARD" in name else 2 * arg)


_KW_NAMES, _PRECALL = dis.opmap.get("KW_NAMES", -1), dis.opmap.get("PRECALL", -1)
_SAME, _NAME, _CONSTANT, _BIT, _JUMP, _FIXED, _NOTHING, _OTHER, _PREFIX = range(9)
_BY_LOW_BIT: Final = {"LOAD_GLOBAL": ("LOAD_GLOBAL", "LOAD_GLOBAL_CALLEE"), "LOAD_ATTR": ("LOAD_ATTR", "LOAD_METHOD")}
_OF_CODE: Final = frozenset({"RETURN_CONST", "LOAD_SUPER_ATTR", "FOR_ITER", "SEND"})
"""Their expansion depends on the code object or on their position."""
_same: dict[int, Operation] = {}
"""Operations that an opcode and its argument make, whatever the code object, by both. Shared: most are, and each would
be an object more for the collector."""
_fixed: dict[tuple[int, int, bool], list[Operation]] = {}
"""The results of `expand` for the others, by opcode, argument, and whether KW_NAMES precedes."""


def _form_of(name: str) -> tuple[int, str]:
    """How `expand` treats an instruction, as far as its name determines that, and the normal instruction."""
    if name == "EXTENDED_ARG":
        return _PREFIX, name
    if name in SAME:
        return _SAME, name
    if name in ("LOAD_CONST", "KW_NAMES"):
        return _CONSTANT, "LOAD_CONST"
    if name in NAMES or (name == "LOAD_ATTR" and VERSION < (3, 12)):
        return _NAME, name
    if name in _BY_LOW_BIT:
        return _BIT, name
    if name in EXPANSIONS:
        return _OTHER if name in _OF_CODE else _FIXED, name
    if name in JUMPS:
        return _JUMP, name
    return (_NOTHING, name) if name in DROPPED else (_OTHER, name)


_FORMS: Final = tuple([_form_of(name) for name in dis.opname])


def exception_table(code: CodeType) -> Iterator[tuple[int, int, int, int, bool]]:
    """The entries of co_exceptiontable: (start, end, target, depth, push_lasti), in byte offsets, `end` exclusive."""
    content = iter(code.co_exceptiontable)

    def varint(first: int) -> int:
        value = first & 63
        while first & 64:
            first = next(content)
            value = value << 6 | first & 63
        return value

    for byte in content:
        start = varint(byte) * 2
        length = varint(next(content)) * 2
        target = varint(next(content)) * 2
        depth_lasti = varint(next(content))
        yield start, start + length, target, depth_lasti >> 1, bool(depth_lasti & 1)


def _handler_table(
    code: CodeType, index_of: dict[int, int], offsets: tuple[int, ...]
) -> tuple[ExceptionHandler | None, ...]:
    table: list[ExceptionHandler | None] = [None] * len(offsets)
    for start, end, target, depth, lasti in exception_table(code):
        handler = ExceptionHandler(index_of[target], depth, lasti)
        for index in range(bisect_left(offsets, start), bisect_left(offsets, end)):
            table[index] = handler
    return tuple(table)

