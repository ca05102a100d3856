"""A program that an exporter gets wrong, reduced to the few lines that matter.

Reductions are tried on the syntax tree of the program's file, each kept if the exporter's verdict is still the same:
statements are left out (halves of a block, quarters, ..., single ones), an `if`, `for`, `try` or `with` is replaced by
its body, a tuple or a dict loses an item, an operation becomes one of its operands. That goes on until nothing more
can be left out. What `build()` returns stays, and the program has to run in eager as it did.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dynamo_lite.lab.exporters import Exporter
from dynamo_lite.lab.host import alone
from dynamo_lite.lab.judge import EQUAL, WRONG, LabAnswer, judge
from dynamo_lite.lab.programs import GENERATED, LabProgram, of_source
from dynamo_lite.lab.runs import STANDARD, Limits

Edit = Callable[[], None]
"""Changes the tree that it was made for."""
BLOCKS = ("body", "orelse", "finalbody")
ENTRY = "build"


@dataclass
class Shrunk:
    """The reduced program, the answer about it, and how many programs were tried."""

    source: str
    answer: LabAnswer
    tried: int


def signature(answer: LabAnswer) -> tuple[object, ...]:
    """The part of an answer that has to stay the same: the verdict, whether eager raises, the text of an error."""
    text = "" if answer.verdict == WRONG else re.sub(r"\d+|'[^']*'", "#", answer.text.partition("\n")[0])[:80]
    return answer.verdict, answer.want.startswith("raises"), text


class Shrinker:
    """Reduces one program for one exporter. `most`: how many programs are tried at most."""

    def __init__(
        self, exporter: Exporter, limits: Limits = STANDARD, most: int = 2000, done: Callable[[str], None] | None = None
    ) -> None:
        self._exporter, self._limits, self._most = exporter, limits, most
        self._done = done or (lambda text: None)
        self._tried: dict[str, LabAnswer] = {}

    def shrink(self, text: str) -> Shrunk:
        """The reduced program of a source text. ValueError if the exporter gets it right."""
        first = self._judged(text)
        if first.verdict == EQUAL:
            raise ValueError("the exporter gets this program right")
        wanted, tree = signature(first), ast.parse(text)
        while smaller := self._smaller(tree, wanted):
            tree = smaller
        text = ast.unparse(tree)
        return Shrunk(text + "\n", self._judged(text), len(self._tried))

    def _smaller(self, tree: ast.Module, wanted: tuple[object, ...]) -> ast.Module | None:
        """One pass over all reductions; None if none of them is kept."""
        found, number = None, 0
        while len(self._tried) < self._most:
            candidate = copy.deepcopy(tree)
            edit = next((e for i, e in enumerate(edits(candidate)) if i == number), None)
            if edit is None:
                break
            edit()
            text = ast.unparse(ast.fix_missing_locations(candidate))
            if len(text) < len(ast.unparse(tree)) and signature(self._judged(text)) == wanted:
                tree = found = candidate  # what follows has moved to this number
            else:
                number += 1
        return found

    def _judged(self, text: str) -> LabAnswer:
        if text not in self._tried:
            id = f"{GENERATED}.shrunk"
            limits = self._limits
            self._tried[text] = alone(
                id, lambda: judge(_program(id, text), self._exporter), limits.seconds, limits.megabytes
            )
            self._done(text)
        return self._tried[text]


def _program(id: str, text: str) -> LabProgram:
    return of_source(id, text, "a reduced program")


# -- reductions -------------------------------------------------------------------------------------------------------
def edits(tree: ast.Module) -> Iterator[Edit]:
    """The reductions of a tree, those that leave out most first."""
    blocks = list(_blocks(tree))
    longest = max((len(block) for block, _ in blocks), default=0)
    size = max(1, longest // 2)
    while True:
        for block, required in blocks:
            for start in range(0, len(block), size):
                if size == 1 or start + size <= len(block):
                    yield from _left_out(block, required, start, size)
        if size == 1:
            break
        size //= 2
    for block, _ in blocks:
        for i, statement in enumerate(block):
            inner = [*getattr(statement, "body", ()), *getattr(statement, "orelse", ())]
            if isinstance(statement, (ast.If, ast.For, ast.Try, ast.With)):
                yield _put(block, slice(i, i + 1), [*inner, *getattr(statement, "finalbody", ())])
    for node in ast.walk(tree):
        yield from _simpler(node)


def _blocks(tree: ast.Module) -> Iterator[tuple[list[ast.stmt], bool]]:
    """Lists of statements, inner ones last, and whether one may not be empty."""
    for node in ast.walk(tree):
        for name in BLOCKS:
            block = getattr(node, name, None)
            if isinstance(block, list) and block:
                yield block, name == "body" and node is not tree


def _left_out(block: list[ast.stmt], required: bool, start: int, size: int) -> Iterator[Edit]:
    dropped = block[start : start + size]
    if any(isinstance(s, ast.FunctionDef) and s.name == ENTRY for s in dropped):
        return
    rest: list[ast.stmt] = [ast.Pass()] if required and len(dropped) == len(block) else []
    if not (rest and isinstance(block[0], ast.Pass)):
        yield _put(block, slice(start, start + size), rest)


def _put(block: list[ast.stmt], where: slice, new: list[ast.stmt]) -> Edit:
    def edit() -> None:
        block[where] = new

    return edit


def _simpler(node: ast.AST) -> Iterator[Edit]:
    """Of expressions: an operation as an operand, a display without an item, `a, b = 1, 2` without a pair."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
        if len(node.value.elts) == len(node.targets[0].elts) > 1:
            yield from (_pair_left_out(node, i) for i in range(len(node.value.elts)))
    elif isinstance(node, (ast.Tuple, ast.List)) and isinstance(node.ctx, ast.Load):
        yield from (_without([node.elts], i) for i in range(len(node.elts)))
    elif isinstance(node, ast.Dict):
        yield from (_without([node.keys, node.values], i) for i in range(len(node.keys)))
    if isinstance(node, ast.Import) and len(node.names) > 1:
        yield from (_without([node.names], i) for i in range(len(node.names)))
    elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield from (_without([node.decorator_list], i) for i in range(len(node.decorator_list)))
    for name, value in ast.iter_fields(node):
        for part in _operands(value):
            yield _set(node, name, part)


def _operands(value: object) -> list[ast.expr]:
    if isinstance(value, ast.BinOp):
        return [value.left, value.right]
    if isinstance(value, ast.BoolOp):
        return value.values
    if isinstance(value, ast.Tuple) and isinstance(value.ctx, ast.Load):
        return value.elts
    return [value.body, value.orelse] if isinstance(value, ast.IfExp) else []


def _pair_left_out(node: ast.Assign, i: int) -> Edit:
    """Of `a, b = 1, 2`; the last pair that is left is `b = 2`."""

    def edit() -> None:
        target, value = node.targets[0], node.value
        assert isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
        del target.elts[i], value.elts[i]
        if len(target.elts) == 1:
            node.targets, node.value = target.elts, value.elts[0]

    return edit


def _without(lists: Sequence[list[Any]], i: int) -> Edit:
    def edit() -> None:
        for items in lists:
            del items[i]

    return edit


def _set(node: ast.AST, name: str, value: ast.expr) -> Edit:
    return lambda: setattr(node, name, value)
