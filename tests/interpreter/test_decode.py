"""Decoding, against `dis` and the `bytecode` library, and the set of opcodes against the running Python's."""

from __future__ import annotations

import argparse
import dis
import enum
import inspect
import opcode
import types
import typing
from collections.abc import Iterator

import pytest
from bytecode import ConcreteBytecode

from dynamo_lite.interpreter.code.decode import exception_table, info_of, instructions
from dynamo_lite.interpreter.code.handler_table import HANDLERS
from dynamo_lite.interpreter.code.normal_form import (
    DROPPED,
    EXPANSIONS,
    HAS_TARGET,
    INTRINSICS_1,
    INTRINSICS_2,
    JUMPS,
    NAMES,
    SAME,
    Raw,
    expand,
)


def code_objects(*modules: types.ModuleType) -> Iterator[types.CodeType]:
    """The code objects of modules, with those nested in them."""
    todo = [compile(inspect.getsource(module), str(module.__file__), "exec") for module in modules]
    while todo:
        code = todo.pop()
        yield code
        todo += [const for const in code.co_consts if isinstance(const, types.CodeType)]


KNOWN = SAME | NAMES | DROPPED | JUMPS.keys() | EXPANSIONS.keys()
BY_VERSION = (
    "BINARY_OP INPLACE_OP LOAD_CONST CALL CALL_KW CALL_FUNCTION_EX LOAD_GLOBAL IS_OP LOAD_GLOBAL_CALLEE LOAD_ATTR "
    "LOAD_SUPER COMPARE_OP CONTAINS_OP FOR_ITER SEND BUILD_CONST_KEY_MAP FORMAT_VALUE LOAD_SPECIAL BUILD_INTERPOLATION"
)
NORMAL = {*SAME, *NAMES, *JUMPS.values(), *BY_VERSION.split(), *INTRINSICS_1[1:], *INTRINSICS_2[1:]}
"""The names of the normal form: each needs a handler."""

CODES = list(code_objects(argparse, dis, enum, typing))


def is_instrumented_or_pseudo(name: str, number: int) -> bool:
    """Put in by CPython at run time (sys.monitoring, traces), or used by the compiler only (above 255)."""
    return name.startswith("INSTRUMENTED_") or number > 255 or (name.startswith("<") and name.endswith(">"))


def test_every_opcode_of_this_python_is_known() -> None:
    here = {name for name, number in opcode.opmap.items() if not is_instrumented_or_pseudo(name, number)}
    assert here - KNOWN == set()


def test_every_normal_instruction_has_a_handler_and_no_handler_is_unused() -> None:
    assert set(HANDLERS) == NORMAL


def test_a_handler_is_named_after_its_instruction() -> None:
    assert all(handler.__name__ == name for name, handler in HANDLERS.items())


def test_instructions_are_those_of_dis() -> None:
    for code in CODES:
        expected = [
            (i.opname, i.arg or 0)
            for i in dis.get_instructions(code)
            if i.opname not in ("EXTENDED_ARG", "CACHE")
        ]
        found = [(raw.name, raw.arg if raw.name in _WITH_ARG else 0) for _, raw in instructions(code)]
        assert found == [(name, arg if name in _WITH_ARG else 0) for name, arg in expected]


_WITH_ARG = {name for name, number in opcode.opmap.items() if number >= dis.HAVE_ARGUMENT}


def test_jump_targets_are_those_of_dis() -> None:
    for code in CODES:
        expected = [i.argval for i in dis.get_instructions(code) if i.opcode in dis.hasjrel]
        found = [raw.target for _, raw in instructions(code) if opcode.opmap[raw.name] in dis.hasjrel]
        assert found == expected


def test_exception_table_is_that_of_the_bytecode_library() -> None:
    for code in CODES:
        # bytecode counts in code units, and its ends are inclusive
        expected = [
            (2 * e.start_offset, 2 * e.stop_offset + 2, 2 * e.target, e.stack_depth, e.push_lasti)
            for e in ConcreteBytecode.from_code(code, extended_arg=True).exception_table
        ]
        assert list(exception_table(code)) == expected


def test_jumps_lead_to_instructions_and_offsets_ascend() -> None:
    for code in CODES:
        info = info_of(code)
        assert list(info.offsets) == sorted(info.offsets)
        for handler, arg in info.ops:
            if handler.__name__.startswith(("JUMP", "POP_JUMP", "FOR_ITER")):
                assert 0 <= arg < len(info.ops)


def test_a_code_object_is_decoded_once_and_not_kept_alive() -> None:
    import gc
    import weakref

    code = compile("1 + 1", "<once>", "eval")
    assert info_of(code) is info_of(code)
    gone = weakref.ref(code)
    del code
    gc.collect()
    assert gone() is None


def test_the_flat_loop_gives_what_expand_says_of_each_instruction() -> None:
    for code in CODES:
        normal = [(offset, *operation) for offset, raw in instructions(code) for operation in expand(raw, code)]
        index_of = {offset: index for index, (offset, *_) in reversed([*enumerate(normal)])}
        info = info_of(code)
        assert len(info.ops) == len(normal)
        for (handler, found), (_, name, expected) in zip(info.ops, normal):
            if name == "SEND":
                assert info.ops[found[0]] is info.ops[_landing(code, index_of, expected[0])]
                found, expected = found[1], expected[1]
            elif name in HAS_TARGET:
                expected = _landing(code, index_of, expected)
            assert (handler, found) == (HANDLERS[name], expected)


def _landing(code: types.CodeType, index_of: dict[int, int], offset: int) -> int:
    """The first operation at or behind an offset."""
    return next(index_of[at] for at in range(offset, len(code.co_code)) if at in index_of)


def test_an_unknown_opcode_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotImplementedError, match="FLY_TO_MOON"):
        expand(Raw("FLY_TO_MOON", 0, 0, False), compile("0", "", "eval"))


def test_dropped_instructions_are_in_no_other_table() -> None:
    assert set() == DROPPED & NORMAL


def test_a_test_within_try_is_under_its_handler() -> None:
    """From Python 3.14 on the exception table leaves the jump of `if` out, where the truth of a tensor is decided."""

    def program(x: object) -> int:
        try:
            for item in (x,):
                if item:
                    raise ValueError
        except ValueError:
            return 1
        return 2

    info = info_of(program.__code__)
    tests = [at for at, (handler, _) in enumerate(info.ops) if handler.__name__.startswith("POP_JUMP_IF")]
    assert info.handler_at(program.__code__, tests[0]) == info.handler_at(program.__code__, tests[0] - 1) is not None
