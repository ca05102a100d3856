"""The answers of a run as a table, as a page, and beside those of another run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from rich.table import Table

from dynamo_lite.lab.judge import EQUAL, VERDICTS, WRONG
from dynamo_lite.lab.programs import find
from dynamo_lite.lab.runs import RunFile

ALL, CHANGED = "all", "changed"
COLUMNS = (*VERDICTS, CHANGED)
"""The verdicts, and how many exports have changed the user's objects or the process."""


def counts(found: RunFile) -> dict[str, Counter[str]]:
    """Class → verdict → how many; the last row is that of all."""
    rows: dict[str, Counter[str]] = {}
    for answer in found.answers.values():
        for name in (answer["kind"], ALL):
            row = rows.setdefault(name, Counter())
            row[answer["verdict"]] += 1
            row[CHANGED] += "changed" in answer
    return {name: rows[name] for name in (*sorted(rows.keys() - {ALL}), *([ALL] if rows else []))}


def stamped(found: RunFile) -> str:
    """The stamp on a line."""
    s = found.stamp
    commit = f", commit {s['commit']}" if s.get("commit") else ""
    return f"{found.title}{commit}, torch {s['torch']}, Python {s['python']}, {s['machine']}, {s['date']}"


def table(found: RunFile) -> Table:
    """A row a class, a column a verdict."""
    made = Table(title=stamped(found), title_justify="left", title_style="")
    made.add_column("class")
    for column in COLUMNS:
        made.add_column(column, justify="right")
    for name, row in counts(found).items():
        made.add_row(name, *(str(row[column]) for column in COLUMNS), end_section=False)
    return made


def wrong_lines(found: RunFile) -> Iterator[str]:
    """A line for each program that is wrong: id, call, the difference."""
    for answer in _sorted(found):
        if answer["verdict"] == WRONG:
            yield f"{answer['id']}: in call {answer.get('call', 0)}, {_line(answer)}"


def differences(one: RunFile, other: RunFile) -> Iterator[str]:
    """A line for each program of both whose verdict is another, or that is wrong in another way."""
    for answer in _sorted(one):
        then = other.answers.get(answer["id"])
        if then is None:
            continue
        if then["verdict"] != answer["verdict"]:
            text = _line(answer if then["verdict"] == EQUAL else then)
            yield f"{answer['id']}: {answer['verdict']} -> {then['verdict']}: {text}"
        elif answer["verdict"] == WRONG and _line(then) != _line(answer):
            yield f"{answer['id']}: wrong: {_line(answer)} -> {_line(then)}"


def page(found: RunFile) -> str:
    """The page: bars by class, then each program that is wrong, with its source, the input and both answers."""
    return (
        _environment()
        .get_template("lab.html")
        .render(
            title=found.title,
            stamp=stamped(found),
            columns=COLUMNS,
            verdicts=VERDICTS,
            rows=counts(found),
            wrong=[_with_source(answer) for answer in _sorted(found) if answer["verdict"] == WRONG],
            others=[answer for answer in _sorted(found) if answer["verdict"] not in (WRONG, EQUAL)],
            style=Markup(files(__package__).joinpath("templates", "lab.css").read_text(encoding="utf-8")),
        )
    )


def _with_source(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer with the program as this version has it, if it has it."""
    try:
        program = find(answer["id"])
    except LookupError:
        return {**answer, "tests": "", "source": ""}
    return {**answer, "tests": program.tests, "source": program.source}


def _sorted(found: RunFile) -> list[dict[str, Any]]:
    return sorted(found.answers.values(), key=lambda answer: (answer["kind"], answer["id"]))


def _line(answer: dict[str, Any]) -> str:
    return " ".join(answer.get("text", "").split())[:200]


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("dynamo_lite.lab"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
