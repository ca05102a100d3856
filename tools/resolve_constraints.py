"""Write constraints.txt: the exact version of every package that the extras pull in.

    python tools/resolve_constraints.py [PYTHON ...] > constraints.txt

pip resolves pyproject.toml's dependencies and extras once for each interpreter given (by default the running one),
without installing. Where the interpreters disagree the older version wins, and the others are resolved again under it,
so that one file holds on all of them. Packages that torch itself pins (the CUDA libraries of its default Linux build)
are left to torch.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEFAULT_TORCH = "2.13.0"
"""The torch of `make test`; the Makefile puts another in its place for TORCH=...."""
LEFT_TO_TORCH = ("nvidia-", "cuda-", "triton")
HEADER = """\
# Exact versions, the same on CPython 3.11, 3.12, 3.13 and 3.14. Written by tools/resolve_constraints.py.
# torch is first for the reader: the default of the Makefile, which puts another in its place for TORCH=2.15.0.
"""


def requirements() -> list[str]:
    """The run-time dependencies and all extras of pyproject.toml, and the build back end."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        data = tomllib.load(file)
    project, extras = data["project"], data["project"]["optional-dependencies"].values()
    own = [*project["dependencies"], *data["build-system"]["requires"]]
    return [f"torch=={DEFAULT_TORCH}", *own, *(line for extra in extras for line in extra)]


def resolve(python: str, pins: dict[str, str]) -> dict[str, str]:
    """Name → version as pip resolves them for `python` under `pins`; raises CalledProcessError where it cannot."""
    with tempfile.TemporaryDirectory() as folder:
        report, constraints = Path(folder, "report.json"), Path(folder, "constraints.txt")
        constraints.write_text("".join(f"{name}=={version}\n" for name, version in pins.items()))
        command = [python, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        command += ["--report", str(report), "--constraint", str(constraints), *requirements()]
        subprocess.run(command, check=True, stdout=sys.stderr)
        found = json.loads(report.read_text())["install"]
    versions = {item["metadata"]["name"].lower().replace("_", "-"): item["metadata"]["version"] for item in found}
    return {name: v.partition("+")[0] for name, v in versions.items() if not name.startswith(LEFT_TO_TORCH)}


def _older(a: str, b: str) -> str:
    return min(a, b, key=lambda version: [int(part) if part.isdigit() else -1 for part in version.split(".")])


def common(pythons: list[str]) -> dict[str, str]:
    """The versions that hold for all of `pythons`."""
    pins: dict[str, str] = {}
    while True:
        merged: dict[str, str] = {}
        for python in pythons:
            for name, version in resolve(python, pins).items():
                merged[name] = _older(version, merged.get(name, version))
        if merged == pins:
            return pins
        pins = merged


if __name__ == "__main__":
    pinned = common(sys.argv[1:] or [sys.executable])
    order = sorted(pinned, key=lambda name: (name != "torch", name))
    print(HEADER + "".join(f"{name}=={pinned[name]}\n" for name in order), end="")
