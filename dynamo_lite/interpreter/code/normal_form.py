"""The normal form: one vocabulary of instructions for CPython 3.11 to 3.14.

`expand` turns one instruction of the running Python into zero or more *normal* instructions, each a pair
(name, argument) whose argument is resolved: a constant's value, a name, an index into the frame's locals,
an operator's symbol, the offset of a jump's target. Differences between versions are in the tables of this file;
the handlers (package `opcodes`) are written once, against the normal form.

The differences in short (see https://docs.python.org/3/library/dis.html):

=====================  ============================================================================================
the value stack        NULL is before the callable (3.11, 3.12) or after it (from 3.13): CALL takes both
KW_NAMES, PRECALL      3.11/3.12 CALL after KW_NAMES becomes CALL_KW, which takes the names from the stack as in 3.13
CALL_FUNCTION_EX       its keyword arguments are optional, by the argument; in 3.14 always on the stack, or NULL
FOR_ITER               pops its iterator when exhausted (3.11); from 3.12 on the jump passes over END_FOR
SEND                   pops its receiver when finished (3.11), or leaves it to END_SEND: the flag `pops`
COMPARE_OP             the operator's index moved (3.12, 3.13); 3.13 may convert the result to bool: + TO_BOOL
fused instructions     LOAD_FAST_LOAD_FAST, STORE_FAST_*, RETURN_CONST are split again
BINARY_OP []           3.14: BINARY_SUBSCR again
LOAD_FAST_CHECK        LOAD_FAST, which checks for an unbound variable in all versions
LOAD_FAST_BORROW       3.14: LOAD_FAST; LOAD_SMALL_INT, LOAD_COMMON_CONSTANT: LOAD_CONST
with                   3.14 has LOAD_SPECIAL for BEFORE_WITH: NULL is beside __exit__, and __exit__ is looked up first
intrinsics             CALL_INTRINSIC_1/2 n becomes an instruction of its own, named as in 3.11 where there was one
=====================  ============================================================================================
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterable
from types import CodeType
from typing import Any, NamedTuple

VERSION = sys.version_info[:2]

Normal = tuple[str, Any]


class Raw(NamedTuple):
    """One instruction as the running Python has it; `target` is the byte offset that it would jump to."""

    name: str
    arg: int
    target: int
    after_kw_names: bool


DROPPED = frozenset({"CACHE", "NOP", "PRECALL", "RESUME", "EXTENDED_ARG", "GEN_START", "COPY_FREE_VARS", "RESERVED",
                     "INTERPRETER_EXIT", "EXIT_INIT_CHECK", "ENTER_EXECUTOR", "NOT_TAKEN"})  # fmt: skip
"""No effect of their own here: caches, tracing points, what making the frame does, what CPython puts in by itself."""

SAME = frozenset({
    "POP_TOP", "PUSH_NULL", "UNARY_NEGATIVE", "UNARY_NOT", "UNARY_INVERT", "UNARY_POSITIVE", "TO_BOOL",
    "BINARY_SUBSCR", "STORE_SUBSCR", "DELETE_SUBSCR", "BINARY_SLICE", "STORE_SLICE", "GET_ITER", "GET_AITER",
    "GET_ANEXT", "GET_LEN", "BEFORE_ASYNC_WITH", "BEFORE_WITH", "END_ASYNC_FOR", "CLEANUP_THROW",
    "LOAD_BUILD_CLASS", "LOAD_ASSERTION_ERROR", "LOAD_LOCALS", "RETURN_VALUE", "YIELD_VALUE", "SETUP_ANNOTATIONS",
    "POP_EXCEPT", "PUSH_EXC_INFO", "CHECK_EXC_MATCH", "CHECK_EG_MATCH", "WITH_EXCEPT_START", "MATCH_MAPPING",
    "MATCH_SEQUENCE", "MATCH_KEYS", "END_SEND", "IMPORT_STAR", "PRINT_EXPR", "LIST_TO_TUPLE", "ASYNC_GEN_WRAP",
    "PREP_RERAISE_STAR", "GET_YIELD_FROM_ITER", "GET_AWAITABLE", "BUILD_TUPLE", "BUILD_LIST", "BUILD_SET",
    "BUILD_MAP", "BUILD_STRING", "BUILD_SLICE", "LIST_APPEND", "SET_ADD", "MAP_ADD", "LIST_EXTEND", "SET_UPDATE",
    "DICT_UPDATE", "DICT_MERGE", "UNPACK_SEQUENCE", "UNPACK_EX", "RAISE_VARARGS", "RERAISE", "MATCH_CLASS",
    "COPY", "SWAP", "SET_FUNCTION_ATTRIBUTE", "LOAD_FAST", "LOAD_FAST_AND_CLEAR", "STORE_FAST",
    "DELETE_FAST", "MAKE_CELL", "LOAD_DEREF", "STORE_DEREF", "DELETE_DEREF", "LOAD_FROM_DICT_OR_DEREF",
    "CONVERT_VALUE", "MAKE_FUNCTION", "BUILD_TEMPLATE",
})  # fmt: skip
"""Carried over by name, with the number as the argument."""

NAMES = frozenset({
    "LOAD_NAME", "STORE_NAME", "DELETE_NAME", "STORE_ATTR", "DELETE_ATTR", "STORE_GLOBAL", "DELETE_GLOBAL",
    "IMPORT_NAME", "IMPORT_FROM", "LOAD_METHOD", "LOAD_FROM_DICT_OR_GLOBALS",
})  # fmt: skip
"""The argument is an index into co_names."""

JUMPS = {
    "JUMP_FORWARD": "JUMP",
    "JUMP_BACKWARD": "JUMP",
    "JUMP_BACKWARD_NO_INTERRUPT": "JUMP",
    "JUMP_IF_TRUE_OR_POP": "JUMP_IF_TRUE_OR_POP",
    "JUMP_IF_FALSE_OR_POP": "JUMP_IF_FALSE_OR_POP",
    **{
        f"POP_JUMP{direction}_IF_{when}": f"POP_JUMP_IF_{when}"
        for direction in ("", "_FORWARD", "_BACKWARD")
        for when in ("TRUE", "FALSE", "NONE", "NOT_NONE")
    },
}
"""The argument is the byte offset of the target."""

BINARY_SYMBOLS = ("+", "&", "//", "<<", "@", "*", "%", "|", "**", ">>", "-", "/", "^")
"""The operators of BINARY_OP in CPython's order (Include/opcode.h, NB_ADD ...); the in-place ones follow."""

