"""Where the code of features is, what an export enters, and how much there is: figures that tests/test_house.py holds.

    python tools/house.py arrows [--list]     # imports from wiring and core to features, and among features
    python tools/house.py path relu           # what one export enters; also: dynamic, branch
    python tools/house.py path relu --order   # each function of it, in the order of docs/design.md
    python tools/house.py size                # lines and files
    python tools/house.py check               # all figures beside their ceilings
    python tools/house.py hold                # write lower figures as the new ceilings
    python tools/house.py hold --raise "why"  # write higher ones too, with the reason

Retired words are counted by tools/words.py; `check` and `hold` are about these, too.

tests/house.json has the table (which file belongs to which feature, to the wiring, to the core or to the tools around
it) and the ceilings. A file of dynamo_lite/features/NAME/ belongs to the feature NAME without a row.
"""

from __future__ import annotations

import importlib.metadata
import json
import math
import os
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType, FrameType
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent))
import words
from source_files import CASES, ROOT, circles, imports, modules

HOUSE = ROOT / "tests/house.json"
PREFIX = "dynamo_lite."
FEATURES = f"{PREFIX}features."
SHORT_FILE = 60
LINE = 120
PROGRAMS = {
    "relu": ("a static torch.nn.ReLU, exported before", ("modules", "tensors")),
    "dynamic": ("a torch.nn.Linear with a dynamic batch", ("modules", "tensors", "sizes")),
    "branch": ("`if x.sum() > 0`", ("modules", "tensors", "control_flow")),
}
"""Name → what is exported, and the features that it uses."""

Figures = dict[str, int]
app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, help=__doc__)
console = Console(soft_wrap=True)


class Owner(NamedTuple):
    """Where a file belongs: kind is "feature", "wiring", "core" or "tools"."""

    kind: str
    feature: str = ""


class House(NamedTuple):
    """The table of tests/house.json: module or package (without `dynamo_lite.`) → owner; the longest name decides."""

    rows: dict[str, Owner]
    needs: dict[str, list[str]]
    evening: list[str]
    ceilings: dict[str, Figures]
    version: str

    def owner(self, module: str) -> Owner | None:
        """None for a file without a row, and for a package of mixed files, whose `__init__` has a docstring alone."""
        if module.startswith(FEATURES):
            return Owner("feature", module.removeprefix(FEATURES).partition(".")[0])
        name = module.removeprefix(PREFIX)
        while name and name not in self.rows:
            name = name.rpartition(".")[0]
        return self.rows.get(name)

    def may_import(self, feature: str, other: str) -> bool:
        needs = self.needs.get(feature, [])
        return feature == other or "*" in needs or other in needs


def house() -> House:
    data = json.loads(HOUSE.read_text(encoding="utf-8"))
    rows = {name: Owner("feature", feature) for feature, room in data["features"].items() for name in room["files"]}
    rows |= {name: Owner(kind) for kind in ("wiring", "core", "tools") for name in data[kind]}
    needs = {feature: room["needs"] for feature, room in data["features"].items()}
    return House(rows, needs, data["evening"], data["ceilings"], data["measured with"])


def source() -> dict[str, Path]:
    """All source files but the cases of ExportDB."""
    return {name: path for name, path in modules().items() if not name.startswith(CASES)}


def unclassified(table: House) -> list[str]:
    """Files without a row, `__init__` files of mixed packages aside, and rows without a file."""
    mixed = {name for name, path in modules().items() if path.name == "__init__.py"}
    files = [name for name in modules() if table.owner(name) is None and name not in mixed]
    return files + [name for name in table.rows if PREFIX + name not in modules()]


def arrows(table: House) -> dict[str, list[str]]:
    """Imports by kind, each as "module:line target"; one for each pair of files."""
    found: dict[str, list[str]] = {"wiring to features": [], "core to features": [], "beyond needs": []}
    among: dict[str, set[str]] = {}
    for module in source():
        owner = table.owner(module)
        if owner is None or owner.kind == "tools":
            continue
        for target, line in sorted(dict(imports(module)).items()):
            other = table.owner(target)
            if other is None or other.kind != "feature" or other.feature == owner.feature:
                continue
            text = f"{module}:{line} {target} ({other.feature})"
            if owner.kind != "feature":
                found[f"{owner.kind} to features"].append(text)
                continue
            among.setdefault(owner.feature, set()).add(other.feature)
            if not table.may_import(owner.feature, other.feature):
                found["beyond needs"].append(f"{text} from {owner.feature}")
    found["features in circles"] = sorted(name for part in circles(among) for name in part)
    return found


