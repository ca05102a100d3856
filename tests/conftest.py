"""What every test session shares: files to skip without torch, one thread per worker, hypothesis' profile."""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

HAS_TORCH = importlib.util.find_spec("torch") is not None
TORCH_PARTS = ("capture", "export", "exportdb", "exporter", "program", "tracing")
NEEDS_TORCH = ("torch", "transformers", *(f"dynamo_lite.{part}" for part in TORCH_PARTS))
SIZES_IN_TORCH = "dynamo_lite.symbolic_shapes.torch_"

# On CI the same examples on each run, so that a change alone decides; elsewhere new ones each time, which is how a
# property test earns its keep. No deadline: two workers share two cores, and a slow example is not a wrong one.
settings.register_profile("dynamo-lite", deadline=None, print_blob=True)
settings.register_profile("dynamo-lite-ci", settings.get_profile("dynamo-lite"), derandomize=True, database=None)
settings.load_profile("dynamo-lite-ci" if os.environ.get("CI", "").lower() in ("1", "true") else "dynamo-lite")


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
    return name.startswith(SIZES_IN_TORCH) or any(name == n or name.startswith(n + ".") for n in NEEDS_TORCH)


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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """The recursion limit is each test's own: TorchInductor doubles the process's and leaves it.

    An endless recursion through sorted() takes 2 KB of C stack a level, more where torch left its frame hook installed:
    with the double limit, the C stack ends first.
    """
    before = sys.getrecursionlimit()
    try:
        return (yield)
    finally:
        sys.setrecursionlimit(before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """A mode of torch's that a test leaves entered fails this test, and not all later ones of the process."""
    before = _modes_entered()
    try:
        result = yield
    finally:
        left = _take_modes(before)
    assert not left, f"the test leaves modes of torch's entered: {left}"
    return result


def _modes_entered() -> tuple[int, int]:
    torch = sys.modules.get("torch")
    return (0, 0) if torch is None else (torch._C._len_torch_dispatch_stack(), torch._C._len_torch_function_stack())


def _take_modes(before: tuple[int, int]) -> list[object]:
    left: list[object] = []
    if (torch := sys.modules.get("torch")) is not None:
        while torch._C._len_torch_dispatch_stack() > before[0]:
            left.append(torch._C._pop_torch_dispatch_stack(None))
        while torch._C._len_torch_function_stack() > before[1]:
            left.append(torch._C._pop_torch_function_stack())
    return left
