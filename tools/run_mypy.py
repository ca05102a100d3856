"""Runs mypy on the packages where a wheel has them: guards/ and symbolic_shapes/ in the folder dynamo_lite.

    python tools/run_mypy.py [options of mypy]

mypy finds a module by its folder, so a folder of links to the sources is made in build/types, where pyproject.toml has
mypy look.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    tree = ROOT / "build" / "types" / "dynamo_lite"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    for part in (*(ROOT / "dynamo_lite").iterdir(), ROOT / "guards", ROOT / "symbolic_shapes"):
        (tree / part.name).symlink_to(part)
    return subprocess.run([sys.executable, "-m", "mypy", *sys.argv[1:]], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
