"""`dynamic`: facts of the shape environment, as they are recorded."""

from __future__ import annotations

import logging
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dynamo_lite.logging.artifacts import GUARD_VARIABLE, SYMBOL_VARIABLE
from dynamo_lite.logging.settings import is_on, log
from dynamo_lite.symbolic_shapes.expressions.expr import Atom, Int, Node, Symbol
from dynamo_lite.symbolic_shapes.expressions.intervals import Interval
from dynamo_lite.symbolic_shapes.expressions.sympy_bridge.heads import NotConvertible
from dynamo_lite.symbolic_shapes.listener import Listener
from dynamo_lite.symbolic_shapes.proofs.facts import Fact
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv

_OWN = str(Path(__file__).parent.parent)
_LEARNED = {"guard": "guard added", "check": "run-time assertion added", "axiom": "known"}


class ShapeLog(Listener):
    """Listens to `env.core`; `frames` gives the program's stack, outermost first."""

    def __init__(self, env: TorchShapeEnv, frames: Callable[[], tuple[Any, ...]]) -> None:
        self._env = env
        self._frames = frames

    def on_symbol(self, symbol: Symbol) -> None:
        kind = "unbacked symbol" if symbol.unbacked else "symbol"
        hint = "" if symbol.hint is None else f" = {symbol.hint}"
        source = f" for {_source(symbol.source)}" if symbol.source is not None else ""
        text = f"create {kind} {symbol.name}{hint}{source} in {_range((symbol.lo, symbol.hi))}"
        self._say(text + self._at(symbol.origin), f'for the stacks: {SYMBOL_VARIABLE}="{symbol.name}"')
        if os.environ.get(SYMBOL_VARIABLE) == symbol.name:
            self._stacks(f"symbol {symbol.name} is created")

    def on_fact(self, fact: Fact) -> None:
        text = self._text(fact.relation)
        level = logging.DEBUG if fact.kind == "axiom" else logging.INFO
        line = f"{_LEARNED.get(fact.kind, fact.kind)}: {text}{self._at(fact.origin)}"
        self._say(line, f'for the stacks: {GUARD_VARIABLE}="{text}"', level)
        asked = _squeezed(os.environ.get(GUARD_VARIABLE, ""))
        if asked and asked in (_squeezed(text), _squeezed(str(fact.relation))):
            self._stacks(f"{text} is recorded")

    def on_replacement(self, atom: Atom, value: Int, fact: Fact) -> None:
        text = f"{self._text(atom.as_int())} is {self._text(value)}, because of {self._text(fact.relation)}"
        if value.as_constant() is not None and isinstance(atom, Symbol):
            self._say(f"specialised: {text}{self._at(fact.origin)}")
        else:
            self._say(f"replacement: {text}", level=logging.DEBUG)

    def on_range(self, symbol: Symbol, before: Interval, after: Interval, fact: Fact) -> None:
        text = f"range of {symbol.name}: {_range(before)} becomes {_range(after)}"
        self._say(f"{text}, because of {self._text(fact.relation)}", level=logging.DEBUG)

    def _say(self, text: str, more: str = "", level: int = logging.INFO) -> None:
        if is_on("dynamic", level):
            log("dynamic", f"{text}  ({more})" if more else text, level)

    def _text(self, node: Node) -> str:
        """As sympy writes it, which is what torch's own logs and messages show."""
        try:
            return str(self._env.to_sympy(node))
        except (NotConvertible, ValueError):
            return str(node)

    def _at(self, origin: Any) -> str:
        operator = f", in {self._env.operator}" if self._env.operator is not None else ""
        own = [frame for frame in self._frames() if not frame.is_library]
        if not own:
            return f"  [{origin}]{operator}" if origin is not None else operator
        frame = own[-1]
        told = origin is None or origin.kind == "user line" or (origin.kind == "operator" and origin.file)
        note = "" if told else f" ({origin})"
        return f"  at {frame.filename}:{frame.lineno} in {frame.name}: {frame.source}{operator}{note}"

    def _stacks(self, what: str) -> None:
        user = "".join(frame.format() for frame in self._frames()) or "  (outside of the program)\n"
        below = [f for f in traceback.extract_stack() if not f.filename.startswith(_OWN + os.sep + "logging")]
        native = "".join(traceback.format_list(below[_entry(below) :]))
        log("dynamic", f"{what}\nThe program's stack:\n{user}torch's stack:\n{native}".rstrip())


def _entry(frames: Any) -> int:
    """Where the interpreter last called something natively: the frames before it are only the interpreter's."""
    inside = [i for i, f in enumerate(frames) if f.filename.startswith(os.path.join(_OWN, "interpreter"))]
    return inside[-1] + 1 if inside else 0


def _source(source: Any) -> str:
    name = getattr(source, "name", None)
    return str(name() if callable(name) else name if name is not None else source)


def _range(interval: Interval) -> str:
    lo, hi = interval
    return f"[{'-oo' if lo == -float('inf') else lo}, {'oo' if hi == float('inf') else hi}]"


def _squeezed(text: str) -> str:
    return "".join(text.split())