INTRINSICS_1 = ("INTRINSIC_1_INVALID", "PRINT_EXPR", "IMPORT_STAR", "STOPITERATION_ERROR", "ASYNC_GEN_WRAP",
                "UNARY_POSITIVE", "LIST_TO_TUPLE", "TYPEVAR", "PARAMSPEC", "TYPEVARTUPLE", "SUBSCRIPT_GENERIC",
                "TYPEALIAS")  # fmt: skip
INTRINSICS_2 = ("INTRINSIC_2_INVALID", "PREP_RERAISE_STAR", "TYPEVAR_WITH_BOUND", "TYPEVAR_WITH_CONSTRAINTS",
                "SET_FUNCTION_TYPE_PARAMS", "SET_TYPEPARAM_DEFAULT")  # fmt: skip

COMMON_CONSTANTS = (AssertionError, NotImplementedError, tuple, all, any)
"""The values of LOAD_COMMON_CONSTANT (3.14, Include/internal/pycore_opcode_utils.h), independent of the builtins."""
SPECIAL_METHODS = ("__enter__", "__exit__", "__aenter__", "__aexit__")
"""The names that LOAD_SPECIAL looks up on the type."""

_COMPARE_SHIFT = {(3, 11): 0, (3, 12): 4}.get(VERSION, 5)


def _load_global(raw: Raw, code: CodeType) -> list[Normal]:
    return [("LOAD_GLOBAL_CALLEE" if raw.arg & 1 else "LOAD_GLOBAL", code.co_names[raw.arg >> 1])]


def _load_attr(raw: Raw, code: CodeType) -> list[Normal]:
    if VERSION < (3, 12):
        return [("LOAD_ATTR", code.co_names[raw.arg])]
    return [("LOAD_METHOD" if raw.arg & 1 else "LOAD_ATTR", code.co_names[raw.arg >> 1])]


def _load_super_attr(raw: Raw, code: CodeType) -> list[Normal]:
    name = code.co_names[raw.arg >> 2]
    return [("LOAD_SUPER", bool(raw.arg & 2)), ("LOAD_METHOD" if raw.arg & 1 else "LOAD_ATTR", name)]


def _compare(raw: Raw, code: CodeType) -> list[Normal]:
    compare = ("COMPARE_OP", dis.cmp_op[raw.arg >> _COMPARE_SHIFT])
    return [compare, ("TO_BOOL", 0)] if VERSION >= (3, 13) and raw.arg & 16 else [compare]


def _binary(raw: Raw, code: CodeType) -> list[Normal]:
    count = len(BINARY_SYMBOLS)
    if raw.arg == 2 * count:
        return [("BINARY_SUBSCR", 0)]
    return [("BINARY_OP", BINARY_SYMBOLS[raw.arg])] if raw.arg < count else [
        ("INPLACE_OP", BINARY_SYMBOLS[raw.arg - count])
    ]  # fmt: skip


def _two_fast(first: str, second: str) -> Callable[[Raw, CodeType], list[Normal]]:
    return lambda raw, code: [(first, raw.arg >> 4), (second, raw.arg & 15)]


def _end_for(raw: Raw, code: CodeType) -> list[Normal]:
    return [("POP_TOP", 0)] * (2 if VERSION < (3, 13) else 1)


def _for_iter(raw: Raw, code: CodeType) -> list[Normal]:
    """From 3.12 on an exhausted FOR_ITER goes past END_FOR (from 3.13 on past POP_TOP or POP_ITER too)."""
    return [("FOR_ITER", raw.target + {(3, 11): 0, (3, 12): 2}.get(VERSION, 4))]


