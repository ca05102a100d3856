"""Decides which Python functions CPython may evaluate itself during a trace.

Trusted is code that neither calls back into the program nor keeps state that the program can see; everything else is
interpreted. `trust_table.py` has the levels by module. In the modules that are trusted as stateless, inspection
decides, once per function: one that assigns a global or an attribute, a closure, and every method of a class one of
whose methods assigns an attribute, is interpreted. A function is judged by the module that its *globals* belong to, so
that a decorator's wrapper is judged by where the decorator is defined, not by the name that functools.wraps gave it.
"""

from __future__ import annotations

import asyncio
import inspect
import opcode
import sys
import traceback
import typing
from collections.abc import Iterator
from contextlib import suppress
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import torch
from torch.nn.utils import rnn

from dynamo_lite.interpreter.datamodel.trampoline_code import original_code
from dynamo_lite.tracing.policy.trust_table import TABLE, UNKNOWN, Trust, TrustLevel

_UNKNOWN: Any = object()
_RUNS_NATIVELY = "dynamo_lite.interpreter.vm"
_by_module: dict[str, Trust] = {}
_by_code: dict[int, tuple[CodeType, bool]] = {}
"""id of a code object → (the code, so that the id stays its own, whether its function is trusted)."""


def trust_of(module: str) -> Trust:
    """The row of the table for the functions whose globals are those of `module`."""
    known = _by_module.get(module)
    if known is None:
        known = TABLE.get(f"{module}:")
        prefix = module
        while known is None and prefix:
            known = TABLE.get(prefix)
            prefix = prefix.rpartition(".")[0]
        _by_module[module] = known = known or UNKNOWN
    return known


def is_trusted_module(name: str) -> bool:
    """Whether a module is of a library that looks into the program for its own ends: no code of the program's.

    Its functions need not run natively (see `is_trusted`).
    """
    return trust_of(name).level is not TrustLevel.CALLS


def is_below(name: str) -> bool:
    """Whether a module is part of the implementation of operators, or of this tracer."""
    return trust_of(name).level is TrustLevel.BELOW


def stateless_code_at_work() -> frozenset[CodeType]:
    """Return the code of library functions that were inspected and run natively right now, inside of the innermost call
    that the interpreter made: if they are interpreted, the run could look into them."""
    found = []
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") != _RUNS_NATIVELY:
        name = frame.f_globals.get("__name__")
        if isinstance(name, str) and trust_of(name).level is TrustLevel.STATELESS:
            found.append(frame.f_code)
        frame = frame.f_back
    return frozenset(found)


_as_a_whole: dict[Any, bool | None] = {}
"""`is_trusted_as_a_whole`, by the name of the module."""


def is_trusted(fn: FunctionType) -> bool:
    """Whether CPython may evaluate `fn` during a trace."""
    if fn.__closure__ is not None and wraps_the_program(fn):
        return False
    name = fn.__globals__.get("__name__")
    whole = _as_a_whole.get(name, _UNKNOWN) if type(name) is str else _UNKNOWN
    if whole is _UNKNOWN:
        whole = is_trusted_as_a_whole(fn)
        if type(name) is str:
            _as_a_whole[name] = whole
    if whole is not None:
        return whole
    code = original_code(fn.__code__)
    known = _by_code.get(id(code))
    if known is None:
        known = _by_code[id(code)] = code, not keeps_state(fn, code)
    return known[1]


def wraps_the_program(fn: FunctionType) -> bool:
    """Whether `fn` is the wrapper that a decorator of a library made of a function of the program's, which it calls:
    torch.compiler.nonstrict_trace, torch.jit.script_if_tracing."""
    return any(_is_of_the_program(inner) for inner in (fn.__dict__.get("__wrapped__"), *_contents(fn.__closure__)))


def _contents(cells: tuple[CellType, ...] | None) -> Iterator[Any]:
    for cell in cells or ():
        with suppress(ValueError):  # not filled yet
            yield cell.cell_contents


def _is_of_the_program(fn: Any) -> bool:
    return type(fn) is FunctionType and not in_library(str(fn.__globals__.get("__name__")))


def is_trusted_as_a_whole(fn: FunctionType) -> bool | None:
    """Return the answer for every function with the globals of `fn`, except for wrappers; None if each is inspected."""
    name = fn.__globals__.get("__name__")
    level = trust_of(name).level if isinstance(name, str) else TrustLevel.CALLS
    return None if level is TrustLevel.STATELESS else level is TrustLevel.BELOW


# -- inspection ------------------------------------------------------------------------------------------------------

