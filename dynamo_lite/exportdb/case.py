"""One case of ExportDB: a file of `cases/`, read.

The docstring's first line is the title, the rest the description. The file then contains in plain Python:

=========================================  =========================================================================
`TAGS`                                     what it is about, for search and the index
`ERROR`                                    the id of the error; without it the module must export and equal eager
`Module`, or a function `program`          what is exported
`Rewrite`, or a function `rewrite`         with ERROR: what to write instead (left out where only the call changes)
`inputs()`, `kwargs()`                     the example call (`kwargs` is optional)
`rewrite_inputs()`, `rewrite_kwargs()`     the rewrite's example call, where it takes other arguments
`other_inputs()`                           further positional arguments for which the program must equal eager
`wrong_inputs()`                           positional arguments that the exported program rejects with ERROR
`dynamic_shapes()`                         as for `export`; `rewrite_dynamic_shapes()` if the rewrite needs others
`export(module)`, `rewrite_export(module)` the call of export, where that is what the case is about
`eager(module, ...)`                       what the module gives in eager, where a plain call is not enough
`SAME_VALUES = False`                      the rewrite gives other values on purpose (random numbers): shapes count
`RETURNED = True`                          containers that the program changes are returned; the caller's own stay
`# stops here`                             at the end of the line that the error points at
=========================================  =========================================================================
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

import dynamo_lite
from dynamo_lite.exportdb.lookup import CASES, names

MARK = "# stops here"


@dataclass(frozen=True)
class Call:
    """The arguments of one call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One case. `name` is its file's name without `.py`.

    What is listed and searched is read from the text: a case may import what is not installed (numpy).
    """

    name: str

    @cached_property
    def file(self) -> ModuleType:
        """The imported file."""
        return importlib.import_module(f"dynamo_lite.exportdb.cases.{self.name}")

    @cached_property
    def _tree(self) -> ast.Module:
        return ast.parse(self.source)

    @cached_property
    def _heads(self) -> dict[str, Any]:
        """`TAGS` and `ERROR`, as far as the file has them."""
        nodes = (node for node in self._tree.body if _is_frame(node) and isinstance(node, ast.Assign))
        return {node.targets[0].id: ast.literal_eval(node.value) for node in nodes}  # type: ignore[attr-defined]

    @property
    def _doc(self) -> str:
        return ast.get_docstring(self._tree) or ""

    @property
    def title(self) -> str:
        return self._doc.partition("\n")[0]

    @property
    def description(self) -> str:
        return self._doc.partition("\n")[2].strip()

    @property
    def tags(self) -> tuple[str, ...]:
        return tuple(self._heads["TAGS"])

    @property
    def error(self) -> str | None:
        """The id of the error that the module is refused with; None if it works."""
        return self._heads.get("ERROR")

    @property
    def same_values(self) -> bool:
        """Whether the rewrite returns what the module returns; it does, except for random numbers and what the caller
        is to keep."""
        return bool(self._optional("SAME_VALUES", True))

    @property
    def returned(self) -> bool:
        """Whether containers that the program changes come back as outputs, so that the caller's own may stay."""
        return bool(self._optional("RETURNED", False))

    @property
    def path(self) -> Path:
        return CASES / f"{self.name}.py"

    @cached_property
    def source(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def code(self) -> str:
        """The source without the docstring, the tags and what every file has."""
        body = self._tree.body
        lines: list[str | None] = list(self.source.splitlines(keepends=True))
        for node in body:
            if _is_frame(node):
                lines[node.lineno - 1 : node.end_lineno] = [None] * ((node.end_lineno or node.lineno) - node.lineno + 1)
        text = "".join(line for line in lines if line is not None).strip("\n")
        return re.sub(r"\n{4,}", "\n\n\n", text)

    @property
    def marked_line(self) -> int | None:
        """The number of the line that the error points at."""
        lines = [number for number, line in enumerate(self.source.splitlines(), 1) if line.rstrip().endswith(MARK)]
        return lines[0] if lines else None

    @property
    def rejects(self) -> bool:
        """Whether the program exports and the error comes when it is called with `wrong_inputs()`."""
        return hasattr(self.file, "wrong_inputs")

    # ---- what to run, made for each call

    def module(self) -> Callable[..., Any]:
        """The module that works or is refused."""
        return _make(self.file, "Module", "program")

    @property
    def has_rewrite(self) -> bool:
        return any(name.lower().startswith("rewrite") for name in vars(self.file))

    def rewrite(self) -> Callable[..., Any]:
        """The module to write instead; the module itself where only the call of export is written in another way."""
        if hasattr(self.file, "Rewrite") or hasattr(self.file, "rewrite"):
            return _make(self.file, "Rewrite", "rewrite")
        return self.module()

    def inputs(self) -> Call:
        return Call(self._called("inputs", ()), self._called("kwargs", {}))

    def rewrite_inputs(self) -> Call:
        return Call(self._called("rewrite_inputs", None) or self.inputs().args, self._rewrite_kwargs())

    def _rewrite_kwargs(self) -> dict[str, Any]:
        return self._called("rewrite_kwargs", None) or self._called("kwargs", {})

    def other_inputs(self) -> list[Call]:
        return [Call(args, self._called("kwargs", {})) for args in self._called("other_inputs", [])]

    def wrong_inputs(self) -> Call:
        return Call(self.file.wrong_inputs(), self._called("kwargs", {}))

    def dynamic_shapes(self) -> Any:
        return self._called("dynamic_shapes", None)

    def rewrite_dynamic_shapes(self) -> Any:
        return self._called("rewrite_dynamic_shapes", self.dynamic_shapes())

    def eager(self) -> Any:
        """The module's result in eager."""
        call, own = self.inputs(), self._optional("eager")
        run = self.module() if own is None else partial(own, self.module())
        return run(*call.args, **call.kwargs)

    def export(self) -> Any:
        """Export the module with the case's options. Raises what export raises."""
        own = self._optional("export")
        return own(self.module()) if own else _export(self.module(), self.inputs(), self.dynamic_shapes())

    def export_rewrite(self) -> Any:
        own = self._optional("rewrite_export")
        if own:
            return own(self.rewrite())
        return _export(self.rewrite(), self.rewrite_inputs(), self.rewrite_dynamic_shapes())

    def _optional(self, name: str, default: Any = None) -> Any:
        return getattr(self.file, name, default)

    def _called(self, name: str, default: Any) -> Any:
        made = self._optional(name)
        if made is None:
            return default
        torch.manual_seed(0)  # the same values for each call
        return made()


def load(name: str) -> Case:
    """The case `name`. Raises KeyError if there is none."""
    if name not in names():
        raise KeyError(name)
    return Case(name)


def _is_frame(node: ast.stmt) -> bool:
    """What only says how the case is read: the docstring, the future import, TAGS and ERROR."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Assign):
        return isinstance(node.targets[0], ast.Name) and node.targets[0].id in ("TAGS", "ERROR")
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _make(file: ModuleType, cls: str, fn: str) -> Any:
    torch.manual_seed(0)
    made = getattr(file, cls, None)
    return getattr(file, fn) if made is None else made()


def _export(program: Any, call: Call, dynamic_shapes: Any) -> Any:
    return dynamo_lite.export(program, call.args, call.kwargs, dynamic_shapes=dynamic_shapes)
