"""docs/migrating_from_torch_export.md says of each public name of the installed torch.export what it is here."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import torch

from dynamo_lite.symbolic_shapes.torch_versions import installed

PAGE = Path(__file__).parents[2] / "docs" / "migrating_from_torch_export.md"
MODULES = [
    "torch.export",
    "torch.export.decomp_utils",
    "torch.export.dynamic_shapes",
    "torch.export.exported_program",
    "torch.export.experimental",
    "torch.export.graph_signature",
    "torch.export.passes",
    "torch.export.pt2_archive",
    "torch.export.unflatten",
    "torch._higher_order_ops",
    *(["torch.fx.experimental.dynamic_spec"] if installed() >= (2, 14) else []),
]
# Classes and functions of modules without `__all__` that are documented, or come out of public ones.
OTHERS = ["ScriptObjectMeta", "DraftExportReport", "FailureReport", "FailureType", "CustomObjArgument"]


def public_names() -> Iterator[str]:
    for module in map(importlib.import_module, MODULES):
        yield from getattr(module, "__all__", ())
    yield from OTHERS


def test_each_public_name_is_explained() -> None:
    (section,) = re.findall(r"## Name by name\n(.*?)\n## ", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names = {*public_names()}
    assert len(names) > 60
    assert [name for name in sorted(names) if f"`{name}`" not in section] == []


def test_no_public_module_of_torch_export_is_left_out() -> None:
    """A new public module of torch.export has names to be explained."""
    folder = Path(torch.export.__file__).parent
    found = {path.stem for path in folder.iterdir() if path.suffix in ("", ".py") and not path.stem.startswith("_")}
    assert {f"torch.export.{name}" for name in found - {"custom_obj", "custom_ops"}} <= {*MODULES}