EXPANSIONS: dict[str, Callable[[Raw, CodeType], list[Normal]]] = {
    "LOAD_CONST": lambda raw, code: [("LOAD_CONST", code.co_consts[raw.arg])],
    "RETURN_CONST": lambda raw, code: [("LOAD_CONST", code.co_consts[raw.arg]), ("RETURN_VALUE", 0)],
    "KW_NAMES": lambda raw, code: [("LOAD_CONST", code.co_consts[raw.arg])],
    "CALL": lambda raw, code: [("CALL_KW" if raw.after_kw_names else "CALL", raw.arg)],
    "CALL_KW": lambda raw, code: [("CALL_KW", raw.arg)],
    "CALL_FUNCTION_EX": lambda raw, code: [("CALL_FUNCTION_EX", VERSION >= (3, 14) or bool(raw.arg & 1))],
    "LOAD_GLOBAL": _load_global,
    "LOAD_ATTR": _load_attr,
    "LOAD_SUPER_ATTR": _load_super_attr,
    "LOAD_SMALL_INT": lambda raw, code: [("LOAD_CONST", raw.arg)],
    "LOAD_COMMON_CONSTANT": lambda raw, code: [("LOAD_CONST", COMMON_CONSTANTS[raw.arg])],
    "LOAD_SPECIAL": lambda raw, code: [("LOAD_SPECIAL", SPECIAL_METHODS[raw.arg])],
    "LOAD_FAST_CHECK": lambda raw, code: [("LOAD_FAST", raw.arg)],
    "LOAD_FAST_BORROW": lambda raw, code: [("LOAD_FAST", raw.arg)],
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": _two_fast("LOAD_FAST", "LOAD_FAST"),
    "POP_ITER": lambda raw, code: [("POP_TOP", 0)],
    "BUILD_INTERPOLATION": lambda raw, code: [("BUILD_INTERPOLATION", (raw.arg >> 2, bool(raw.arg & 1)))],
    "LOAD_CLOSURE": lambda raw, code: [("LOAD_FAST", raw.arg)],
    "LOAD_CLASSDEREF": lambda raw, code: [("LOAD_LOCALS", 0), ("LOAD_FROM_DICT_OR_DEREF", raw.arg)],
    "COMPARE_OP": _compare,
    "IS_OP": lambda raw, code: [("IS_OP", bool(raw.arg))],
    "CONTAINS_OP": lambda raw, code: [("CONTAINS_OP", bool(raw.arg))],
    "BINARY_OP": _binary,
    "LOAD_FAST_LOAD_FAST": _two_fast("LOAD_FAST", "LOAD_FAST"),
    "STORE_FAST_STORE_FAST": _two_fast("STORE_FAST", "STORE_FAST"),
    "STORE_FAST_LOAD_FAST": _two_fast("STORE_FAST", "LOAD_FAST"),
    "END_FOR": _end_for,
    "FOR_ITER": _for_iter,
    "SEND": lambda raw, code: [("SEND", (raw.target, VERSION < (3, 12)))],
    "BUILD_CONST_KEY_MAP": lambda raw, code: [("BUILD_CONST_KEY_MAP", raw.arg)],
    "FORMAT_VALUE": lambda raw, code: [("FORMAT_VALUE", (raw.arg & 3, bool(raw.arg & 4)))],
    "FORMAT_SIMPLE": lambda raw, code: [("FORMAT_VALUE", (0, False))],
    "FORMAT_WITH_SPEC": lambda raw, code: [("FORMAT_VALUE", (0, True))],
    # The generator object is made by the call; its body starts with the value that RETURN_GENERATOR's POP_TOP drops.
    "RETURN_GENERATOR": lambda raw, code: [("LOAD_CONST", None)],
    "CALL_INTRINSIC_1": lambda raw, code: [(INTRINSICS_1[raw.arg], 0)],
    "CALL_INTRINSIC_2": lambda raw, code: [(INTRINSICS_2[raw.arg], 0)],
}

HAS_TARGET = frozenset({*JUMPS.values(), "FOR_ITER", "SEND"})
"""Normal instructions whose argument is (or, for SEND, begins with) the target of a jump."""


def expand(raw: Raw, code: CodeType) -> Iterable[Normal]:
    """The normal instructions of `raw`. Raises NotImplementedError for an opcode that no table knows."""
    name = raw.name
    if name in SAME:
        return ((name, raw.arg),)
    expansion = EXPANSIONS.get(name)
    if expansion is not None:
        return expansion(raw, code)
    if name in NAMES:
        return ((name, code.co_names[raw.arg]),)
    jump = JUMPS.get(name)
    if jump is not None:
        return ((jump, raw.target),)
    if name in DROPPED:
        return ()
    raise NotImplementedError(f"the interpreter does not know the opcode {name} of Python {sys.version.split()[0]}")
