"""The tables of torch's private API are complete: each import and each private attribute is in one of them."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dynamo_lite.doctor.tables import PACKAGES, ROOT, PrivateTable, entries, owners

PYTHONS = frozenset(
    {
        "_GeneratorContextManager",
        "_ParameterKind",
        "_Pointer",
        "_abc",
        "_at_fork_reinit",
        "_is_owned",
        "_abc_instancecheck",
        "_abc_subclasscheck",
        "_bisect",
        "_bootstrap",
        "_collections",
        "_collections_abc",
        "_contextvars",
        "_count_elements",
        "_ctypes",
        "_current_frames",
        "_exit",
        "_exit_callbacks",
        "_fields",
        "_filters_mutated",
        "_functools",
        "_get_dump",
        "_getframe",
        "_has_code_flag",
        "_heapify_max",
        "_heappop_max",
        "_heapq",
        "_heapreplace_max",
        "_initializing",
        "_loads",
        "_local",
        "_log",
        "_name_",
        "_objects",
        "_operator",
        "_pytest",
        "_random",
        "_reset_registry",
        "_showwarnmsg_impl",
        "_thread",
        "_typing",
        "_uuid",
        "_weakref",
        "_weakrefset",
    }
)
"""Private names that are not torch's: modules of the standard library, and names in them."""

OF_OPERATORS = frozenset(
    {
        "_RecordFunction",
        "_assert_async",
        "_batch_norm_no_update",
        "_batch_norm_with_update",
        "_assert_scalar",
        "_assert_tensor_metadata",
        "_c10d_functional",
        "_efficientzerotensor",
        "_c10d_functional_autograd",
        "_conj",
        "_dtensor",
        "_fft_c2c",
        "_fft_c2r",
        "_fft_r2c",
        "_local_scalar_dense",
        "_native_batch_norm_legit",
        "_native_batch_norm_legit_functional",
        "_pack_padded_sequence",
        "_native_batch_norm_legit_no_training",
        "_neg_view",
        "_record_function_enter",
        "_record_function_enter_new",
        "_record_function_exit",
        "_to_copy",
        "_unsafe_view",
        "_weight_norm",
    }
)
"""Names of operators (torch.ops.aten._conj), whose schemas torch keeps."""


def _files() -> list[Path]:
    paths = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return [path for path in paths if "cases" not in path.parts and "doctor" not in path.parts]


@functools.cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def _table() -> list[PrivateTable]:
    return entries()


@functools.cache
def _own_names() -> frozenset[str]:
    """Every name that a file of ours defines: functions, classes, variables, attributes of self, slots."""
    names: set[str] = set()
    for path in _files():
        for node in ast.walk(_tree(path)):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                names.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
            elif isinstance(node, ast.arg):
                names.add(node.arg)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                names |= {node.attr} if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls") else set()
            elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__slots__":
                names |= {c.value for c in ast.walk(node) if isinstance(c, ast.Constant) and isinstance(c.value, str)}
    return frozenset(names)


def _imports(path: Path) -> Iterator[str]:
    for node in _tree(path).body:
        if isinstance(node, ast.ImportFrom) and node.module and re.match(r"torch(\.|$)", node.module):
            yield from (f"{node.module}:{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (":".join(a.name.rsplit(".", 1)) for a in node.names if a.name.startswith("torch."))


@pytest.mark.parametrize("path", owners(), ids=lambda path: str(path.relative_to(ROOT)))
def test_each_import_of_an_owner_is_in_its_table(path: Path) -> None:
    own = {entry.symbol.name for entry in _table() if ROOT / entry.file == path}
    assert sorted(set(_imports(path)) - own) == []


def test_each_private_attribute_is_in_a_table() -> None:
    listed = {re.split(r"[.:#]", entry.symbol.name)[-1] for entry in _table()}
    listed |= {part for entry in _table() for part in re.split(r"[.:#]", entry.symbol.name)}
    known = listed | _own_names() | PYTHONS | OF_OPERATORS
    unknown: dict[str, str] = {}
    for path in _files():
        for node in ast.walk(_tree(path)):
            name = node.attr if isinstance(node, ast.Attribute) else ""
            if name.startswith("_") and not name.startswith("__") and name not in known and "_dynamo_lite" not in name:
                unknown.setdefault(name, f"{path.relative_to(ROOT)}:{node.lineno}")  # type: ignore[attr-defined]
    assert unknown == {}


def test_each_row_is_used() -> None:
    text = "\n".join(p.read_text(encoding="utf-8") for p in _files() if p.name != "_torch_members.py")
    words = set(re.findall(r"\w+", re.sub(r'Symbol\(\s*"[^"]*"', "", text)))
    names = {re.split(r"[.:#]", entry.symbol.name)[-1] for entry in _table()}
    unused = sorted(names - words)
    contracts = (ROOT / "dynamo_lite/doctor/contracts.py").read_text(encoding="utf-8")
    assert [name for name in unused if name not in contracts] == []


def test_purposes_are_said() -> None:
    assert all(entry.symbol.purpose and entry.disables for entry in _table())
    assert len(_table()) > 200
