"""The meaning of every name in each minor version that was checked: manifests/2.13.json and so on.

    python -m dynamo_lite doctor --write-manifest

writes the one of the installed torch. A torch without a manifest is compared with the newest older one.
"""

from __future__ import annotations

import json
from pathlib import Path

from dynamo_lite.doctor.names import named
from dynamo_lite.doctor.resolve import resolve
from dynamo_lite.doctor.tables import entries
from dynamo_lite.symbolic_shapes.torch_versions import applies
from dynamo_lite.symbolic_shapes.torch_versions.supported import Version, installed, parse

FOLDER = Path(__file__).parent / "manifests"


def known() -> list[Version]:
    """The versions that have a manifest, oldest first."""
    return sorted(parse(path.stem) for path in FOLDER.glob("*.json"))


def read(version: Version) -> dict[str, str]:
    """Return name → its former meaning."""
    content: dict[str, str] = json.loads((FOLDER / _file(version)).read_text(encoding="utf-8"))
    return content


def names(version: Version | None = None) -> list[str]:
    """Return the names in the tables for a version."""
    rows = {entry.symbol.name for entry in entries() if applies(entry.symbol, version)}
    return sorted(rows | set(named()))


def examine() -> dict[str, str]:
    """Return name → its meaning in the installed torch."""
    return {name: resolve(name) for name in names()}


def write() -> Path:
    """The manifest of the installed torch. Returns its path."""
    path = FOLDER / _file(installed())
    path.write_text(json.dumps(examine(), indent=0, sort_keys=True) + "\n", encoding="utf-8")
    return path


def baseline(version: Version) -> Version | None:
    """The version that `version` is compared with: itself, or the newest older one that has a manifest."""
    return max((v for v in known() if v <= version), default=None)


def _file(version: Version) -> str:
    return f"{version[0]}.{version[1]}.json"
