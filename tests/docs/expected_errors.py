"""An example `try: CALL` / `except SomeError as error: assert ...` shows that the call raises: where it does
not, the page as it is printed goes on in silence, and its test must fail."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

NOTHING_RAISED = "raise AssertionError('nothing was raised in this try')"


class _Demands(ast.NodeTransformer):
    def visit_Try(self, node: ast.Try) -> ast.Try:
        self.generic_visit(node)
        if node.handlers and not node.orelse:
            (raises,) = ast.parse(NOTHING_RAISED).body
            for part in ast.walk(raises):
                ast.copy_location(part, node)  # the other lines keep their numbers
            node.orelse = [raises]
        return node


def run(code: str, path: Path, names: dict[str, Any]) -> None:
    """`code`, written to `path` as it is (sources are looked up there), with each `try` demanded to raise."""
    path.write_text(code, encoding="utf-8")
    exec(compile(_Demands().visit(ast.parse(code)), str(path), "exec"), names)