def sizes(table: House) -> Figures:
    lines = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in source().items()}
    importers = Counter(target for name in source() for target in dict(imports(name)))
    short = [n for n, count in lines.items() if count <= SHORT_FILE and source()[n].name != "__init__.py"]
    return {
        "lines": sum(lines.values()),
        "files": len(lines),
        "lines of the evening's files": sum(lines[PREFIX + name] for name in table.evening),
        "lines of the largest file": max(lines.values()),
        "files of at most 60 lines with one importer": sum(importers[name] == 1 for name in short),
    }


def exported(program: str) -> tuple[Any, dict[str, Any]]:
    """The module of a program, and the keyword arguments of its export."""
    import torch

    class Branch(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            if x.sum() > 0:
                return x + 1
            return x - 1

    if program == "relu":
        return torch.nn.ReLU(), {"args": (torch.randn(2, 3),)}
    if program == "dynamic":
        return torch.nn.Linear(3, 4), {
            "args": (torch.randn(5, 3),),
            "dynamic_shapes": ({0: torch.export.Dim("batch")},),
        }
    return Branch(), {"args": (torch.ones(3),)}


def entered(program: str) -> list[CodeType]:
    """The functions of the packages that one export calls, in the order of their first calls.

    A ReLU is exported twice before, so that tables are made.
    """
    sys.path.insert(0, str(ROOT))
    from dynamo_lite import export, source_lines

    source_lines._LOOKS = math.inf  # on a busy machine, an export would look at a file again
    found: dict[CodeType, None] = {}
    folders = tuple(os.path.join(ROOT, package) + os.sep for package in ("dynamo_lite", "symbolic_shapes", "guards"))

    def on_event(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_name[0] != "<" and code.co_filename.startswith(folders):
            found[code] = None

    for _ in range(2):
        module, options = exported("relu")
        export(module, **options)
    module, options = exported(program)
    sys.setprofile(on_event)
    try:
        export(module, **options)
    finally:
        sys.setprofile(None)
    return [*found]


def calls(program: str) -> list[tuple[str, str]]:
    """(file, function) for what `entered` lists; the name of a function is the qualified one."""
    return [(os.path.relpath(os.path.realpath(c.co_filename), ROOT), c.co_qualname) for c in entered(program)]


def calls_alone(program: str) -> list[tuple[str, str]]:
    """`calls` in a process of its own: exports before change which functions the next one calls."""
    return [(file, name) for file, name in _alone(f"house.calls({program!r})")]


def walked(program: str, table: House) -> tuple[Figures, list[str]]:
    """The figures of a path, and the files on it with their owners; those that belong to features not in question."""
    functions = entered(program)
    names = {os.path.realpath(path): name for name, path in modules().items()}
    files = {names[os.path.realpath(code.co_filename)] for code in functions}
    owners = {name: table.owner(name) or Owner("core") for name in files}
    strange = [n for n, o in owners.items() if o.kind == "feature" and o.feature not in PROGRAMS[program][1]]
    figures = {
        "functions": len(functions),
        "lines": sum(_lines(code) for code in functions),
        "files": len(files),
        "files of other features": len(strange),
    }
    return figures, sorted(strange)


def walked_alone(program: str) -> Figures:
    """The figures of a path in a process of its own, as `calls_alone`."""
    return dict(_alone(f"house.walked({program!r}, house.house())[0]"))


def _alone(expression: str) -> Any:
    command = [sys.executable, "-c", f"import json, house; print(json.dumps({expression}))"]
    run = subprocess.run(command, cwd=ROOT / "tools", stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(run.stdout.splitlines()[-1])


def _lines(code: CodeType) -> int:
    return max(line for _, _, line in code.co_lines() if line) - code.co_firstlineno + 1


def measured(table: House) -> Iterator[tuple[str, Figures]]:
    yield "arrows", {kind: len(found) for kind, found in arrows(table).items()}
    yield "size", sizes(table)
    yield "words", words.counts(words.all_uses())
    for program in PROGRAMS:
        yield f"path {program}", walked_alone(program)


def version() -> str:
    """The Python and torch that the figures of paths are of: with another, other functions are called."""
    torch = importlib.metadata.version("torch").partition("+")[0]
    return f"Python {sys.version_info.major}.{sys.version_info.minor}, torch {torch}"


def dumped(value: Any, margin: str = "") -> str:
    """JSON with one line for what fits into one."""
    text = json.dumps(value, ensure_ascii=False)
    if len(margin) + len(text) < LINE - 30 or not isinstance(value, dict | list):
        return text
    inner = margin + "  "
    if isinstance(value, list):
        short = max(map(len, map(str, value))) < LINE // 2
        items = ", ".join(map(json.dumps, value)) if short else f",\n{inner}".join(json.dumps(v) for v in value)
        wrapped = textwrap.fill(items, LINE - len(inner), break_on_hyphens=False) if short else items
        return f"[\n{textwrap.indent(wrapped, inner) if short else inner + wrapped}\n{margin}]"
    rows = (f"{inner}{json.dumps(key)}: {dumped(each, inner)}" for key, each in value.items())
    return "{\n" + ",\n".join(rows) + f"\n{margin}}}"


def show(title: str, figures: Mapping[str, int], ceilings: Mapping[str, int]) -> None:
    grid = Table(title=title, title_justify="left")
    for heading in ("figure", "now", "ceiling"):
        grid.add_column(heading, justify="left" if heading == "figure" else "right")
    for name, number in figures.items():
        ceiling = ceilings.get(name)
        style = "red" if ceiling is not None and number > ceiling else ""
        grid.add_row(name, f"{number:,}", "" if ceiling is None else f"{ceiling:,}", style=style)
    console.print(grid)


Listed = Annotated[bool, typer.Option("--list", help="name the places")]
InOrder = Annotated[bool, typer.Option("--order", help="name each function that is entered, by its first call")]


@app.command("arrows")
def show_arrows(places: Listed = False) -> None:
    """Imports that point to features, and circles among features."""
    table = house()
    found = arrows(table)
    show("arrows", {kind: len(texts) for kind, texts in found.items()}, table.ceilings.get("arrows", {}))
    for kind, texts in found.items() if places else ():
        console.print(f"\n{kind}", *texts, sep="\n  ", highlight=False)


@app.command("path")
def show_path(program: str, places: Listed = False, order: InOrder = False) -> None:
    """What one export enters: relu, dynamic or branch. --list: the files of features that it does not use."""
    if order:
        for file, name in calls(program):
            console.print(f"{file} {name}", highlight=False)
        return
    table = house()
    figures, strange = walked(program, table)
    show(f"path of {PROGRAMS[program][0]}", figures, table.ceilings.get(f"path {program}", {}))
    for name in strange if places else ():
        console.print(f"  {name}", highlight=False)


@app.command("size")
def show_size(largest: int = 10) -> None:
    """Lines and files, without the cases of ExportDB."""
    table = house()
    show("size", sizes(table), table.ceilings.get("size", {}))
    by_lines = sorted(((len(path.read_text(encoding="utf-8").splitlines()), n) for n, path in source().items()))
    for lines, name in by_lines[: -largest - 1 : -1]:
        console.print(f"  {lines:4}  {name}", highlight=False)


@app.command("check")
def check() -> None:
    """All figures beside their ceilings. Exit code 1 if one is above."""
    table, above = house(), False
    for kind, figures in measured(table):
        ceilings = table.ceilings.get(kind, {}) if version() == table.version or "path" not in kind else {}
        show(kind, figures, ceilings)
        above |= bool(over(figures, ceilings))
    raise typer.Exit(above)


def over(figures: Mapping[str, int], ceilings: Mapping[str, int]) -> list[str]:
    return [f"{name}: {n} > {ceilings[name]}" for name, n in figures.items() if n > ceilings.get(name, n)]


@app.command("hold")
def hold(reason: Annotated[str, typer.Option("--raise", help="why some figures may be higher")] = "") -> None:
    """Write today's figures as ceilings; those that are higher only with a reason, which the file keeps."""
    data, table = json.loads(HOUSE.read_text(encoding="utf-8")), house()
    for kind, figures in measured(table):
        ceilings = data["ceilings"].setdefault(kind, {})
        higher = over(figures, ceilings)
        if higher and not reason:
            console.print(f"{kind}: {'; '.join(higher)} (give the reason by --raise)", style="red")
        elif higher:
            data["raised"].append(f"{kind}: {'; '.join(higher)}: {reason}")
        data["ceilings"][kind] = {n: v if reason else min(v, ceilings.get(n, v)) for n, v in figures.items()}
    data["measured with"] = version()
    HOUSE.write_text(dumped(data) + "\n", encoding="utf-8")


if __name__ == "__main__":
    app()
