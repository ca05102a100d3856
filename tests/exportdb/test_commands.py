"""The command line and the site."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dynamo_lite.exportdb import catalogue, site
from dynamo_lite.exportdb.case import Case
from dynamo_lite.exportdb.catalogue import search
from dynamo_lite.exportdb.commands import app
from dynamo_lite.exportdb.keywords import KEYWORDS


def _run(*words: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, [*words])
    assert result.exit_code == code, result.output
    return result.output


def test_list_is_one_line_a_case_when_piped() -> None:
    rows = [line.split("\t") for line in _run("list").splitlines()]
    assert [row[0] for row in rows] == list(catalogue.names())
    assert all(row[1] == (catalogue.load(row[0]).error or "works") for row in rows)


def test_list_by_tag() -> None:
    names = [line.split("\t")[0] for line in _run("list", "--tag", "buffers").splitlines()]
    assert names == [case.name for case in catalogue.all_cases() if "buffers" in case.tags]
    assert names


def test_show_takes_the_id_of_an_error_and_prints_error_and_graph() -> None:
    output = _run("show", "python-state")
    case = catalogue.load("python_state")
    assert case.title in output
    assert case.code in output
    assert "[python-state]" in output
    assert "    ^^^^^^^^^^" in output
    assert "torch.ops.aten.add_" in output
    assert "class_attribute_counter" in output  # another case of the same error
    assert "\x1b" not in output


def test_show_of_a_case_that_is_not_there_names_near_ones() -> None:
    assert "buffer_assigned" in _run("show", "bufer_assigned", code=2)


def test_search_finds_all_words_and_puts_names_first() -> None:
    found = [line.split("\t")[0] for line in _run("search", "torch.where", "branch").splitlines()]
    assert found[0] == "data_dependent_branch"
    for name in found:
        case = catalogue.load(name)
        everything = f"{name} {case.error} {case.tags} {case.source}".lower()
        assert "torch.where" in everything and "branch" in everything
    _run("search", "no-such-word-anywhere", code=1)


def test_check_says_what_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "2 of 2 cases hold" in _run("check", "python_state", "class_method")
    monkeypatch.setattr(Case, "error", "global-state")
    assert "refused with python-state, not global-state" in _run("check", "python_state", code=1)


def test_the_site_shows_source_error_rewrite_and_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = [catalogue.load(name) for name in ("python_state", "data_dependent_branch", "class_method")]
    monkeypatch.setattr(catalogue, "all_cases", lambda: iter(few))
    assert site.write_site(tmp_path) == 4
    index = (tmp_path / "index.html").read_text()
    for case in few:
        assert f'href="cases/{case.name}.html"' in index
        page = (tmp_path / "cases" / f"{case.name}.html").read_text()
        text = html.unescape(re.sub(r"<[^>]+>", "", page))
        assert "class Module" in text
        assert ("class Rewrite" in text) == bool(case.error)
        assert "call_function[target=torch.ops.aten." in text
        assert str(tmp_path) not in page and str(case.path.parent) not in page
        for link in re.findall(r'href="([^"]+)"', page):
            assert (tmp_path / "cases" / link.partition("?")[0]).exists() or link.removesuffix(
                ".html"
            ) in catalogue.names()
        if case.error:
            assert f"[{case.error}]" in text and "^^^" in text


def test_list_and_search_import_no_case() -> None:
    """A case may import what is not installed (numpy): it is found all the same."""
    code = (
        "import sys; sys.modules['numpy'] = None\n"
        "from dynamo_lite.exportdb.commands import app\n"
        "app(['search', 'numpy', 'maximum'], prog_name='exportdb')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.startswith("numpy_function\tnumpy-function"), done.stderr[-2000:]


def test_json() -> None:
    rows = json.loads(_run("search", "branch", "torch.where", "--json"))
    assert rows[0].keys() == {"name", "error", "tags", "title"} and json.loads(_run("list", "--json"))
    assert json.loads(_run("search", "no-such-word-anywhere", "--json", code=1)) == []
    assert "class Module" in json.loads(_run("show", "data-dependent-branch", "--json"))["code"]
    assert json.loads(_run("check", "class_method", "--json")) == {"cases": 1, "wrong": {}}


@pytest.mark.parametrize("words", KEYWORDS)
def test_words_that_people_search_find_their_cases(words: str) -> None:
    assert tuple(case.name for case in search(words.upper()))[: len(KEYWORDS[words])] == KEYWORDS[words]


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("kv-cache", "kv_cache"),
        ("packed_sequence", "packed_sequence"),
        ("deque", "deque_subclass_as_input"),
        ("lru_cache", "lru_cache"),
        ("collective", "collective"),
        ("named tuple", "named_tuple"),
        ("tied weights", "tied_weights"),
        ("inference mode", "inference_mode"),
        ("assert", "assert_on_data"),
        ("recursion", "recursion"),
    ],
)
def test_words_of_a_name_find_the_case_without_a_row(words: str, first: str) -> None:
    assert search(words)[0].name == first
