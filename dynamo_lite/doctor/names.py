"""Names of torch's that rules are keyed by: "module:qualified.name" in tables of policies and rules.

They are looked up in modules that are loaded, so one that torch no longer has does no harm and does nothing: what its
rule was for goes unanswered.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from dynamo_lite.doctor.tables import PACKAGES, ROOT

_NAME = re.compile(r"torch(\.\w+)*:[A-Za-z_]\w*(\.\w+)*")


@cache
def named(root: Path = ROOT) -> Mapping[str, str]:
    """Name → the file whose table has it (relative to the root)."""
    found: dict[str, str] = {}
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            if "cases" in path.parts or path.name.startswith("_torch") or "doctor" in path.parts:
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and _NAME.fullmatch(node.value):
                    found.setdefault(node.value, path.relative_to(root).as_posix())
    return found
