"""How often the source uses retired words, in identifiers, public docstrings and texts for users.

    python tools/words.py                   # counts by word
    python tools/words.py --list            # with the places
    python tools/words.py --list stand-in   # those of one word

words.toml has the words and what to write instead. Identifiers are the names of files, classes, functions and fields;
public docstrings are those of modules, classes and functions without an underscore; texts are the strings of at least
three words: the messages of errors, notes and commands. tests/house.json has a ceiling for each word.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))
from source_files import CASES, ROOT, modules, tree

WORDS = ROOT / "tools/words.toml"
SENTENCE = 3
IDENTIFIERS, DOCSTRINGS, TEXTS = "identifiers", "docstrings", "texts"
PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


class Use(NamedTuple):
    word: str
    kind: str
    place: str
    text: str


class Word(NamedTuple):
    """A row of words.toml."""

    name: str
    instead: str
    prose: re.Pattern[str] | None
    parts: re.Pattern[str] | None
    names: frozenset[str]

    def is_in(self, kind: str, text: str) -> int:
        """How many times."""
        if kind != IDENTIFIERS:
            return len(self.prose.findall(text)) if self.prose else 0
        return int(text in self.names or bool(self.parts and self.parts.search(snake_case(text))))


def snake_case(name: str) -> str:
    return "_".join(PARTS.findall(name)).lower()


def words(rows: Mapping[str, Mapping[str, Any]] | None = None) -> list[Word]:
    if rows is None:
        rows = tomllib.loads(WORDS.read_text(encoding="utf-8"))
    found = []
    for name, row in rows.items():
        pattern, parts = row.get("prose"), "|".join(row.get("parts", ()))
        prose = re.compile(rf"(?:(?<=^)|\b)(?:{pattern})\b", re.IGNORECASE) if pattern else None
        part = re.compile(rf"(?:^|_)(?:{parts})(?:_|$)") if parts else None
        found.append(Word(name, row["instead"], prose, part, frozenset(row.get("names", ()))))
    return found


def identifiers(source: ast.AST) -> Iterator[tuple[int, str]]:
    """The names of classes and functions, and of fields: those of a class body, and those that are set on `self`."""
    for node in ast.walk(source):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name
        if isinstance(node, ast.ClassDef):
            for row in node.body:
                targets = row.targets if isinstance(row, ast.Assign) else [getattr(row, "target", None)]
                yield from ((row.lineno, target.id) for target in targets if isinstance(target, ast.Name))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr


def _strings_of(body: list[ast.stmt]) -> Iterator[ast.Constant]:
    """Strings that are statements: docstrings, also those behind the attribute that they are about."""
    for row in body:
        if isinstance(row, ast.Expr) and isinstance(row.value, ast.Constant) and isinstance(row.value.value, str):
            yield row.value


def prose(source: ast.Module) -> Iterator[tuple[str, int, str]]:
    """Public docstrings, and texts, with the line of each."""
    documented: set[int] = set()
    for node in ast.walk(source):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            public = isinstance(node, ast.Module) or not node.name.startswith("_")
            for string in _strings_of(node.body):
                documented.add(id(string))
                if public:
                    yield DOCSTRINGS, string.lineno, str(string.value)
    for node in ast.walk(source):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value.split()) >= SENTENCE:
            yield from () if id(node) in documented else [(TEXTS, node.lineno, node.value)]


def uses(files: Mapping[str, ast.Module], table: list[Word]) -> Iterator[Use]:
    for module, source in files.items():
        file = {(1, module.rpartition(".")[2])}
        named = [(IDENTIFIERS, line, name) for line, name in file | set(identifiers(source))]
        for kind, line, text in sorted([*named, *prose(source)]):
            for word in table:
                for _ in range(word.is_in(kind, text)):
                    yield Use(word.name, kind, f"{module}:{line}", " ".join(text.split()))


def all_uses() -> list[Use]:
    files = {name: tree(path) for name, path in modules().items() if not name.startswith(CASES)}
    return list(uses(files, words()))


def counts(found: list[Use]) -> dict[str, int]:
    """Each word in all, in the order of words.toml."""
    return {word.name: sum(use.word == word.name for use in found) for word in words()}


def main() -> None:
    from rich.console import Console
    from rich.table import Table

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("word", nargs="?", help="one word alone")
    parser.add_argument("--list", action="store_true", help="the places, too")
    options = parser.parse_args()
    table = [word for word in words() if options.word in (None, word.name)]
    if not table:
        parser.error(f"no word {options.word!r} in {WORDS.name}")
    found, kinds = all_uses(), (IDENTIFIERS, DOCSTRINGS, TEXTS)
    grid = Table(*("retired", *kinds, "all", "instead"))
    for word in table:
        by_kind = [sum(use[:2] == (word.name, kind) for use in found) for kind in kinds]
        grid.add_row(word.name, *map(str, by_kind), str(sum(by_kind)), word.instead)
    console = Console(soft_wrap=True, highlight=False, markup=False)
    console.print(grid)
    for use in found if options.list else ():
        if use.word in [word.name for word in table]:
            console.print(f"{use.place} {use.word} ({use.kind}): {use.text[:100]}")


if __name__ == "__main__":
    main()
