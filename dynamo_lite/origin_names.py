"""Names for numbers of data that no variable of the program holds: the expressions that made them.

`t.item()` and `int(t)` are the number itself, and a condition can contain them as they are. Other expressions make
several numbers, or a tensor whose size depends on data: "a size of `x[mask]`".
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from dynamo_lite.errors import UserFrame
from dynamo_lite.source_lines import line_at
from dynamo_lite.symbolic_shapes import Origin
from dynamo_lite.symbolic_shapes.expressions.expr import Node, Symbol, symbols_of
from dynamo_lite.symbolic_shapes.expressions.floats import float_symbols_of

_LONGEST = 80
"""Characters of an expression that an error repeats."""
_ARTICLES = ("a", "another", "a third", "a fourth", "a fifth", "a sixth")
_OF_ITEMS = (".tolist()", ".item()", ".numpy()")


class OriginNames:
    """The names of `symbols` (integers and floats) by the lines that made them.

    code: those that are an expression of the program, which a torch._check could contain.
    """

    def __init__(self, symbols: Iterable[Any], floats: dict[Any, Origin], sizes: Iterable[Any]) -> None:
        self._floats, self._sizes = floats, frozenset(sizes)
        self._symbols = list(symbols)
        texts = {symbol: _as_code(symbol, self._expression(symbol)) for symbol in self._symbols}
        count = Counter(texts.values())
        self.code: dict[Node, str] = {key(s): text for s, text in texts.items() if text and count[text] == 1}
        self._phrases = self._described()

    def all(self) -> dict[Node, str]:
        """A name for each symbol."""
        return {key(symbol): self.text(symbol) for symbol in self._symbols}

    def text(self, symbol: Any) -> str:
        """The name within a condition."""
        phrase = self._phrases.get(key(symbol))
        return self.code.get(key(symbol)) or (f"({phrase})" if phrase else str(symbol.name))

    def plain(self, symbol: Any) -> str:
        """The expression, or a description by it; empty where the program's line is not known."""
        return self.code.get(key(symbol)) or self._phrases.get(key(symbol), "")

    def only(self, asked: Node) -> str:
        """The description of `asked`, if it is one of the symbols that has no code; else an empty text."""
        return next((text for symbol, text in self._phrases.items() if symbol is asked and symbol not in self.code), "")

    def described(self) -> list[tuple[Any, str]]:
        """(symbol, plain name) of all, oldest first."""
        return [(symbol, self.plain(symbol)) for symbol in sorted(self._symbols, key=lambda symbol: symbol.id)]

    def line(self, symbol: Any) -> str:
        """The end of a sentence about a symbol."""
        origin = self._origin(symbol)
        return f", from {origin}" if origin is not None else ""

    def _described(self) -> dict[Node, str]:
        seen: Counter[str] = Counter()
        phrases: dict[Node, str] = {}
        for symbol in sorted(self._symbols, key=lambda symbol: symbol.id):
            expression = self._expression(symbol)
            if expression and seen[expression] < len(_ARTICLES):
                article = _ARTICLES[seen[expression]]
                phrases[key(symbol)] = f"{article} {self._kind(symbol, expression)} of `{expression}`"
                seen[expression] += 1
        return phrases

    def _kind(self, symbol: Any, expression: str) -> str:
        return "size" if symbol in self._sizes and not expression.endswith(_OF_ITEMS) else "number"

    def _origin(self, symbol: Any) -> Origin | None:
        return symbol.origin if isinstance(symbol, Symbol) else self._floats.get(symbol)

    def _expression(self, symbol: Any) -> str:
        origin = self._origin(symbol)
        return users_expression((origin.stack if origin is not None else None) or ())


def where(relation: Node, floats: dict[Any, Origin], sizes: Iterable[Any]) -> str:
    """ "u0 is a size of `x[mask]`": where the numbers of data in a relation come from, as far as that is known."""
    symbols = [symbol for symbol in symbols_of(relation) if symbol.unbacked]
    names = OriginNames([*symbols, *float_symbols_of(relation)], floats, sizes)
    return ", ".join(f"{symbol.name} is {text}" for symbol, text in names.described() if text)


def users_expression(frames: Sequence[UserFrame]) -> str:
    """The source of what the user's own code was running, in one line; a long one is cut. Without any such frame that
    of the innermost one that is not torch's or the standard library's. Empty if the columns are not known."""
    known = [frame for frame in frames if not frame.is_library]
    own = [frame for frame in known if not frame.is_installed] or known
    frame = own[-1] if own else None
    if frame is None or frame.colno is None or frame.end_colno is None or frame.end_lineno is None:
        return ""
    lines = [line_at(frame.filename, number).encode() for number in range(frame.lineno, frame.end_lineno + 1)]
    lines[-1] = lines[-1][: frame.end_colno]
    lines[0] = lines[0][frame.colno :]
    text = b"\n".join(lines).decode(errors="replace")
    text = _in_one_line(text) if len(lines) > 1 else text
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _in_one_line(text: str) -> str:
    """An expression of several lines without its comments."""
    try:
        return ast.unparse(ast.parse(f"({text}\n)", mode="eval"))
    except SyntaxError:
        return " ".join(text.split())


def key(symbol: Any) -> Node:
    """The key of a symbol in a table of names."""
    return symbol.as_int() if isinstance(symbol, Symbol) else symbol


def _as_code(symbol: Any, expression: str) -> str:
    """The expression, if its value is the symbol; else an empty text."""
    if expression.endswith("..."):
        return ""
    converts = "int(" if isinstance(symbol, Symbol) else "float("
    is_number = expression.endswith(".item()") or (expression.startswith(converts) and _is_one_call(expression))
    return expression if is_number else ""


def _is_one_call(expression: str) -> bool:
    """Whether the parenthesis after the name is closed at the end: `int(a)`, and not `int(a) + int(b)`."""
    depth = 0
    for index, character in enumerate(expression):
        depth += (character == "(") - (character == ")")
        if character == ")" and depth == 0:
            return index == len(expression) - 1
    return False
