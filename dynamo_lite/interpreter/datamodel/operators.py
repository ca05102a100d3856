"""Operators: binary, in-place, unary, comparison, truth.

Each table entry is a function (vm, a, b) made once; opcodes resolve theirs when the code is decoded. Built-in
atoms go straight to C. For other operands C's own dispatch runs (reflected operands, a subclass's priority,
NotImplemented, in-place fallback, CPython's TypeErrors) and enters Python dunders by trampolines.
"""

from __future__ import annotations

import collections
import operator
from collections.abc import Callable
from enum import Enum
from typing import Any

from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.value_types import BUILT_IN_CONTAINERS, HOLD_NO_FUNCTIONS

Binary = Callable[[Any, Any, Any], Any]
_NUMBERS = frozenset({int, float, bool, complex, str, bytes, type(None)})
_SEQUENCES = frozenset({list, tuple})
_KEYS: type = type({}.keys())

PLAIN_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "&": operator.and_, "//": operator.floordiv, "<<": operator.lshift, "@": operator.matmul,
    "*": operator.mul, "%": operator.mod, "|": operator.or_, "**": operator.pow, ">>": operator.rshift,
    "-": operator.sub, "/": operator.truediv, "^": operator.xor,
}  # fmt: skip
"""CPython's function for `a + b`, by symbol."""
PLAIN_INPLACE: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.iadd, "&": operator.iand, "//": operator.ifloordiv, "<<": operator.ilshift, "@": operator.imatmul,
    "*": operator.imul, "%": operator.imod, "|": operator.ior, "**": operator.ipow, ">>": operator.irshift,
    "-": operator.isub, "/": operator.itruediv, "^": operator.ixor,
}  # fmt: skip
PLAIN_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_USES_ELEMENTS = frozenset({"%", "&", "|", "^", "-"})  # str formatting and set algebra call the elements' dunders
_UNARY_OPERATORS: dict[str, Callable[[Any], Any]] = {"-": operator.neg, "+": operator.pos, "~": operator.invert}


def _look(vm: Any, *operands: Any) -> None:
    """Reports to the observer that a built-in operator reads these (their elements too: `==`, `+` of lists)."""
    if vm.on_look is not None:
        for operand in operands:
            if type(operand) not in HOLD_NO_FUNCTIONS:
                vm.on_look("unordered" if type(operand) is _KEYS else "parts", operand)


def _binary(operation: Callable[[Any, Any], Any], uses_elements: bool) -> Binary:
    def shallow(vm: Any, a: Any, b: Any) -> Any:
        if type(a) in _NUMBERS and type(b) in _NUMBERS:
            return operation(a, b)
        _look(vm, a, b)
        result = vm.trampolines.apply_shallow(operation, a, b)
        return result if vm.after_operator is None else vm.after_operator((a, b), result)

    def deep(vm: Any, a: Any, b: Any) -> Any:
        if type(a) in _NUMBERS and type(b) in _NUMBERS:
            return operation(a, b)
        _look(vm, a, b)
        result = vm.trampolines.apply(operation, a, b)
        return result if vm.after_operator is None else vm.after_operator((a, b), result)

    return deep if uses_elements else shallow


def _product(operation: Callable[[Any, Any], Any]) -> Binary:
    """`a * b`: the observer may answer for `[x] * n`."""

    def multiply(vm: Any, a: Any, b: Any) -> Any:
        if type(a) in _NUMBERS and type(b) in _NUMBERS:
            return operation(a, b)
        if vm.on_repeat is not None and (type(a) in _SEQUENCES or type(b) in _SEQUENCES):
            answer = vm.on_repeat(a, b)
            if answer is not NOT_HANDLED:
                return answer
        _look(vm, a, b)
        result = vm.trampolines.apply_shallow(operation, a, b)
        return result if vm.after_operator is None else vm.after_operator((a, b), result)

    return multiply


def _inplace(symbol: str, operation: Callable[[Any, Any], Any]) -> Binary:
    binary = _binary(operation, symbol in _USES_ELEMENTS)

    def change(vm: Any, a: Any, b: Any) -> Any:
        if vm.before_write is not None and type(a) not in _NUMBERS:
            vm.before_write("inplace", a, symbol, b)
        if isinstance(b, (set, frozenset)) and isinstance(a, (list, collections.deque)) and vm.on_look is not None:
            vm.on_look("items", b)  # the list takes them in the set's order
        return binary(vm, a, b)

    return change


