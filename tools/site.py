"""The source of the documentation site: the repository's pages, laid out as in the repository, and a page of ExportDB's
cases. `make docs` runs it, and mkdocs on the result.

    python tools/site.py build/site-source

The cases link to their own pages where `python -m dynamo_lite.exportdb site build/site-source/exportdb` ran before.
What a page links to outside of the pages (tests, notebooks, LICENSE) is copied too, so that every link holds.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from source_files import ROOT, packages_as_installed

PAGES = (
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/*.md", "docs/features/*.md"),
    *("benchmarks/results/*.md", "tests/README.md"),
)
TASKS = re.compile(r"^  - Tasks:\n((?:      .*\n)+)", re.MULTILINE)
FIRST = "---\nsearch:\n  boost: 4\n---\n"
"""What a page of a task begins with: the search of the site has it before the pages that explain and list."""
LINK = re.compile(r"(?<=\]\()([^)\s#]+)(?=[)#])")


def main(folder: Path) -> int:
    """Write the source into `folder`, emptied first but for the folder exportdb; returns the number of pages."""
    packages_as_installed()  # where mkdocs finds the docstrings of the API
    for old in folder.glob("*"):
        if old.name != "exportdb":
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    pages = [path for pattern in PAGES for path in sorted(ROOT.glob(pattern))]
    tasks = task_pages()
    for page in pages:
        target = folder / page.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        before = FIRST if page.relative_to(ROOT).as_posix() in tasks else ""
        target.write_text(before + _linked(page, folder), encoding="utf-8")
    (folder / "docs/exportdb_cases.md").write_text(_cases(folder), encoding="utf-8")
    return len(pages) + 1


def task_pages() -> set[str]:
    """The pages below "Tasks" in the navigation of mkdocs.yml."""
    found = TASKS.search((ROOT / "mkdocs.yml").read_text("utf-8"))
    if found is None:
        raise LookupError("mkdocs.yml has no part Tasks")
    return set(re.findall(r": (\S+\.md)$", found[1], re.MULTILINE))


def _linked(page: Path, folder: Path) -> str:
    """The text of a page. Files that it links to are copied; a link to a folder leads to its first file."""

    def replace(found: re.Match[str]) -> str:
        link = found[0]
        linked = (page.parent / link).resolve()
        if link.startswith(("http:", "https:")) or not linked.is_relative_to(ROOT) or not linked.exists():
            return link
        if linked.is_dir():
            files = sorted(file for file in linked.iterdir() if file.is_file())
            for file in files:
                _copy(file, folder)
            return f"{link.rstrip('/')}/{files[0].name}" if files else link
        if linked.suffix != ".md":
            _copy(linked, folder)
        return link

    text = page.read_text("utf-8")
    if "results" in page.parts:
        text = text.replace("][", "]\\[")  # tables of Python text; no page there uses links by reference
    parts = re.split(r"(```.*?```|`[^`\n]*`)", text, flags=re.DOTALL)  # code has no links
    if any("](" in part for part in parts[1::2]):
        return "".join(part if i % 2 else LINK.sub(replace, part) for i, part in enumerate(parts))
    return LINK.sub(replace, text)


def _copy(file: Path, folder: Path) -> None:
    target = folder / file.relative_to(ROOT)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(file, target)


def _cases(folder: Path) -> str:
    """A table of the cases, from their texts: no case is run, and torch is not needed."""
    rows = ["# The cases of ExportDB", "", "`python -m dynamo_lite exportdb show NAME` runs one.", ""]
    rows += ["| case | refused with | title |", "|---|---|---|"]
    for path in sorted((ROOT / "dynamo_lite/exportdb/cases").glob("[!_]*.py")):
        text = path.read_text("utf-8")
        error = re.search(r'^ERROR = "([^"]+)"', text, re.MULTILINE)
        title = text.removeprefix('"""').partition("\n")[0].rstrip('"').replace("|", "\\|")
        own = folder / "exportdb/cases" / f"{path.stem}.html"
        name = f"[{path.stem}](../exportdb/cases/{path.stem}.html)" if own.exists() else f"`{path.stem}`"
        rows.append(f"| {name} | {error[1] if error else 'works'} | {title} |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    print(f"{main(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / 'build/site-source'))} pages")
