"""What every test session shares: which files a Python without torch skips, and one thread per worker."""

from __future__ import annotations

import ast
import importlib.util
import os
from pathlib import Path

HAS_TORCH = importlib.util.find_spec("torch") is not None
TORCH_PARTS = ("capture", "export", "exporter", "program", "tracing")
NEEDS_TORCH = ("torch", "transformers", *(f"dynamo_lite.{part}" for part in TORCH_PARTS))


def _imports(path: Path) -> set[str]:
    """The modules that a file imports at its top level, each with the names taken from it (`a.b`, `a.b.name`)."""
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def _needs_torch(name: str) -> bool:
    return name.startswith("symbolic_shapes.torch_") or any(name == n or name.startswith(n + ".") for n in NEEDS_TORCH)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Without torch (the light venvs of the Makefile) leave out the test files whose imports need it."""
    if HAS_TORCH or collection_path.suffix != ".py" or not collection_path.name.startswith("test_"):
        return None
    return True if any(map(_needs_torch, _imports(collection_path))) else None


def pytest_configure() -> None:
    """pytest-xdist gives each core a worker: torch's own threads would only fight over the cores."""
    if HAS_TORCH and "PYTEST_XDIST_WORKER" in os.environ:
        import torch

        torch.set_num_threads(1)
