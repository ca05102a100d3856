"""The command line of the laboratory: run, report, diff, list, show, shrink, verify. Colours on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from dynamo_lite.lab import exporters, programs, reports, runs
from dynamo_lite.lab.verifying import verify

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich" if sys.stdout.isatty() else None,
    help="How sound is a tracer? Programs, each exported and compared with eager, call by call.",
)
console = Console(highlight=False, soft_wrap=not sys.stdout.isatty(), width=None if sys.stdout.isatty() else 160)

app.command()(verify)

ExporterName = Annotated[str, typer.Option("--exporter", help="a name of `lab list --exporters`, or module:Class")]
File = Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="a file that `lab run` has written")]


@app.command()
def run(
    exporter: ExporterName,
    out: Annotated[Path, typer.Option(help="the file of JSON lines")] = Path("lab.jsonl"),
    classes: Annotated[str, typer.Option(help="names with commas between; all hand-written ones by default")] = "",
    random_modules: Annotated[int, typer.Option("--generated", help="so many random modules as well")] = 0,
    seed: Annotated[int, typer.Option(help="the seed of the first random module")] = 0,
    limit: Annotated[int | None, typer.Option(help="at most so many programs")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="processes at a time")] = 1,
    timeout: Annotated[float, typer.Option(help="seconds for a program")] = runs.STANDARD.seconds,
    memory: Annotated[int, typer.Option(help="MiB for a program, beyond the process's")] = runs.STANDARD.megabytes,
    resume: Annotated[bool, typer.Option("--resume", help="go on with the file of --out")] = False,
) -> None:
    """Export each program in a process of its own, and compare it with eager. Exits with 1 if one is wrong."""
    names = [name for name in classes.split(",") if name]
    if programs.GENERATED in names and not random_modules:
        random_modules = 100
    try:
        made = exporters.load(exporter)
        ids = list(islice(programs.chosen(names, seed, random_modules), limit))
        chosen = {"classes": names, "seed": seed, "generated": random_modules, "limit": limit}
        limits = runs.Limits(timeout, memory)
        about = runs.stamp(made, **chosen, timeout=timeout, memory=memory)
        resumed = _resumed(out, about) if resume else None
    except (LookupError, TypeError, ValueError, ImportError, AttributeError) as error:
        _usage(error)
    todo = [each for each in ids if resumed is None or each not in resumed.answers]
    with _progress(len(todo)) as done:
        found = runs.write(out, about, runs.run(todo, exporter, jobs, limits, done), resumed)
    _print_table(found)
    console.print(f"{out}: {len(found.answers)} programs", markup=False)
    raise typer.Exit(int(any(row["verdict"] == "wrong" for row in found.answers.values())))


@app.command()
def report(
    file: File,
    html: Annotated[Path | None, typer.Option(help="the page; FILE with the suffix .html by default")] = None,
) -> None:
    """Print the table of verdicts by class, and write a page with each wrong program and both answers."""
    found = _read(file)
    _print_table(found)
    page = html or file.with_suffix(".html")
    page.write_text(reports.page(found), encoding="utf-8")
    console.print(f"the page: {page}", markup=False)


@app.command()
def diff(first: File, second: File) -> None:
    """Print the programs that have another verdict in the second file. Exits with 1 if there are any."""
    one, other = _read(first), _read(second)
    lines = list(reports.differences(one, other))
    console.print(f"{one.title} ({one.stamp['torch']}) -> {other.title} ({other.stamp['torch']})", markup=False)
    for line in lines:
        console.print(line, markup=False)
    console.print(f"{len(lines)} differences among {len(one.answers.keys() & other.answers.keys())} programs of both")
    raise typer.Exit(int(bool(lines)))


@app.command("list")
def list_programs(
    classes: Annotated[str, typer.Option(help="names with commas between")] = "",
    known_exporters: Annotated[bool, typer.Option("--exporters", help="list the exporters")] = False,
) -> None:
    """List the hand-written programs, or the exporters."""
    if known_exporters:
        for name in exporters.names():
            print(name)
        return
    try:
        for id in programs.chosen([name for name in classes.split(",") if name]):
            console.print(f"{id:34} {programs.find(id).tests}", markup=False)
    except LookupError as error:
        _usage(error)


@app.command()
def show(id: Annotated[str, typer.Argument(help="as in `lab list`, or generated.SEED")]) -> None:
    """Print a program, and why dynamo-lite gets it wrong if it is known to."""
    try:
        found = programs.find(id)
    except LookupError as error:
        _usage(error)
    hole = programs.known_holes().get(id)
    wrong = f"# wrong with dynamo-lite: {hole['differs']} ({hole['why']})\n" if hole else ""
    console.print(f"# {found.id}: {found.tests}\n{wrong}{found.source}", markup=False, end="")


@app.command()
def shrink(
    id: Annotated[str, typer.Argument(help="generated.SEED")],
    exporter: ExporterName,
    out: Annotated[Path | None, typer.Option(help="the file of the reduced program; printed by default")] = None,
    limit: Annotated[int, typer.Option(min=1, help="at most so many programs are tried")] = 2000,
    timeout: Annotated[float, typer.Option(help="seconds for a program")] = runs.STANDARD.seconds,
) -> None:
    """Reduce a random module that an exporter gets wrong to a few lines. Exits with 2 if it gets it right."""
    from dynamo_lite.lab import host, shrinking
    from dynamo_lite.lab.generated import source

    kind, _, seed = id.partition(".")
    try:
        if kind != programs.GENERATED or not seed.isdecimal():
            raise LookupError(f"{id!r} is not of the form generated.SEED: the others are small already")
        made = exporters.load(exporter)
        host.torch.set_num_threads(1)  # a fork does not take the threads of a pool with it
        host.warm(made)
        with _progress(limit) as done:
            limits = runs.Limits(timeout, runs.STANDARD.megabytes)
            found = shrinking.Shrinker(made, limits, limit, lambda text: done(id)).shrink(source(int(seed)))
    except (LookupError, TypeError, ValueError, ImportError, AttributeError) as error:
        _usage(error)
    answer = found.answer
    console.print(f"# {answer.verdict}: {answer.text} ({found.tried} programs tried)", markup=False)
    if out is not None:
        out.write_text(found.source, encoding="utf-8")
    else:
        console.print(found.source, markup=False, end="")


def _read(path: Path) -> runs.RunFile:
    try:
        return runs.read(path)
    except ValueError as error:
        _usage(error)


def _resumed(path: Path, about: dict[str, Any]) -> runs.RunFile | None:
    """The file to go on with. ValueError where it is of another exporter, torch or Python."""
    if not path.exists():
        return None
    found = runs.read(path)
    for key in ("exporter", "version", "commit", "torch", "python"):
        if found.stamp.get(key) != about[key]:
            raise ValueError(f"{path} is of another {key}: {found.stamp.get(key)!r}, not {about[key]!r}")
    return found


def _usage(error: Exception) -> NoReturn:
    print(error.args[0] if error.args else error, file=sys.stderr)
    raise typer.Exit(2)


def _print_table(found: runs.RunFile) -> None:
    console.print(reports.table(found))
    for line in reports.wrong_lines(found):
        console.print(line, markup=False)


@contextmanager
def _progress(total: int) -> Iterator[Any]:
    """A bar on stderr, if that is a terminal. Gives what is called after each program."""
    bars = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    errors = Console(stderr=True)
    with Progress(*bars, console=errors, disable=not errors.is_terminal, transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda id: progress.update(task, advance=1, description=id)
