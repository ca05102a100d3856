"""The cases as a static HTML site: an index with tags and search, a page for each case; all made by running them."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path

import torch
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

import dynamo_lite
from dynamo_lite.exportdb import catalogue
from dynamo_lite.exportdb.case import Case
from dynamo_lite.exportdb.checking import error_of, quietly

_EXAMPLE = ("inputs", "kwargs", "other_inputs", "eager")


@dataclass
class Page:
    """The content of a case's page. Running the case happens on first use."""

    case: Case

    @property
    def title(self) -> Markup:
        return _inline(self.case.title)

    @property
    def paragraphs(self) -> list[Markup]:
        return [_inline(" ".join(text.split())) for text in self.case.description.split("\n\n")]

    @property
    def text(self) -> str:
        """The text that the index searches."""
        case = self.case
        return " ".join([case.name, case.error or "works", *case.tags, case.title, case.code]).lower()

    @cached_property
    def _parts(self) -> dict[str, str]:
        """The source in three parts: the module, the rewrite, the example."""
        parts = {"module": "", "rewrite": "", "rest": ""}
        code = self.case.code
        last = 0
        lines = code.splitlines(keepends=True)
        for node in ast.parse(code).body:
            name = getattr(node, "name", "")
            where = "rewrite" if name.lower().startswith("rewrite") else "rest" if name in _EXAMPLE else "module"
            assert node.end_lineno is not None
            parts[where] += "".join(lines[last : node.end_lineno])
            last = node.end_lineno
        return parts

    @property
    def module(self) -> Markup:
        return _python(self._parts["module"])

    @property
    def rewrite(self) -> Markup:
        return _python(self._parts["rewrite"])

    @property
    def rest(self) -> Markup:
        return _python(self._parts["rest"])

    @cached_property
    def error(self) -> str:
        """The error as printed; paths start at the package."""
        if self.case.error is None:
            return ""
        return str(error_of(self.case)).replace(f"{self.case.path.parent}/", "exportdb/cases/")

    @cached_property
    def graph(self) -> str:
        program = self.case.export() if self.case.error is None else self.case.export_rewrite()
        return str(program.graph).strip()

    @property
    def others(self) -> Iterable[Case]:
        error = self.case.error
        return [case for case in catalogue.with_error(error) if case.name != self.case.name] if error else []


@quietly()
def write_site(folder: Path) -> int:
    """Write the site into `folder` (made if it is missing); returns the number of pages."""
    environment = Environment(
        loader=PackageLoader("dynamo_lite.exportdb"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.globals.update(version=dynamo_lite.__version__, torch_version=torch.__version__)
    (folder / "cases").mkdir(parents=True, exist_ok=True)
    pages = [Page(case) for case in catalogue.all_cases()]
    index = environment.get_template("index.html").render(root="", pages=pages, tags=catalogue.tags().most_common())
    (folder / "index.html").write_text(index, encoding="utf-8")
    template = environment.get_template("case.html")
    for page in pages:
        text = template.render(root="../", page=page)
        (folder / "cases" / f"{page.case.name}.html").write_text(text, encoding="utf-8")
    style = files("dynamo_lite.exportdb").joinpath("templates/style.css").read_text(encoding="utf-8")
    (folder / "style.css").write_text(f"{style}\n{_code_colours()}\n", encoding="utf-8")
    return len(pages) + 1


def _python(code: str) -> Markup:
    code = inspect.cleandoc(code).strip("\n")
    return Markup(highlight(code, PythonLexer(), HtmlFormatter(nowrap=False))) if code else Markup("")


def _code_colours() -> str:
    """Pygments' colours for light pages and for dark ones."""
    light = HtmlFormatter(style="default").get_style_defs(".highlight")
    dark = HtmlFormatter(style="github-dark").get_style_defs(".highlight")
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}"


def _inline(text: str) -> Markup:
    """`code` in backticks; the rest escaped."""
    parts = text.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(p) if i % 2 else Markup.escape(p) for i, p in enumerate(parts)
    )
