"""Checks of identity and type that no hook observes, found in the bytecode of the functions that run.

`a is b` and `a.__class__` call nothing that could be observed, and for a fake tensor or a symbolic size their result
may differ from eager's. The instructions show where a function makes such a check; the values of its variables when it
returns show whether the check was about tensors.
"""

from __future__ import annotations

import dis
from types import CodeType, FrameType, ModuleType
from typing import Any, NamedTuple

import torch
from torch import nn

from dynamo_lite.tracing.vocabulary.symbolic_numbers import SYMBOLIC, items_of
from dynamo_lite.tracing.vocabulary.type_tests import is_fake

_IS_OP = dis.opmap["IS_OP"]
_ITEM = "[]"
_ABSENT: Any = object()
"""A variable that is not set, or no tensor and no size."""
_ANY: Any = object()
"""A value that the names in the function do not lead to."""


class NamedOperand(NamedTuple):
    """Where a value comes from: a variable or a constant, and the attributes that lead from it to the value."""

    kind: str  # "local", "global", "const"
    name: Any
    path: tuple[str, ...] = ()


class Question(NamedTuple):
    """`kind` is "is" or "type". None among the operands: it may be anything."""

    kind: str
    operands: tuple[NamedOperand | None, ...]


_known: dict[int, tuple[CodeType, tuple[Question, ...]]] = {}


def questions(code: CodeType) -> tuple[Question, ...]:
    """The checks that a function makes. That it makes none is usually determined without decoding instructions."""
    known = _known.get(id(code))
    if known is None:
        asks = _IS_OP in code.co_code[::2] or "__class__" in code.co_names
        known = _known[id(code)] = code, _Reader().read(code) if asks else ()
    return known[1]


class _Reader:
    """Follows the stack from instruction to instruction, as far as it is names, attributes and items."""

    def __init__(self) -> None:
        self._stack: list[NamedOperand | None] = []
        self._found: dict[Question, None] = {}

    def read(self, code: CodeType) -> tuple[Question, ...]:
        for instruction in dis.get_instructions(code):
            if instruction.is_jump_target:
                self._stack.clear()
            self._step(instruction)
        return tuple(self._found)

    def _pop(self, count: int) -> list[NamedOperand | None]:
        """The topmost values, the lowest first."""
        return [self._stack.pop() if self._stack else None for _ in range(count)][::-1]

    def _step(self, at: dis.Instruction) -> None:
        name, stack = at.opname, self._stack
        if name in _LOADS:
            if name == "LOAD_GLOBAL" and "NULL" in at.argrepr:
                stack.append(None)
            for part in at.argval if type(at.argval) is tuple and name != "LOAD_CONST" else (at.argval,):
                stack.append(NamedOperand(_LOADS[name], _Const(part) if name == "LOAD_CONST" else part))
        elif name in ("LOAD_ATTR", "LOAD_METHOD"):
            (base,) = self._pop(1)
            if at.argval == "__class__":
                self._found[Question("type", (base,))] = None
            is_method = name == "LOAD_METHOD" or "NULL" in at.argrepr
            stack += [None] if is_method else []
            stack.append(None if base is None else base._replace(path=(*base.path, at.argval)))
        elif name == "IS_OP":
            self._found[Question("is", tuple(self._pop(2)))] = None
            stack.append(None)
        elif name == "CALL":
            self._call(at.arg or 0)
        elif name in ("PUSH_NULL", "COPY"):
            stack.append(None)
        elif name == "BINARY_SUBSCR":
            base = self._pop(2)[0]
            stack.append(None if base is None else base._replace(path=(*base.path, _ITEM)))
        elif name in ("BINARY_OP", "COMPARE_OP"):
            self._pop(2)
            stack.append(None)
        elif name not in ("PRECALL", "NOP", "CACHE", "RESUME", "KW_NAMES", "EXTENDED_ARG"):
            stack.clear()

    def _call(self, count: int) -> None:
        self._pop(count + 2)
        self._stack.append(None)


class _Const(NamedTuple):
    """A constant, hashed and compared by identity: 1 and True differ."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Const) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


_LOADS = {
    "LOAD_FAST": "local",
    "LOAD_FAST_CHECK": "local",
    "LOAD_FAST_LOAD_FAST": "local",
    "LOAD_DEREF": "local",
    "LOAD_CLASSDEREF": "local",
    "LOAD_GLOBAL": "global",
    "LOAD_NAME": "global",
    "LOAD_CONST": "const",
}


# -- what the operands are -------------------------------------------------------------------------------------------


def kinds_asked(found: tuple[Question, ...], frame: FrameType) -> set[str]:
    """The kinds of the checks on fake tensors or symbolic sizes, by the variables of a frame as it returns."""
    variables = frame.f_locals
    return {question.kind for question in found if _is_about_fakes(question, variables, frame)}


def _is_about_fakes(question: Question, variables: Any, frame: FrameType) -> bool:
    values = [_ANY if o is None else _value(o, variables, frame) for o in question.operands]
    if question.kind == "type":
        return values[0] is _ANY or is_fake(values[0]) or type(values[0]) in SYMBOLIC
    return all(value is _ANY or isinstance(value, torch.Tensor) for value in values)


def _value(operand: NamedOperand, variables: Any, frame: FrameType) -> Any:
    if operand.kind == "const":
        value = operand.name.value
    elif operand.kind == "local":
        value = variables.get(operand.name, _ABSENT)
    else:
        value = frame.f_globals.get(operand.name, frame.f_builtins.get(operand.name, _ABSENT))
    for name in operand.path:
        value = _item(value) if name == _ITEM else _attribute(value, name)
    return value


def _item(value: Any) -> Any:
    """Some item of a container."""
    if isinstance(value, nn.Module):
        return _ABSENT
    items = items_of(value)
    if items is None or any(isinstance(item, torch.Tensor) or type(item) in SYMBOLIC for item in items):
        return _ANY
    return _ABSENT


def _attribute(value: Any, name: str) -> Any:
    """An attribute, found without running anything of the program's."""
    if value is _ANY or value is _ABSENT or isinstance(value, torch.Tensor):
        return _ANY
    if isinstance(value, (ModuleType, type)):
        return vars(value).get(name, _ANY)
    try:
        namespace = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return _ANY
    places = [namespace]
    if isinstance(value, nn.Module):
        places += [namespace.get(registry) or {} for registry in ("_parameters", "_buffers", "_modules")]
    return next((place[name] for place in places if name in place), _ANY)
