"""Runs mypy on the packages where a wheel has them: guards/ and symbolic_shapes/ in the folder dynamo_lite.

    python tools/run_mypy.py [options of mypy]

mypy finds a module by its folder, so a folder of links to the sources is made in build/types, where pyproject.toml has
mypy look.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from source_files import ROOT, packages_as_installed


def main() -> int:
    packages_as_installed()
    return subprocess.run([sys.executable, "-m", "mypy", *sys.argv[1:]], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
