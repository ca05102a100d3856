"""source_lines.py against linecache."""

from __future__ import annotations

import linecache
import os
import random
from pathlib import Path

import pytest

from dynamo_lite import errors
from dynamo_lite.source_lines import line_at

CONTENTS = {
    "plain": b"a = 1\n\n  b = '\xc3\xa4\xf0\x9f\x98\x80'\n\tc\n",
    "no end": b"a\nb",
    "form feed": b"a\x0cb\nc\x1dd\n\xe2\x80\xa8e\n",
    "windows": b"a\r\nb\r\n\r\nc",
    "macintosh": b"a\rb\r",
    "encoded": b"# -*- coding: latin-1 -*-\nb = '\xe4'\n",
    "second line": b"#!python\n# coding: latin-1\nb = '\xe4'\n",
    "marked": b"\xef\xbb\xbfa\nb\n",
    "empty": b"",
    "empty lines": b"\n\n\n",
}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_lines_are_linecache_s(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_bytes(content)
    for number in (2, 1, 3, 4, 5, 0, -1):  # not in order: the rest of a file is taken apart when it is asked for
        assert line_at(str(path), number) == linecache.getline(str(path), number).rstrip("\n")


def test_lines_of_this_package_are_linecache_s() -> None:
    draw = random.Random(0)
    for path in Path(errors.__file__).parent.rglob("*.py"):
        count = len(linecache.getlines(str(path)))
        for number in draw.sample(range(count + 2), min(5, count)):
            assert line_at(str(path), number) == linecache.getline(str(path), number).rstrip("\n")


def test_what_is_no_file_is_asked_of_linecache() -> None:
    linecache.cache["<made up>"] = 4, None, ["one\n", "two\n"], "<made up>"
    try:
        assert (line_at("<made up>", 2), line_at("<made up>", 3), line_at("nowhere.py", 1)) == ("two", "", "")
    finally:
        del linecache.cache["<made up>"]


def test_a_file_that_was_written_again_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynamo_lite.source_lines._LOOKS", -1.0)
    path = tmp_path / "module.py"
    path.write_text("one\n")
    assert line_at(str(path), 1) == "one"
    path.write_text("two\n")
    os.utime(path, ns=(0, 1))
    assert line_at(str(path), 1) == "two"
