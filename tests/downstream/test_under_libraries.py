"""Libraries with dynamo-lite under them (under_libraries.py), in a process of their own: what they register with pytree
holds for a process, and other tests register the same caches in another way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FILE = Path(__file__).with_name("under_libraries.py")


def test_libraries_export_with_dynamo_lite_under_them() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", "-n", "0", str(FILE)]
    done = subprocess.run(command, cwd=FILE.parents[2], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
