"""Relative links of README, CONTRIBUTING, CHANGELOG and docs/ lead to files and headings that are there."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted((ROOT / "docs").glob("**/*.md")),
    *(ROOT / n for n in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "tests/README.md")),
]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def links(page: Path) -> Iterator[str]:
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    text = re.sub(r"`[^`\n]*`", "", text)
    return (target for target in LINK.findall(text) if not target.startswith(("http:", "https:", "mailto:")))


def anchors(page: Path) -> set[str]:
    """The ids that GitHub and mkdocs give to headings."""
    heads = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    wrong = []
    for target in links(page):
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            wrong.append(target)
    assert wrong == []


def test_every_page_can_be_found() -> None:
    """Each page of docs/ is linked from the README, or from a page that is."""
    seen, todo = set(), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page in seen or page.suffix != ".md" or not page.exists():
            continue
        seen.add(page)
        todo += [(page.parent / target.partition("#")[0]).resolve() for target in links(page)]
    assert [str(p.relative_to(ROOT)) for p in sorted((ROOT / "docs").glob("**/*.md")) if p not in seen] == []


def test_links_of_the_readme_are_tracked() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if tracked.returncode != 0:
        pytest.skip("not a git checkout")
    files = set(tracked.stdout.splitlines())
    missing = [t for t in links(ROOT / "README.md") if t not in files and not any(f.startswith(f"{t}/") for f in files)]
    assert missing == []