_ASSIGNS = frozenset(opcode.opmap[name] for name in ("STORE_ATTR", "DELETE_ATTR"))
_ASSIGNS_GLOBALS = frozenset(opcode.opmap[name] for name in ("STORE_GLOBAL", "DELETE_GLOBAL"))


def keeps_state(fn: FunctionType, code: CodeType) -> bool:
    """Whether a function changes state that outlives its call, is of a class whose objects change, or is a closure.

    (A closure may be a decorator's wrapper, which calls its function.)
    """
    if code.co_freevars or assigns(code, _ASSIGNS | _ASSIGNS_GLOBALS):
        return True
    owner = code.co_qualname.rpartition(".")[0]
    if not owner or "<locals>" in owner:
        return False
    cls: Any = fn.__globals__
    for part in owner.split("."):
        cls = cls.get(part) if isinstance(cls, dict) else vars(cls).get(part)
        if not isinstance(cls, type):
            return False
    return has_state(cls)


def has_state(cls: type) -> bool:
    """Whether a method of a class assigns an attribute."""
    return any(assigns(original_code(fn.__code__), _ASSIGNS) for fn in _functions_of(cls))


def assigns(code: CodeType, opcodes: frozenset[int]) -> bool:
    """Whether one of these instructions is in the code, or in that of a function inside of it."""
    if not opcodes.isdisjoint(code.co_code[::2]):
        return True
    return any(type(const) is CodeType and assigns(const, opcodes) for const in code.co_consts)


def _functions_of(cls: type) -> Iterator[FunctionType]:
    for value in vars(cls).values():
        parts = (value.fget, value.fset, value.fdel) if isinstance(value, property) else (value,)
        for part in parts:
            function = inspect.unwrap(getattr(part, "__func__", part)) if callable(part) else None
            if isinstance(function, FunctionType):
                yield function


def _that_ask_who_calls(module: ModuleType) -> Iterator[Any]:
    """The functions of a module that write down which module called them (`typing.NewType`, of 3.11 also `TypeVar`)."""
    for value in vars(module).values():
        own = _functions_of(value) if isinstance(value, type) and value.__module__ == module.__name__ else (value,)
        for fn in own:
            if isinstance(fn, FunctionType) and not _WHO_CALLS.isdisjoint(fn.__code__.co_names):
                yield fn


_WHO_CALLS = frozenset({"_caller", "_getframe", "_getframemodulename"})
_FRAME_READERS = frozenset(
    fn.__code__
    for fn in (
        *(inspect.currentframe, inspect.stack, inspect.trace),
        *(traceback.extract_stack, traceback.format_stack, traceback.print_stack, traceback.walk_stack),
        *_that_ask_who_calls(typing),
    )
)


def reads_frames(fn: FunctionType) -> bool:
    """Whether `fn`, of a trusted module, looks at the frames of its caller: natively it would find those of ours."""
    return original_code(fn.__code__) in _FRAME_READERS


INTERPRETED = frozenset(
    fn.__code__
    for fn in (
        torch.nn.functional.affine_grid,
        *(rnn.pack_sequence, rnn.pack_padded_sequence, rnn.pad_packed_sequence),
        *(torch.autograd.backward, torch.Tensor.backward),
        *(inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction, inspect.getclosurevars),
        *(inspect._has_code_flag, asyncio.iscoroutinefunction),  # type: ignore[attr-defined]
        *(inspect.getgeneratorlocals, inspect.getcoroutinelocals),
    )
)
"""Functions that are interpreted though they are trusted. affine_grid takes min() of sizes to reject those that are not
positive, which in C decides which size is the smallest. Lengths given as sizes become a tensor in pack_sequence and its
kin, and pad_packed_sequence raises for some data. backward() runs the engine, which features/training answers.
Those of inspect look at flags and names in the code object of a function that they are given: natively they would find
its trampoline's."""


def report() -> str:
    """The table in words: each row, how it is trusted, and why."""
    lines = []
    for level in TrustLevel:
        lines.append(f"{level.name}: {level.value}")
        lines += [f"  {name:36} {trust.reason}" for name, trust in sorted(TABLE.items()) if trust.level is level]
    return "\n".join(lines)


if __name__ == "__main__":
    print(report())


def in_library(module_name: str) -> bool:
    """Whether a module is the standard library's, torch's or trusted: its use of id(), time, ... is its own affair."""
    known = libraries.get(module_name)
    if known is None:
        package = module_name.partition(".")[0]
        of_library = package in ("torch", "numpy") or package in sys.stdlib_module_names
        known = libraries[module_name] = of_library or is_trusted_module(module_name)
    return known


libraries: dict[Any, bool] = {}
"""Name of a module → `in_library`: the tables do not change."""
