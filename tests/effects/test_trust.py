"""What is trusted to run natively (tracing/policy/trust_table.py): every module of torch and numpy is in it, for a
reason.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.utils.mkldnn  # script modules, whose methods are not in the namespaces of their classes

import dynamo_lite
from dynamo_lite.errors import UnsupportedEffect
from dynamo_lite.tracing.policy.native_modules import has_state, is_trusted, report, trust_of
from dynamo_lite.tracing.policy.trust_table import TABLE, UNKNOWN, TrustLevel

PACKAGES = {"torch": Path(torch.__file__).parent, "numpy": Path(np.__file__).parent}


def modules(package: str) -> Iterator[tuple[str, Path]]:
    """(name, file) of every module of an installed package, but for its tests."""
    root = PACKAGES[package]
    for file in sorted(root.rglob("*.py")):
        parts = [package, *file.relative_to(root).with_suffix("").parts]
        if "tests" not in parts:
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), file


@cache
def stateful_classes(file: Path) -> frozenset[str]:
    """The classes of a file one of whose methods assigns an attribute of its first argument."""
    found = set()
    try:
        tree = ast.parse(file.read_text(encoding="utf8"))
    except SyntaxError:  # a template
        return frozenset()
    for cls in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        for method in (node for node in cls.body if isinstance(node, ast.FunctionDef) and node.args.args):
            own = method.args.args[0].arg
            for node in ast.walk(method):
                is_write = isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)
                if is_write and isinstance(node.value, ast.Name) and node.value.id == own:
                    found.add(cls.name)
    return frozenset(found)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_module_is_classified(package: str) -> None:
    unknown = [name for name, _ in modules(package) if trust_of(name) is UNKNOWN]
    assert unknown == []


def test_every_row_names_a_module_and_a_reason() -> None:
    """A row for a module that is not there is out of date."""
    names = {name for package in PACKAGES for name, _ in modules(package)}
    missing = []
    for row, trust in TABLE.items():
        name = row.rstrip(":")
        if name.partition(".")[0] in PACKAGES and name not in names and name not in sys.modules:
            missing.append(row)
        assert len(trust.reason) > 10, row
    assert missing == []


@pytest.mark.parametrize("package", PACKAGES)
def test_classes_with_state_are_interpreted(package: str) -> None:
    """In the modules that are trusted as stateless, no class with state runs natively."""
    wrong = []
    for name, file in modules(package):
        if trust_of(name).level is not TrustLevel.STATELESS or name not in sys.modules:
            continue
        for cls_name in stateful_classes(file):
            cls = vars(sys.modules[name]).get(cls_name)
            if isinstance(cls, type) and not has_state(cls):
                wrong.append(f"{name}.{cls_name}")
    assert wrong == []


def test_known_trampolines() -> None:
    """Functions that keep state or call the program are interpreted, plain ones are not."""
    interpreted = [
        *(np.vectorize.__call__, np.ndenumerate.__next__, np.poly1d.__setitem__, np.ma.MaskedArray.__setitem__),
        *(torch.optim.SGD.step, torch.optim.lr_scheduler.LRScheduler.step, torch.utils.data.Subset.__getitem__),
        *(torch.fx.Graph.create_node, torch.quasirandom.SobolEngine.draw),
    ]
    native = [torch.nn.functional.linear, torch.nn.functional.softmax, torch.einsum]
    assert [fn.__qualname__ for fn in interpreted if is_trusted(fn)] == []
    assert [fn.__qualname__ for fn in native if type(fn) is type(report) and not is_trusted(fn)] == []


def test_report() -> None:
    """`python -m dynamo_lite.tracing.policy.native_modules` prints every row."""
    text = report()
    assert all(name in text for name in TABLE)
    assert all(level.value in text for level in TrustLevel)


CALLS: list[int] = []


def counted(x: torch.Tensor) -> torch.Tensor:
    CALLS.append(1)
    return x + len(CALLS)


def branched(x: torch.Tensor) -> torch.Tensor:
    return x.sin() if x.sum() > 0 else x.cos()


@pytest.mark.parametrize(
    "decorator",
    [
        getattr(torch.compiler, "nonstrict_trace", torch._dynamo.nonstrict_trace),  # torch.compiler's from 2.14 on
        torch.jit.script_if_tracing,
        torch._dynamo.dont_skip_tracing,
        torch._dynamo.error_on_graph_break(True),
    ],
    ids=["nonstrict_trace", "script_if_tracing", "dont_skip_tracing", "error_on_graph_break"],
)
def test_a_function_behind_a_decorator_of_torchs_compiler_is_the_programs(decorator: Any) -> None:
    """Its wrapper is torch's own code, which is trusted; what it calls is not."""
    counts, branches = decorator(counted), decorator(branched)
    CALLS.clear()
    with pytest.raises(UnsupportedEffect, match="CALLS"):
        dynamo_lite.export(lambda x: counts(x), (torch.ones(3),))
    assert CALLS == []
    program = dynamo_lite.export(lambda x: branches(x), (torch.ones(3),)).module()
    for x in (torch.ones(3), -torch.ones(3)):
        assert torch.equal(program(x), branched(x))
