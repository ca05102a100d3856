"""Methods of int, float and bool that SymInt, SymFloat and SymBool lack, while a trace runs.

C code gets a value's hash, its text or the quotient and remainder through its type's methods; torch's symbolic sizes
raise for some of these, and show the name of a symbol for others ("s0"). While a trace runs they answer as the number
would. If the answer depends on the number, the number is taken, and the environment records that.

The types are torch's own and there is one of each, so the methods are put on them and taken off again, and answer only
in the tracing thread, and not when torch itself calls them (an error text of torch may well show "s0"). Checked against
torch 2.13.0 (torch/__init__.py, torch/fx/experimental/sym_node.py).
"""

from __future__ import annotations

import math
import operator
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.fx.experimental import sym_node

from dynamo_lite.tracing.vocabulary.symbolic_numbers import NUMBERS, PYTHON_TYPE, concrete, number
from dynamo_lite.undoing import changed

InText = Callable[[Any, int], bool]
"""(size, depth) → the answer to the event "size in text" (tracing/feature.py)."""
_OURS = tuple(f"dynamo_lite.{part}" for part in ("capture", "features", "program", "symbolic_shapes", "tracing"))
_TORCH = frozenset({"torch", "sympy"})
_MISSING: Any = object()


def called_by_torch(depth: int) -> bool:
    """Whether the Python code that `depth` frames further out runs is torch's or ours, rather than the program's."""
    name = str(sys._getframe(depth + 1).f_globals.get("__name__", ""))
    return name.partition(".")[0] in _TORCH or name.startswith(_OURS)


def in_example(size: Any) -> Any:
    """A number of the right type, for a string that is discarded."""
    kind = PYTHON_TYPE[type(size)]
    return kind(size.node.hint or 0)


