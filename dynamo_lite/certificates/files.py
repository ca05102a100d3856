"""Certificates in a file of their own, or among the further files of a saved program (`.pt2`)."""

from __future__ import annotations

import json
import zipfile
from typing import Any

ENTRY = "dynamo_lite_certificates.json"


def read(path: str) -> dict[str, Any]:
    """The document in a file. ValueError or LookupError if it has none."""
    if not zipfile.is_zipfile(path):
        with open(path, encoding="utf-8") as file:
            return _object(json.load(file))
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.rpartition("/")[2] == ENTRY:
                return _object(json.loads(archive.read(name)))
    raise LookupError("it has no certificates: dynamo_lite.save did not write it, or no size varies in the program")


def _object(found: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise ValueError("not a file of certificates")
    return found


def report(document: dict[str, Any], counts: dict[str, int]) -> str:
    """The number of proofs of each sort, in words."""
    about = document["about"].get("program", "")
    shown = ", ".join(f"{number} {kind}" for kind, number in counts.items() if kind != "steps")
    return f"verified {shown} of {about or 'a program'} in {counts['steps']} steps"
