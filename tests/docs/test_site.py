"""The source of the documentation site: every page is in the navigation, links lead somewhere, the API names are there.

`make docs` builds it with mkdocs in strict mode; where mkdocs is installed, so does the last test.
"""

from __future__ import annotations

import importlib
import json
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


@pytest.fixture(scope="module")
def built(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site. mkdocs fails for a link that leads nowhere."""
    if MKDOCS is None:
        pytest.skip("needs mkdocs (make docs installs it)")
    folder = tmp_path_factory.mktemp("built")
    text = (ROOT / "mkdocs.yml").read_text().replace("build/site-source", str(source))
    (folder / "mkdocs.yml").write_text(text.replace("[build/types]", f"[{ROOT}/build/types]"))
    command = [str(MKDOCS), "build", "--quiet", "--config-file", folder / "mkdocs.yml", "--site-dir", folder / "out"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "out"


def test_the_site_builds_in_strict_mode(built: Path) -> None:
    assert "dynamo_lite.api.export" in (built / "docs/api.html").read_text()
    assert (built / "index.html").exists()  # the one that make docs prints


SEARCH = """
import json, sys
from lunr import lunr

documents = [(each, {"boost": each.get("boost", 1)}) for each in json.load(open(sys.argv[1]))["docs"]]
fields = [{"field_name": "title", "boost": 1000}, {"field_name": "text"}]
index = lunr(ref="location", fields=fields, documents=documents)
print(json.dumps([index.search(" ".join("+" + word for word in words.split()))[0]["ref"] for words in sys.argv[2:]]))
"""
"""The engine of the theme's search, with its weights, on the index that mkdocs writes; a result has all words."""
FOUND = {
    "nms": "docs/branch_on_data.html",
    "batch 1": "docs/dynamic_batch_and_length.html",
    "kv cache": "docs/kv_cache.html",
    "refused": "docs/why_refused.html",
}


def test_the_search_has_the_page_of_the_task_first(built: Path) -> None:
    python = Path(str(MKDOCS)).with_name("python")
    asked = [python, "-c", "import lunr"]
    if not python.exists() or subprocess.run(asked, capture_output=True, check=False).returncode:
        pytest.skip("needs lunr beside mkdocs (make docs installs it)")
    index = str(built / "search/search_index.json")
    done = subprocess.run([python, "-c", SEARCH, index, *FOUND], capture_output=True, text=True, check=True)
    assert [place.partition("#")[0] for place in json.loads(done.stdout)] == [*FOUND.values()]