def _from_number(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(number(self), name)(*args, **kwargs)

    method.__name__ = name
    return method


def _divmod(self: Any, other: Any) -> Any:
    return (self // other, self % other) if isinstance(other, NUMBERS) else NotImplemented


def _rdivmod(self: Any, other: Any) -> Any:
    return (other // self, other % self) if isinstance(other, NUMBERS) else NotImplemented


def _array(self: Any, dtype: Any = None, copy: Any = None) -> Any:
    """numpy's conversion: it works on numbers."""
    import numpy

    return numpy.array(number(self), dtype=dtype)


def _round(self: Any, ndigits: Any = None) -> Any:
    """round(n, -1) is a multiple of ten; torch's method returns n."""
    if ndigits is None or ndigits >= 0:
        return self
    return self.node.shape_env.wrap(self.node.round(int(ndigits)).core)


def _negative_to_size(plain: Callable[..., Any]) -> Callable[..., Any]:
    """(-2.0) ** n. torch refuses negative bases, for the complex numbers that an exponent such as 0.5 gives."""

    def method(self: Any, base: Any) -> Any:
        if type(base) is not float or math.copysign(1.0, base) > 0:
            return plain(self, base)
        return (1.0 - 2.0 * (self % 2)) * plain(self, -base)

    return method


def _float_quotient(plain: Callable[..., Any], reflected: bool) -> Callable[..., Any]:
    """`a // b` of floats. torch has floor(a / b), which is 60 for 6.0 // 0.1, where Python has 59.

    Of data it is computed by torch.div, which floors like Python; of sizes the number is taken, unless floor(a / b) is
    right. (`//` itself would become torch's again where torch traces the program a second time: run_decompositions.)
    """

    def method(self: Any, other: Any) -> Any:
        dividend, divisor = (other, self) if reflected else (self, other)
        is_int = all(isinstance(operand, (int, torch.SymInt)) for operand in (self, other))
        if is_int or not isinstance(other, NUMBERS) or _divides_exactly(dividend, divisor):
            return plain(self, other)
        quotient: Any = dividend / divisor  # asks for a divisor that is not zero
        if quotient.node.has_hint():
            return float(concrete(dividend)) // float(concrete(divisor))
        tensors = [torch.full((), operand, dtype=torch.float64) for operand in (dividend, divisor)]
        return torch.div(*tensors, rounding_mode="floor").item()

    return method


def _divides_exactly(dividend: Any, divisor: Any) -> bool:
    """Whether floor(a / b) is right: no quotient below a whole number is rounded to it. A quotient of whole numbers is
    at least 1 / denominator away from one; division by a power of two keeps all digits."""
    if type(divisor) not in (int, float) or not 0 < divisor < 2**31:
        return False
    is_whole = isinstance(dividend, (int, torch.SymInt)) and divisor.as_integer_ratio()[0] < 2**20
    return is_whole or math.frexp(divisor)[0] == 0.5


def _float_power(
    plain: Callable[..., Any], reflected: bool, in_library: Callable[[], bool] | None
) -> Callable[..., Any]:
    """A power of floats. Of a base that may be negative: the numbers', unless the exponent is a whole number.

    In torch's own code (`bias_correction2 ** 0.5` of torch.optim) a base from run time is asserted not to be negative:
    eager's complex number would be an error there.
    """

    def method(self: Any, other: Any) -> Any:
        base, exponent = (other, self) if reflected else (self, other)
        if not isinstance(other, NUMBERS):
            return plain(self, other)
        if not reflected and type(exponent) in (int, float) and float(exponent).is_integer():
            return _whole_power(base, int(exponent))
        natural = base >= 0
        if type(natural) is torch.SymBool and in_library is not None and not natural.node.has_hint() and in_library():
            natural = natural.node.expect_true("", 0)
        if natural:
            return plain(self, other)
        return float(concrete(base)) ** float(concrete(exponent))

    return method


def _whole_power(base: Any, exponent: int) -> Any:
    """A power of the base's magnitude, with its sign: torch refuses to compute one of a negative base."""
    negative, natural = base < 0, base >= 0
    if natural is True or (type(natural) is torch.SymBool and natural.node.statically_known_true("", 0)):
        return base.__float_pow__(float(exponent))
    sign: Any = torch.sym_float(torch.sym_ite(negative, -1, 1))
    power = (base * sign).__float_pow__(float(exponent))
    return power * sign if exponent % 2 else power


def _pow(plain: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, other: Any, modulus: Any = None) -> Any:
        return plain(self, other) if modulus is None else plain(self, other) % modulus

    return method


def _node_of(plain: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The operand of an operator as a node: also an IntEnum, or what else has the operators of int or float."""

    def to_node(self: Any, operand: Any) -> Any:
        node = plain(self, operand)
        if node is NotImplemented and isinstance(operand, (int, float)):
            base: Any = int if isinstance(operand, int) else float
            if all(getattr(type(operand), name) is getattr(base, name) for name in _OVERRIDDEN):
                return plain(self, base.__pos__(operand))
        return node

    return to_node


_OVERRIDDEN = ("__add__", "__radd__", "__eq__", "__lt__", "__mul__", "__rmul__")

_INTEGER: dict[str, Any] = {
    "__divmod__": _divmod,
    "__rdivmod__": _rdivmod,
    "__invert__": lambda self: -self - 1,
    "__copy__": lambda self: self,
    "numerator": property(lambda self: self),
    "denominator": property(lambda self: 1),
    "real": property(lambda self: self),
    "imag": property(lambda self: 0),
    "__array__": _array,
}
_FLOAT: dict[str, Any] = {
    "__divmod__": _divmod,
    "__rdivmod__": _rdivmod,
    "__copy__": lambda self: self,
    "real": property(lambda self: self),
    "imag": property(lambda self: 0.0),
    "__array__": _array,
}


def _as_int(value: Any) -> Any:
    """A truth value as the number that it is; anything else as it is."""
    return torch.sym_ite(value, 1, 0) if type(value) is torch.SymBool else value


def _of_ints(function: Callable[..., Any], reflected: bool = False) -> Callable[..., Any]:
    """An operator of bool that is int's own."""

    def method(self: Any, *others: Any) -> Any:
        if not all(isinstance(other, (*NUMBERS, torch.SymBool)) for other in others):
            return NotImplemented
        numbers = [_as_int(self), *map(_as_int, others)]
        return function(*(reversed(numbers) if reflected else numbers))

    return method


def _xor(self: Any, other: Any) -> Any:
    if isinstance(other, (bool, torch.SymBool)):
        return torch.sym_not(self == other)
    return _of_ints(operator.xor)(self, other)


_BOOL: dict[str, Any] = {
    "__copy__": lambda self: self,
    "numerator": property(_as_int),
    "denominator": property(lambda self: 1),
    "real": property(_as_int),
    "imag": property(lambda self: 0),
    "__array__": _array,
    "__xor__": _xor,
    "__rxor__": _xor,
    **{
        f"__{name}__": _of_ints(getattr(operator, name))
        for name in (
            *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift"),
            *("neg", "pos", "abs", "lt", "le", "gt", "ge"),
        )
    },
    **{
        f"__r{name}__": _of_ints(getattr(operator, name), reflected=True)
        for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift")
    },
    "__invert__": _of_ints(lambda n: -n - 1),
    "__divmod__": _of_ints(divmod),
    "__rdivmod__": _of_ints(divmod, reflected=True),
}
_ADDED: dict[type, dict[str, Any]] = {torch.SymInt: _INTEGER, torch.SymFloat: _FLOAT, torch.SymBool: _BOOL}
_NOT_COPIED = frozenset({"__new__", "__getnewargs__", "__getattribute__", "from_bytes", "fromhex", "__getformat__"})
_ASKED = ("__hash__", "__repr__", "__format__")
"""Answered by the number for the program, by torch's own method for torch."""


def _methods(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the methods to put on one of the types."""
    own = PYTHON_TYPE[kind]
    added = _ADDED[kind]
    yield from added.items()
    for name, method in vars(own).items() if own is not bool else ((n, getattr(bool, n)) for n in dir(bool)):
        if name in added or name in _NOT_COPIED or hasattr(kind, name) or not callable(method):
            continue
        yield name, _from_number(name)


def _converted(kind: type, name: str, thread: int, in_text: InText | None) -> Callable[..., Any]:
    """`__int__`, `__float__`: of a number that is for a string which is not read yet, the number in the example."""
    plain, convert = getattr(kind, name), float if name == "__float__" else int

    def method(self: Any) -> Any:
        if threading.get_ident() == thread and in_text is not None and in_text(self, 1):
            return convert(in_example(self))  # "%d" % n
        return plain(self)

    return method


def _asked(kind: type, name: str, thread: int, in_text: InText | None) -> Callable[..., Any]:
    """A method of _ASKED."""
    plain, answer = getattr(kind, name), _from_number(name)

    def method(self: Any, *args: Any) -> Any:
        if name == "__hash__" and (known := self.node.maybe_as_int()) is not None:
            return hash(known)  # it has been a key, whose dict torch may look at
        if threading.get_ident() != thread or called_by_torch(1):
            return plain(self, *args)
        if name != "__hash__" and in_text is not None and in_text(self, 1):
            return getattr(in_example(self), name)(*args)
        return answer(self, *args)

    return method


@contextmanager
def as_numbers(in_text: InText | None = None, in_library: Callable[[], bool] | None = None) -> Iterator[None]:
    """Open a context in which symbolic sizes behave like numbers for the program in this thread.

    `in_text` determines whether a number is for a string that has not been read yet: then it is not taken.
    `in_library`: whether torch's own code is at work.
    """
    thread = threading.get_ident()
    replaced: list[tuple[type, str, Any]] = []

    def put(kind: type, name: str, method: Any) -> None:
        replaced.append((kind, name, kind.__dict__.get(name, _MISSING)))
        setattr(kind, name, method)

    plain_node = sym_node.to_node

    def put_back() -> None:
        sym_node.to_node = plain_node
        for kind, name, before in reversed(replaced):
            if before is not _MISSING:
                setattr(kind, name, before)
            elif name in kind.__dict__:
                delattr(kind, name)

    with changed(put_back):
        sym_node.to_node = _node_of(plain_node)  # type: ignore[assignment]
        for kind in PYTHON_TYPE:
            for name, method in list(_methods(kind)):
                put(kind, name, method)
            for name in _ASKED:
                put(kind, name, _asked(kind, name, thread, in_text))
            if kind is not torch.SymBool:
                for name in ("__int__", "__float__", "__index__") if kind is torch.SymInt else ("__int__", "__float__"):
                    put(kind, name, _converted(kind, name, thread, in_text))
        put(torch.SymInt, "__pow__", _pow(torch.SymInt.__pow__))
        put(torch.SymInt, "__rpow__", _negative_to_size(torch.SymInt.__rpow__))
        put(torch.SymInt, "__round__", _round)
        for kind in (torch.SymInt, torch.SymFloat):
            put(kind, "__floordiv__", _float_quotient(kind.__floordiv__, reflected=False))
            put(kind, "__rfloordiv__", _float_quotient(kind.__rfloordiv__, reflected=True))
        put(torch.SymFloat, "__pow__", _float_power(torch.SymFloat.__pow__, False, in_library))
        put(torch.SymFloat, "__rpow__", _float_power(torch.SymFloat.__rpow__, True, in_library))
        yield
