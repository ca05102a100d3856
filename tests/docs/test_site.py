"""The source of the documentation site: every page is in the navigation, links lead somewhere, the API names are there.

`make docs` builds it with mkdocs in strict mode; where mkdocs is installed, so does the last test.
"""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import torch  # noqa: F401  the API names are imported

from tests.docs.test_links import links
from tools import site

ROOT = Path(__file__).parents[2]
MKDOCS = shutil.which("mkdocs") or next((str(path) for path in ROOT.glob(".venv-docs/bin/mkdocs")), None)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    site.main(folder)
    return folder


def test_the_navigation_has_every_page(source: Path) -> None:
    named = re.findall(r": ([\w/]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert [name for name in named if not (source / name).is_file()] == []
    pages = [path.relative_to(source).as_posix() for path in (source / "docs").glob("**/*.md")]
    assert sorted(set(pages).difference(named)) == []


def test_links_hold_in_the_layout_of_the_site(source: Path) -> None:
    wrong = [
        f"{page.relative_to(source)}: {target}"
        for page in source.glob("**/*.md")
        for target in links(page)
        if target.partition("#")[0] and not (page.parent / target.partition("#")[0]).exists()
    ]
    assert wrong == []


def test_every_case_is_listed(source: Path) -> None:
    from dynamo_lite.exportdb import catalogue

    text = (source / "docs/exportdb_cases.md").read_text()
    for case in catalogue.all_cases():
        assert f"| `{case.name}` | {case.error or 'works'} |" in text


def test_the_names_of_the_reference_exist() -> None:
    names = re.findall(r"^::: ([\w.]+)$", (ROOT / "docs/api.md").read_text(), re.MULTILINE)
    assert len(names) > 10
    for name in names:
        module, _, attribute = name.rpartition(".")
        found = importlib.import_module(module)
        assert hasattr(found, attribute) or importlib.import_module(name)


@pytest.mark.skipif(MKDOCS is None, reason="needs mkdocs (make docs installs it)")
def test_the_site_builds_in_strict_mode(source: Path, tmp_path: Path) -> None:
    text = (ROOT / "mkdocs.yml").read_text().replace("build/site-source", str(source))
    text = text.replace("[build/types]", f"[{ROOT}/build/types]")
    (tmp_path / "mkdocs.yml").write_text(text)
    command = [
        str(MKDOCS),
        "build",
        "--quiet",
        "--config-file",
        tmp_path / "mkdocs.yml",
        "--site-dir",
        tmp_path / "out",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "dynamo_lite.api.export" in (tmp_path / "out/docs/api.html").read_text()
