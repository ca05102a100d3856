"""Size and layout of the source at several commits: lines per package, folders, long files and functions.

    python benchmarks/layout.py --write 2cd7588 eb08a84 HEAD

A line is any line of a .py file, blank ones included. The cases of ExportDB count apart, tests not at all.
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import tarfile
from collections import Counter
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
PACKAGES = ("dynamo_lite", "symbolic_shapes", "guards")
LONG_FILE, LONG_FUNCTION = 400, 60


def sources(revision: str) -> dict[PurePosixPath, str]:
    """Each .py file of the packages at a commit."""
    command = ["git", "-C", str(ROOT), "archive", "--format=tar", revision, *PACKAGES]
    with tarfile.open(fileobj=io.BytesIO(subprocess.run(command, capture_output=True, check=True).stdout)) as archive:
        found = {}
        for member in archive:
            content = archive.extractfile(member) if member.isfile() and member.name.endswith(".py") else None
            if content is not None:
                found[PurePosixPath(member.name)] = content.read().decode()
    return found


def package_of(path: PurePosixPath) -> str:
    if "cases" in path.parts:
        return "exportdb/cases"
    if path.parts[0] != "dynamo_lite":
        return path.parts[0]
    return path.parts[1] if len(path.parts) > 2 else "dynamo_lite/*.py"


def measures(files: dict[PurePosixPath, str]) -> dict[str, int]:
    """The rows about layout, without ExportDB's cases."""
    own = {path: text for path, text in files.items() if "cases" not in path.parts}
    folders = Counter(path.parent for path in own if path.name != "__init__.py")
    functions = [
        node.end_lineno - node.lineno + 1
        for text in own.values()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None
    ]
    return {
        "files": len(own),
        "folders": len(folders),
        "most files in a folder": max(folders.values()),
        f"files over {LONG_FILE} lines": sum(len(text.splitlines()) > LONG_FILE for text in own.values()),
        "functions": len(functions),
        f"functions over {LONG_FUNCTION} lines": sum(length > LONG_FUNCTION for length in functions),
    }


def table(revisions: list[str]) -> list[str]:
    trees = [sources(revision) for revision in revisions]
    lines = [Counter[str]() for _ in trees]
    for count, tree in zip(lines, trees):
        for path, text in tree.items():
            count[package_of(path)] += len(text.splitlines())
    names = sorted(set().union(*lines))
    rows = {name: [count[name] for count in lines] for name in names}
    rows["**all, without the cases**"] = [sum(count.values()) - count["exportdb/cases"] for count in lines]
    found = [measures(tree) for tree in trees]
    rows |= {name: [each[name] for each in found] for name in found[0]}
    head = ["| |" + "".join(f" {revision} |" for revision in revisions), "|---|" + "---:|" * len(revisions)]
    return head + [f"| {name} |" + "".join(f" {n if n else '–'} |" for n in numbers) for name, numbers in rows.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("revisions", nargs="+")
    parser.add_argument("--write", action="store_true", help="put the table into benchmarks/results/layout.md")
    options = parser.parse_args()
    names = [
        subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short=7", revision], capture_output=True, text=True,
                       check=True).stdout.strip() for revision in options.revisions
    ]  # fmt: skip
    text = "\n".join(table(names))
    print(text)
    if options.write:
        place = ROOT / "benchmarks/results/layout.md"
        before, _, rest = place.read_text(encoding="utf-8").partition("<!-- table -->\n")
        after = rest.partition("<!-- end -->\n")[2]
        place.write_text(f"{before}<!-- table -->\n{text}\n<!-- end -->\n{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
