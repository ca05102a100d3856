"""The mutations: what is changed in a syntax tree, one place at a time.

| place | becomes |
|---|---|
| `if test`, `x if test else y`, a comprehension's `if` | test always true, always false |
| `while test` | never |
| `a and b`, `a or b` | each operand left out |
| `a < b` (each of a chain) | the other boundary; == and !=, is and is not, in and not in |
| `not x`, `-x` | x |
| `+`, `-` | the other |
| an integer n | n + 1 (1 as an index: 0) |
| True, False, `.lo`, `.hi`, "lo", "hi", min, max, all, any, gcd, lcm | the other |
| a statement `require(...)`, `_fail_unless(...)`, `raise` | pass |
| `x // y` | rounded up |
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

SWAPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}
NAMES = {"min": "max", "max": "min", "all": "any", "any": "all", "gcd": "lcm", "lcm": "gcd", "lo": "hi", "hi": "lo"}
CHECKS = ("require", "_fail_unless")
SKIPPED = (ast.Assert, ast.Import, ast.ImportFrom, ast.arguments, ast.JoinedStr)
"""Assertions are for the type checker, imports and defaults make the file unusable, texts are only read."""


@dataclass
class Mutant:
    """`parent.field` (its `index`-th item, if it is a list) becomes `new`."""

    number: int
    line: int
    function: str
    change: str
    parent: ast.AST
    field: str
    index: int | None
    new: ast.AST
    outermost: str
    """The qualified name of the function (or method) that it is in, closures aside; "" outside of functions."""

    def code(self, tree: ast.Module, path: str) -> CodeType:
        """The file's code with this one change; the tree is as before."""
        old = self._put(self.new)
        try:
            return compile(ast.fix_missing_locations(tree), path, "exec")
        finally:
            self._put(old)

    def _put(self, new: Any) -> Any:
        if self.index is None:
            old = getattr(self.parent, self.field)
            setattr(self.parent, self.field, new)
        else:
            items = getattr(self.parent, self.field)
            old, items[self.index] = items[self.index], new
        return old


def mutants(tree: ast.Module) -> Iterator[Mutant]:
    """Every mutant of a file, in its order."""
    seen: dict[tuple[str, str], int] = {}
    for number, (function, outermost, parent, field, index, node, new) in enumerate(_places(tree, "", "")):
        change = f"{_text(node)} -> {_text(new)}"
        seen[function, change] = times = seen.get((function, change), 0) + 1
        text = change if times == 1 else f"{change} ({times})"
        yield Mutant(number, getattr(node, "lineno", 0), function, text, parent, field, index, new, outermost)


def _text(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())


Place = tuple[str, str, ast.AST, str, "int | None", ast.AST, ast.AST]


def _places(parent: ast.AST, function: str, outermost: str) -> Iterator[Place]:
    for field, value in ast.iter_fields(parent):
        if field in ("annotation", "returns", "decorator_list", "type_comment", "bases"):
            continue
        for index, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(node, ast.AST) or _is_skipped(node):
                continue
            inner, within = function, outermost
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                inner = f"{function}.{node.name}" if function else node.name
                within = outermost or (inner if isinstance(node, ast.FunctionDef) else "")
            for new in _changed(node, parent):
                yield inner, within, parent, field, index, node, new
            yield from _places(node, inner, within)


def _is_skipped(node: ast.AST) -> bool:
    if isinstance(node, SKIPPED):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True  # a docstring
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return True
    return isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__slots__"


def _with(node: ast.AST, **fields: Any) -> ast.AST:
    new = type(node)(**{name: fields.get(name, value) for name, value in ast.iter_fields(node)})
    return ast.copy_location(new, node)


def _changed(node: ast.AST, parent: ast.AST) -> Iterator[ast.AST]:
    if (isinstance(parent, (ast.If, ast.IfExp)) and node is parent.test) or (
            isinstance(parent, ast.comprehension) and node in parent.ifs):
        yield from (ast.copy_location(ast.Constant(truth), node) for truth in (True, False))
    elif isinstance(parent, ast.While) and node is parent.test:
        yield ast.copy_location(ast.Constant(False), node)
    yield from _changed_expression(node, parent)
    if isinstance(node, ast.Raise) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
                                       and isinstance(node.value.func, ast.Name) and node.value.func.id in CHECKS):
        yield ast.copy_location(ast.Pass(), node)


def _changed_expression(node: ast.AST, parent: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BoolOp):
        for i in range(len(node.values)):
            rest = node.values[:i] + node.values[i + 1:]
            yield rest[0] if len(rest) == 1 else _with(node, values=rest)
    elif isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            yield _with(node, ops=[*node.ops[:i], SWAPPED[type(op)](), *node.ops[i + 1:]])
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield node.operand
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        yield _with(node, op=ast.Sub() if isinstance(node.op, ast.Add) else ast.Add())
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
        negative = ast.BinOp(ast.UnaryOp(ast.USub(), node.left), ast.FloorDiv(), node.right)
        yield ast.copy_location(ast.UnaryOp(ast.USub(), negative), node)
    elif isinstance(node, ast.Constant):
        yield from _changed_constant(node, parent)
    elif isinstance(node, ast.Name) and node.id in NAMES and isinstance(node.ctx, ast.Load):
        yield _with(node, id=NAMES[node.id])
    elif isinstance(node, ast.Attribute) and node.attr in NAMES and isinstance(node.ctx, ast.Load):
        yield _with(node, attr=NAMES[node.attr])


def _changed_constant(node: ast.Constant, parent: ast.AST) -> Iterator[ast.AST]:
    value = node.value
    if isinstance(value, bool):
        yield _with(node, value=not value)
    elif isinstance(value, int):
        yield _with(node, value=0 if isinstance(parent, ast.Subscript) and value == 1 else value + 1)
    elif value in ("lo", "hi"):
        yield _with(node, value=NAMES[value])
