"""The command line: list, show, search, check and site. Colours on a terminal, plain text when piped."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable
from json import dumps
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markdown import Markdown
from rich.syntax import Syntax
from rich.table import Table

from dynamo_lite.exportdb import catalogue
from dynamo_lite.exportdb.case import Case
from dynamo_lite.exportdb.checking import check as check_case
from dynamo_lite.exportdb.checking import error_of, quietly

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="rich" if sys.stdout.isatty() else None,
    help="Programs that can and cannot be exported, as cases that run.",
)
console = Console(highlight=False, soft_wrap=not sys.stdout.isatty())


Json = Annotated[bool, typer.Option("--json", help="print JSON")]


@app.command("list")
def list_cases(
    tag: Annotated[str | None, typer.Option(help="only cases with this tag")] = None, json: Json = False
) -> None:
    """List all cases: name, the error it is refused with, title."""
    if tag is not None and tag not in (known := catalogue.tags()):
        console.print(f"No case has the tag {tag!r}. The tags: {', '.join(sorted(known))}.", markup=False)
        raise typer.Exit(2)
    _print_cases((case for case in catalogue.all_cases() if tag is None or tag in case.tags), json)
    if tag is None and not json and console.is_terminal:
        console.print("Tags: " + ", ".join(f"{name} ({count})" for name, count in catalogue.tags().most_common()))


@app.command()
def search(
    words: Annotated[list[str], typer.Argument(help="all must occur: names, tags, errors, text, code")],
    json: Json = False,
) -> None:
    """Find cases by words, best first. Exits with 1 if there is none."""
    found = catalogue.search(" ".join(words))
    if not found and not json:
        console.print(f"No case contains {' '.join(words)!r}.")
        raise typer.Exit(1)
    _print_cases(found, json)
    raise typer.Exit(0 if found else 1)


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="a case, or the id of an error")],
    run: Annotated[bool, typer.Option(help="run it, and show the error and the graph")] = True,
    json: Json = False,
) -> None:
    """Show a case: its source, the error as printed, what to write instead, the graph."""
    case = _find(name)
    if json:
        print(dumps(_record(case) | {"description": case.description, "code": case.code}, indent=2))
        return
    _heading(f"{case.name}: {case.title}")
    console.print(Markdown(case.description) if console.is_terminal else case.description)
    status = f"refused with {case.error}" if case.error else "works"
    console.print(f"\n{status} | tags: {', '.join(case.tags)} | {case.path.name}\n")
    coloured = Syntax(case.code, "python", theme="ansi_dark", background_color="default")
    console.print(coloured if console.is_terminal else case.code, markup=False)
    if run:
        console.print()
        with quietly():
            _show_run(case)
    if case.error and (others := [c.name for c in catalogue.with_error(case.error) if c.name != case.name]):
        console.print(f"\nOther cases of {case.error}: {', '.join(others)}")


@app.command()
def check(
    names: Annotated[list[str] | None, typer.Argument(help="cases; all when left out")] = None, json: Json = False
) -> None:
    """Run cases and list what does not hold. Exits with 1 if something does not."""
    cases = [_find(name) for name in names] if names else list(catalogue.all_cases())
    wrong: dict[str, list[str]] = {}
    for case in cases:
        problems = check_case(case)
        if problems:
            wrong[case.name] = problems
        for problem in () if json else problems:
            console.print(f"{case.name}: {problem}", markup=False)
    if json:
        print(dumps({"cases": len(cases), "wrong": wrong}, indent=2))
    else:
        console.print(f"{len(cases) - len(wrong)} of {len(cases)} cases hold.")
    raise typer.Exit(1 if wrong else 0)


@app.command()
def site(folder: Annotated[Path, typer.Argument(help="where to write it")] = Path("build/exportdb")) -> None:
    """Write all cases as a static HTML site."""
    from dynamo_lite.exportdb.site import write_site

    pages = write_site(folder)
    console.print(f"{pages} pages: {folder / 'index.html'}")


def _find(name: str) -> Case:
    try:
        return catalogue.load(catalogue.case_for(name) or name)
    except KeyError:
        near = difflib.get_close_matches(name.replace("-", "_"), catalogue.names(), n=4, cutoff=0.4)
        hint = f" Near: {', '.join(near)}." if near else ""
        console.print(f"There is no case {name!r}.{hint}", markup=False)
        raise typer.Exit(2) from None


def _record(case: Case) -> dict[str, Any]:
    return {"name": case.name, "error": case.error, "tags": list(case.tags), "title": case.title}


def _print_cases(cases: Iterable[Case], json: bool = False) -> None:
    if json:
        print(dumps([_record(case) for case in cases], indent=2))
        return
    if not console.is_terminal:
        for case in cases:
            print(f"{case.name}\t{case.error or 'works'}\t{case.title}")
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("case", "error", "title"):
        table.add_column(heading)
    for case in cases:
        table.add_row(case.name, f"[red]{case.error}[/]" if case.error else "[green]works[/]", case.title)
    console.print(table)


def _heading(text: str) -> None:
    console.print(f"[bold]{text}[/]" if console.is_terminal else text)
    console.print()


def _show_run(case: Case) -> None:
    if case.error:
        error = error_of(case)
        _heading("The error" if error else "No error: the case does not hold")
        console.print(str(error), markup=False, soft_wrap=True)
        program = case.export_rewrite() if case.has_rewrite else None
        title = "The graph of the rewrite"
    else:
        program, title = case.export(), "The graph"
    if program is not None:
        console.print()
        _heading(title)
        console.print(str(program.graph).strip(), markup=False, soft_wrap=True)
