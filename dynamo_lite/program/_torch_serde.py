"""Size expressions in torch's files of programs, read and written in steps that are polynomial in their depth.

Checked with torch 2.13.0, 2.14.1 and 2.15.0, which read the text of each expression again, for each of its parts print
the part and look at all parts of it again, and walk shared parts as if they were a tree. A size divided twenty times
over takes minutes. Here each text is read once, each part is made once and looked at once; the deserializer's state is
the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any, Final

import sympy
from sympy.printing.repr import ReprPrinter
from torch._export.serde import serialize
from torch.fx.experimental.symbolic_shapes import symbol_is_type
from torch.utils._sympy.symbol import SymT
from torch.utils._traceback import CapturedTraceback

from dynamo_lite.program.shapes.deep_expressions import deep_expressions
from dynamo_lite.symbolic_shapes.torch_versions import Symbol, Variant, current

_HINTS_ANYTHING: Final[bool] = current(Variant(True, until=(2, 14)), Variant(False, since=(2, 14)))
_TOKEN = re.compile(r"\s*(?:([A-Za-z_]\w*)|(-?\d+)|'([^'\\]*)'|([(),=]))")
_lock = RLock()


@contextmanager
def shared_expressions() -> Iterator[None]:
    """Within, torch.export.save and torch.export.load share the parts of size expressions."""
    deserializer = serialize.GraphModuleDeserializer
    with _lock:
        read, write = deserializer._parse_sym_expr, serialize._print_sympy
        read_output = deserializer.deserialize_graph_output
        printer, expressions = _Printer(), SreprReader()

        def parse(self: Any, text: Any, hint: Any = None) -> Any:
            return _read_in(self, expressions, text, hint, read)

        def _print(size: Any) -> Any:
            return printer.doprint(getattr(getattr(size, "node", None), "expr", size))

        def output_of(self: Any, output: Any) -> Any:
            return output.as_string if output.type == "as_string" else read_output(self, output)

        deserializer.deserialize_graph_output = output_of  # type: ignore[method-assign]
        deserializer._parse_sym_expr = parse  # type: ignore[method-assign,assignment]
        serialize._print_sympy = _print  # type: ignore[assignment]
        try:
            with deep_expressions():
                yield
        finally:
            serialize._print_sympy = write
            deserializer.deserialize_graph_output = read_output  # type: ignore[method-assign]
            deserializer._parse_sym_expr = read  # type: ignore[method-assign]


class _Printer(ReprPrinter):
    """sympy's srepr, each part printed once."""

    def __init__(self) -> None:
        super().__init__()
        self._texts: dict[Any, str] = {}

    def _print(self, expr: Any, **kwargs: Any) -> str:
        if kwargs or not isinstance(expr, sympy.Basic):
            return super()._print(expr, **kwargs)
        text = self._texts.get(expr)
        if text is None:
            text = self._texts[expr] = super()._print(expr)
        return text


class Unreadable(Exception):
    """A text that is not of the form Name(argument, ..., name=argument)."""


class SreprReader:
    """Reads what srepr writes. Equal texts give one object, and so do equal parts."""

    def __init__(self) -> None:
        self._by_text: dict[str, Any] = {}
        self._made: dict[Any, Any] = {}

    def read(self, text: str, functions: dict[str, Any]) -> Any:
        """Raises Unreadable for a text in another form."""
        found = self._by_text.get(text)
        if found is None:
            found = self._by_text[text] = self._parse(text, functions)
        return found

    def _parse(self, text: str, functions: dict[str, Any]) -> Any:
        calls: list[tuple[str, list[Any], dict[str, Any]]] = [("", [], {})]
        name = keyword = ""
        at, end = 0, len(text)
        while at < end:
            token = _TOKEN.match(text, at)
            if token is None:
                raise Unreadable(text)
            at = token.end()
            word, number, string, sign = token.groups()
            if word:
                if name:
                    raise Unreadable(text)
                name = word
                continue
            if sign == "(":
                calls.append((name, [], {}))
            elif sign == "=":
                keyword = name
            else:
                value, name = _constant(name, number, string), ""
                if sign == ")":
                    _put(calls[-1], keyword, value)
                    if len(calls) == 1:
                        raise Unreadable(text)
                    value, keyword = self._call(*calls.pop(), functions), ""
                if value is not None:
                    _put(calls[-1], keyword, value)
                keyword = ""
            name = ""
        (_, values, _), *open_calls = calls
        if open_calls or len(values) != 1:
            raise Unreadable(text)
        return values[0]

    def _call(self, name: str, args: list[Any], kwargs: dict[str, Any], functions: dict[str, Any]) -> Any:
        key = (name, *args, *kwargs.items())
        made = self._made.get(key)
        if made is None:
            function: Callable[..., Any] | None = functions.get(name) or getattr(sympy, name, None)
            if function is None:
                raise Unreadable(name)
            made = self._made[key] = function(*args, **kwargs)
        return made