def _equality(operation: Callable[[Any, Any], Any]) -> Binary:
    plain, wanted = _binary(operation, True), operation is operator.eq

    def compare(vm: Any, a: Any, b: Any) -> Any:
        if vm.on_equal is not None and isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
            answer = vm.on_equal(a, b, wanted)
            if answer is not NOT_HANDLED:
                _look(vm, a, b)
                return answer
        look_by_identity(vm, a, b)
        return plain(vm, a, b)

    return compare


def look_by_identity(vm: Any, a: Any, b: Any) -> None:
    """Reports `a == b` to the observer as an identity check if it compares by identity."""
    kind = type(a)
    if vm.on_look is None or kind is not type(b) or kind.__eq__ is not object.__eq__ or kind.__dictoffset__ == 0:
        return
    if not callable(a) and not issubclass(kind, Enum):
        vm.on_look("is", a, b)


def _unary(operation: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(vm: Any, a: Any) -> Any:
        _look(vm, a)
        if type(a) in _NUMBERS:
            return operation(a)
        result = vm.trampolines.apply_shallow(operation, a)
        return result if vm.after_operator is None else vm.after_operator((a,), result)

    return apply


BINARY: dict[str, Binary] = {symbol: _binary(plain, symbol in _USES_ELEMENTS) for symbol, plain in PLAIN_BINARY.items()}
"""`a + b`: symbol → (vm, a, b) → value."""
BINARY["*"] = _product(operator.mul)
INPLACE: dict[str, Binary] = {symbol: _inplace(symbol, plain) for symbol, plain in PLAIN_INPLACE.items()}
"""`a += b`, under the same symbols as BINARY (no `=`): → the value to store."""
COMPARE: dict[str, Binary] = {
    symbol: _equality(plain) if symbol in ("==", "!=") else _binary(plain, True)
    for symbol, plain in PLAIN_COMPARE.items()
}
UNARY: dict[str, Callable[[Any, Any], Any]] = {symbol: _unary(op) for symbol, op in _UNARY_OPERATORS.items()}


def binary(vm: Any, symbol: str, a: Any, b: Any) -> Any:
    return BINARY[symbol](vm, a, b)


def inplace(vm: Any, symbol: str, a: Any, b: Any) -> Any:
    return INPLACE[symbol](vm, a, b)


def unary(vm: Any, symbol: str, a: Any) -> Any:
    """`-a`, `+a`, `~a`; `not a` is in `truth`."""
    return UNARY[symbol](vm, a)


def compare(vm: Any, symbol: str, a: Any, b: Any) -> Any:
    """A rich comparison: any object may come back (elementwise `==`), not only a bool."""
    return COMPARE[symbol](vm, a, b)


def truth(vm: Any, x: Any) -> bool:
    """`bool(x)`: `__bool__`, else `__len__`, else True. The observer may decide if x is not an atom."""
    kind = type(x)
    if kind in _NUMBERS:
        return bool(x)
    if vm.on_look is not None and kind not in HOLD_NO_FUNCTIONS:
        vm.on_look("truth", x)
    if vm.on_truth is not None:
        answer = vm.on_truth(x)
        if answer is not NOT_HANDLED:
            return answer
    if kind in HOLD_NO_FUNCTIONS or kind in BUILT_IN_CONTAINERS:
        return bool(x)
    return vm.trampolines.apply_shallow(bool, x)


def is_(vm: Any, left: Any, right: Any) -> bool:
    """left is right, as the instruction IS_OP has it."""
    same = left is right
    if right is not None and vm.on_look is not None:
        vm.on_look("is", left, right)
    if not same and vm.on_identity is not None and right is not None:
        same = vm.on_identity(left, right)
    return same


def eq(vm: Any, a: Any, b: Any) -> bool:
    """Equality in containers (PyObject_RichCompareBool): identity first, then the truth of `a == b`."""
    return a is b or truth(vm, COMPARE["=="](vm, a, b))
