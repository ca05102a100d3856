"""docs/api.md names everything that is public."""

from __future__ import annotations

import re
from pathlib import Path

import dynamo_lite

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text("utf-8")
SECTIONS = set(re.findall(r"^::: (\S+)$", PAGE, re.MULTILINE))


def is_documented(name: str) -> bool:
    module = dynamo_lite._LAZY.get(name, f"dynamo_lite.{name}")
    in_prose = f"`{name}`" in PAGE or f"`dynamo_lite.{name}`" in PAGE
    return f"{module}.{name}" in SECTIONS or module in SECTIONS or in_prose


def test_the_reference_has_every_public_name() -> None:
    assert [name for name in dynamo_lite.__all__ if not is_documented(name)] == []