def _constant(name: str, number: str | None, string: str | None) -> Any:
    """The value of one token, or of none."""
    if name:
        if name not in _NAMES:
            raise Unreadable(name)
        return _NAMES[name]
    return int(number) if number is not None else string


_NAMES: Final = {"True": True, "False": False, "true": sympy.true, "false": sympy.false}


def _put(call: tuple[str, list[Any], dict[str, Any]], keyword: str, value: Any) -> None:
    if value is not None:
        if keyword:
            call[2][keyword] = value
        else:
            call[1].append(value)


def _read_in(reader: Any, expressions: SreprReader, text: Any, hint: Any, read: Callable[..., Any]) -> Any:
    """GraphModuleDeserializer._parse_sym_expr, for a text or an expression."""
    if isinstance(text, str):
        names = reader.symbol_name_to_symbol
        try:
            expr = names.get(text) or expressions.read(text, reader.sympy_functions)
        except Unreadable:
            return read(reader, text, hint)
    else:
        expr = text
    return _note(reader, expr, hint)


def _note(reader: Any, expr: Any, hint: Any) -> Any:
    """Registers the symbols of an expression with the deserializer, each part once."""
    env, seen = vars(reader).get("_dynamo_lite_seen", (None, None))
    if env is not reader.shape_env:
        _, seen = reader._dynamo_lite_seen = reader.shape_env, set()
    todo = [expr]
    while todo:
        part = todo.pop()
        if part in seen or part.is_Integer or part.is_Float or part.is_Boolean:
            continue
        seen.add(part)
        todo += part.args
        if isinstance(part, sympy.Symbol):
            _note_symbol(reader, part)
    if not (expr.is_Integer or expr.is_Float or expr.is_Boolean):
        env = reader.shape_env
        # Until torch 2.13 a hint is kept for any expression, since 2.14 for symbols.
        takes_hint = hint is not None and (_HINTS_ANYTHING or isinstance(expr, sympy.Symbol))
        if takes_hint and expr not in env.backed_var_to_val:
            env.add_backed_var_to_val(expr, hint)
        if not isinstance(expr, sympy.Symbol) and _has_ranges_of_expressions(reader):
            _constrain(reader, expr)
    return expr


def _note_symbol(reader: Any, symbol: Any) -> None:
    if symbol.name not in reader.symbol_name_to_symbol:
        reader.symbol_name_to_symbol[symbol.name] = symbol
        if symbol_is_type(symbol, (SymT.UNBACKED_INT, SymT.UNBACKED_FLOAT)):
            reader.unbacked_symbols.add(symbol)
    _constrain(reader, symbol)
    reader.shape_env.var_to_stack[symbol] = CapturedTraceback.extract(skip=1)


def _has_ranges_of_expressions(reader: Any) -> bool:
    return not all(name.isidentifier() for name in reader.symbol_name_to_range)


def _constrain(reader: Any, expr: Any) -> None:
    allowed = reader.symbol_name_to_range.get(str(expr))
    if allowed:
        reader.shape_env.constrain_symbol_range(expr, compiler_min=allowed.lower, compiler_max=allowed.upper)


DISABLES = "saving and loading programs"
"""The features that fail if one of these is missing."""

SYMBOLS = (
    Symbol("torch._export.serde:serialize", "the module that reads and writes programs"),
    Symbol("torch._export.serde.serialize:GraphModuleDeserializer._parse_sym_expr", "reads a size; replaced"),
    Symbol(
        "torch._export.serde.serialize:GraphModuleDeserializer.deserialize_graph_output",
        "reads an output; taught strings, which the serializer writes and it does not read",
    ),
    Symbol("torch._export.serde.serialize:_print_sympy", "writes a size; replaced"),
    Symbol("torch.fx.experimental.symbolic_shapes:symbol_is_type", "kinds of symbols"),
    Symbol("torch.utils._sympy.symbol:SymT", "kinds of symbols"),
    Symbol("torch.utils._traceback:CapturedTraceback", "where the deserializer records that a symbol was made"),
)
