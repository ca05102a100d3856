"""One walk finds what nn.Module's own methods find, in their order."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

from dynamo_lite.capture.module_tree import ModuleTree


class Shared(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Linear(2, 2)
        self.again = nn.Sequential(self.one, nn.BatchNorm1d(2), nn.Identity())
        self.nothing = None
        self.register_module("no_module", None)
        self.register_parameter("no_parameter", None)
        self.tied = self.one.weight
        self.register_buffer("kept", torch.ones(1))
        self.register_buffer("passing", torch.ones(1), persistent=False)
        self.again.register_buffer("also", self.kept)


class Hiding(nn.Module):
    """Says for itself which parameters it has."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(2, 2)

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, nn.Parameter]]:
        return (row for row in super().named_parameters(*args, **kwargs) if "bias" not in row[0])


def _instance_says() -> nn.Module:
    module = nn.Linear(2, 2)
    module.named_buffers = lambda *_, **__: iter([("other", torch.ones(1))])  # type: ignore[method-assign]
    return module


PROGRAMS = {
    "shared": Shared,
    "hiding": Hiding,
    "hiding below": lambda: nn.Sequential(Hiding(), nn.Linear(2, 2)),
    "instance": _instance_says,
    "scripted": lambda: torch.jit.script(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_tree_is_what_the_module_says(name: str) -> None:
    root: Any = PROGRAMS[name]()
    tree = ModuleTree(root)
    assert _ids(tree.modules) == _ids(root.named_modules(remove_duplicate=False))
    assert _ids(tree.first_modules) == _ids(root.named_modules())
    if name != "scripted":  # whose tensors get a new Python object at each read
        assert _ids(tree.parameters) == _ids(root.named_parameters(remove_duplicate=False))
        assert tree.transient == {"passing"} & {name for name, _ in tree.buffers}
    assert [n for n, _ in tree.buffers] == [n for n, _ in root.named_buffers(remove_duplicate=False)]


def _ids(rows: Any) -> list[tuple[str, int]]:
    return [(name, id(value)) for name, value in rows]


def test_a_function_has_nothing() -> None:
    tree = ModuleTree(None)
    assert not tree.modules and not tree.parameters and not tree.buffers and not [*tree.first_modules]


def test_modules_that_contain_one_another_end_the_walk() -> None:
    root = Shared()
    root.again.root = root
    with pytest.raises(RecursionError):
        root.state_dict()
    with pytest.raises(RecursionError):
        ModuleTree(root)


def test_modules_are_walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    import dynamo_lite

    deep = nn.Sequential(*(nn.Sequential(nn.Linear(2, 2)) for _ in range(10)))
    dynamo_lite.export(deep, (torch.ones(1, 2),))
    calls = 0

    def count(frame: Any, event: str, _: Any) -> None:
        nonlocal calls
        calls += event == "call" and frame.f_code.co_name in ("named_modules", "_named_members")

    sys.setprofile(count)
    try:
        dynamo_lite.export(deep, (torch.ones(1, 2),))
    finally:
        sys.setprofile(None)
    assert calls < 200  # `parameters()` and `buffers()`, which are asked elsewhere
