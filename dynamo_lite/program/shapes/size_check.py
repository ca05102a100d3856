"""Are the sizes of a call's inputs ones that a dynamic program was exported for? What differs, in words.

Everything is read from the program as torch keeps it (sizes of the placeholders as sympy expressions, range
constraints, guards as Python), so the check holds for deep copies and decomposed programs as well.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import CodeType
from typing import Any

import sympy
import torch

from dynamo_lite.errors import InputMismatch
from dynamo_lite.program._torch import SYMPY_INTERP, PythonPrinter, ValueRanges, int_oo
from dynamo_lite.program.shapes import value_guards
from dynamo_lite.program.trees.paths import path_in_words
from dynamo_lite.symbolic_shapes.torch_node.symbolic_types import SYMBOLIC_TYPES
from dynamo_lite.torch_internals._torch_pytree import pytree


@dataclass(frozen=True)
class _SizePlace:
    """The location of a size: dimension `dim` of the tensor input `leaf`, or the integer input itself (dim None)."""

    leaf: int
    words: str
    dim: int | None

    def __str__(self) -> str:
        return self.words if self.dim is None else f"dimension {self.dim} of {self.words}"

    def expected(self, what: str, given: Any, value: int | None = None) -> InputMismatch:
        """The error: `what` describes the expected sizes, `value` is the one number that would be accepted."""
        where = "" if self.dim is None else f"dimension {self.dim} to be "
        short = ""
        if self.dim is not None and value is not None:
            short = f" {self.words}.shape[{self.dim}]: expected {value}, given {given}."
        return InputMismatch(f"Input {self.words}: expected {where}{what}, given {given}.{short}")

    def of(self, leaves: Sequence[Any]) -> Any:
        value = leaves[self.leaf]
        return value if self.dim is None else value.shape[self.dim]


@dataclass(frozen=True)
class _Size:
    """A size that is an expression: `place` must be `expr`, `code` computes it from the values of the symbols."""

    place: _SizePlace
    expr: Any
    text: str
    code: CodeType

    @property
    def symbols(self) -> set[sympy.Symbol]:
        return set(self.expr.free_symbols)


@dataclass(frozen=True)
class _Guard:
    """A condition on the inputs. `reads` are the places of inputs in it, as (text, code)."""

    text: str
    code: CodeType
    reads: tuple[tuple[str, CodeType], ...]


class SizeCheck:
    """Checks the flat inputs of a call. `check` takes them in the order of the placeholders.

    Args:
        expected: what each flat input was: a FakeTensor or SymInt with torch's sizes, or a constant.
        paths: where each of them is, as a key path that begins with the argument's name.
        ranges: `ExportedProgram.range_constraints`; guards: its `_guards_code`.
    """

    def __init__(
        self,
        expected: Sequence[Any],
        paths: Sequence[pytree.KeyPath],
        ranges: Mapping[sympy.Symbol, ValueRanges],
        guards: Sequence[str],
    ) -> None:
        self._ranges = {symbol.name: _ends(vr) for symbol, vr in ranges.items() if isinstance(symbol, sympy.Symbol)}
        self._plain: list[tuple[_SizePlace, str]] = []
        self._derived: list[_Size] = []
        for place, expr in _sizes(expected, paths):
            if isinstance(expr, sympy.Symbol):
                self._plain.append((place, expr.name))
            else:
                code = compile(PythonPrinter().doprint(expr), "<size>", "eval")
                self._derived.append(_Size(place, expr, str(expr), code))
        found = {text: value_guards.parsed(text, paths) for text in guards}
        self._values = [guard for guard in found.values() if guard is not None]
        self._guards = [_guard(text, paths) for text, guard in found.items() if guard is None]

    def check(self, leaves: Sequence[Any]) -> None:
        """Raises InputMismatch naming the input, the dimension, the expected and the given size."""
        if any(map(_is_symbolic, leaves)):
            return  # another trace looks at the program: its sizes answer by guards of that trace
        values: dict[str, int] = {}
        found: dict[str, _SizePlace] = {}
        self._bind(leaves, values, found)
        self._compare_derived(leaves, values, found)
        for value in self._values:
            complaint = value.complaint(leaves[value.leaf])
            if complaint is not None:
                raise InputMismatch(complaint)
        for guard in self._guards:
            self._hold(guard, leaves)

    def _bind(self, leaves: Sequence[Any], values: dict[str, int], found: dict[str, _SizePlace]) -> None:
        for place, name in self._plain:
            given = place.of(leaves)
            if name in values and values[name] != given:
                raise place.expected(f"{values[name]}, as {found[name]}", given, values[name])
            if name not in values:
                values[name], found[name] = given, place
                self._within(place, name, given)

    def _within(self, place: _SizePlace, name: str, given: int) -> None:
        lo, hi = self._ranges.get(name, (-math.inf, math.inf))
        if not lo <= given <= hi:
            bounds = f"at least {lo}" if hi == math.inf else f"at most {hi}" if lo <= 0 else f"between {lo} and {hi}"
            raise place.expected(bounds, given)

    def _compare_derived(self, leaves: Sequence[Any], values: dict[str, int], found: dict[str, _SizePlace]) -> None:
        for size in self._derived:
            given = size.place.of(leaves)
            unknown = {s for s in size.symbols if s.name not in values}
            if len(unknown) == 1 and len(size.symbols) == 1:
                self._solve(size, unknown.pop(), given, values, found)
            elif not unknown:
                wanted = eval(size.code, NAMESPACE, values)
                if wanted != given:
                    names = sorted(s.name for s in size.symbols)
                    known = ", ".join(f"{name} = {values[name]}, {found[name]}" for name in names)
                    reason = f" ({size.text}, where {known})" if known else ""
                    raise size.place.expected(f"{wanted}{reason}", given, wanted)

    def _solve(
        self, size: _Size, symbol: sympy.Symbol, given: int, values: dict[str, int], found: dict[str, _SizePlace]
    ) -> None:
        """Solves for d if 2*d + 1 is the first size with d in it."""
        slope, rest = size.expr.coeff(symbol, 1), size.expr.coeff(symbol, 0)
        if size.expr != slope * symbol + rest or not (slope.is_Integer and rest.is_Integer):
            return  # left to the guards
        quotient, remainder = divmod(given - int(rest), int(slope))
        if remainder:
            raise size.place.expected(f"of the form {size.text}", given)
        values[symbol.name], found[symbol.name] = quotient, size.place
        lo, hi = self._ranges.get(symbol.name, (-math.inf, math.inf))
        if not lo <= quotient <= hi:
            raise size.place.expected(f"{size.text} for {symbol} from {lo} to {hi}", given)

    def _hold(self, guard: _Guard, leaves: Sequence[Any]) -> None:
        scope = {**NAMESPACE, "args": leaves}
        try:
            holds = eval(guard.code, scope)
        except ArithmeticError:
            holds = False  # a division by zero that the program would perform
        if not holds and guard.text == WITHOUT_GRADIENTS:
            why = "a gradient goes through it in eager, and not in the program"
            raise InputMismatch(f"The program has to be called under torch.no_grad(): {why} ({guard.text}).")
        if not holds:
            given = ", ".join(f"{text} {_shown(eval(code, scope))}" for text, code in guard.reads)
            raise InputMismatch(f"The program was exported for inputs with {guard.text}; {given or 'this is not so'}.")


WITHOUT_GRADIENTS = "not torch.is_grad_enabled()"
"""The guard of a program that is called without gradients only."""


def ambiguous(paths: Sequence[pytree.KeyPath]) -> bool:
    """Whether torch would write guards that are not valid Python.

    One input's path is the beginning of another's name, or a key contains a quote, which torch puts into a string
    unescaped.
    """
    texts = sorted(map(pytree.keystr, paths))
    if any('"' in text or "\\'" in text for text in texts):
        return True
    return any(b.startswith(a) and (b[len(a)].isalnum() or b[len(a)] == "_") for a, b in pairwise(texts) if a != b)


def _sizes(expected: Sequence[Any], paths: Sequence[pytree.KeyPath]) -> Iterator[tuple[_SizePlace, Any]]:
    """The symbolic sizes among the inputs."""
    for index, (value, path) in enumerate(zip(expected, paths)):
        words = path_in_words(path)
        if isinstance(value, torch.SymInt):
            yield _SizePlace(index, words, None), value.node.expr
        elif isinstance(value, torch.Tensor):
            for dim, size in enumerate(value.shape):
                if isinstance(size, torch.SymInt):
                    yield _SizePlace(index, words, dim), size.node.expr


def _ends(vr: ValueRanges) -> tuple[int | float, int | float]:
    lo = -math.inf if vr.lower in (-int_oo, -sympy.oo) else int(vr.lower)
    return lo, math.inf if vr.upper in (int_oo, sympy.oo) else int(vr.upper)


def _guard(text: str, paths: Sequence[pytree.KeyPath]) -> _Guard:
    code, words = text, text
    # The longest first: L['c'].k is the beginning of L['c'].keys.
    for index in sorted(range(len(paths)), key=lambda i: -len(pytree.keystr(paths[i]))):
        name = "L" + pytree.keystr(paths[index])
        code = code.replace(name, f"args[{index}]")
        words = words.replace(name, path_in_words(paths[index]))
    reads = dict.fromkeys(re.findall(r"args\[\d+\](?:\.size\(\)\[\d+\])?", code))
    places = []
    for read in reads:
        shown = re.sub(r"args\[(\d+)\]", lambda match: path_in_words(paths[int(match[1])]), read)
        shown = shown.replace(".size()", ".shape")
        if ".dtype" in code:
            shown, read = f"{shown}.dtype", f"{read}.dtype"
        places.append((shown, compile(read, "<guard>", "eval")))
    return _Guard(words.replace(".size()", ".shape"), compile(code, "<guard>", "eval"), tuple(places))


def _shown(value: Any) -> str:
    """The given value, in a message about a guard: a tensor by its layout, which the guard is about."""
    if not isinstance(value, torch.Tensor):
        return f"is {value}"
    return f"has shape {[*value.shape]}, strides {[*value.stride()]} and storage offset {value.storage_offset()}"


def _is_symbolic(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return any(isinstance(size, torch.SymInt) for size in value.shape)
    return isinstance(value, SYMBOLIC_TYPES)


NAMESPACE = {**SYMPY_INTERP, "math": math, "inf": math.inf}
"""The namespace in which torch evaluates guards (torch/export/_unlift.py, `_convert_guards_code_to_fn`)."""
